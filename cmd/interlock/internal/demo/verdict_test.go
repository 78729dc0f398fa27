package demo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
)

// forgetful is an engine that has lost every lock by the time of its release.
type forgetful struct{ engine.Engine }

func (f forgetful) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	p, err := f.Engine.Release(ctx, r)
	p.Outcome = engine.AlreadyFree
	return p, err
}

// monotonous is an engine whose fences are all equal.
type monotonous struct{ engine.Engine }

func (m monotonous) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	g, err := m.Engine.Acquire(ctx, r)
	g.Fence = 7
	return g, err
}

func TestTheVerdictDetectsAFaultyEngine(t *testing.T) {
	for _, c := range []struct {
		name string
		over func(engine.Engine) engine.Engine
		want string
	}{
		{"lost locks", func(e engine.Engine) engine.Engine { return forgetful{e} }, "✗ lost      locks lost before their release: 2"},
		{"equal fences", func(e engine.Engine) engine.Engine { return monotonous{e} }, "✗ fences    1 times a fence did not rise"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				show := demo.Demo{Clicks: 10, Hold: time.Millisecond, Key: "demo:1", Out: &out, Notes: io.Discard, Width: 60}
				err := show.Run(t.Context(), demo.Target{Engine: c.over(memory.New())})
				if !errors.Is(err, demo.ErrVerdict) {
					t.Errorf("the error is %v, want ErrVerdict", err)
				}
				for _, want := range []string{c.want, "verdict: NOT one holder at a time"} {
					if !strings.Contains(out.String(), want) {
						t.Errorf("the output lacks %q:\n%s", want, &out)
					}
				}
			})
		})
	}
}

// noExclusion is a lock without exclusion: each Lock uses a new key.
type noExclusion struct {
	*interlock.Mutex
	client *interlock.Client
	n      atomic.Int64
}

func (l *noExclusion) Lock(ctx context.Context) (context.Context, *interlock.Hold, error) {
	return l.client.Mutex("own:" + strconv.FormatInt(l.n.Add(1), 10)).Lock(ctx)
}

func TestTheVerdictDetectsALockWithoutExclusion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storm := &demo.Storm{Clicks: 10, Hold: time.Millisecond, Key: "demo:1", Lock: &noExclusion{client: interlock.New(nil)}}
		if err := storm.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		v := demo.Judge(storm, interlock.Stats{})
		if v.OK() || v.Counter != 1 || !strings.Contains(v.Report.String(), "two holds overlap") {
			t.Errorf("with ten holders at once: OK is %v and the counter %d, want false and 1; the report is\n%v", v.OK(), v.Counter, v.Report)
		}
	})
}

func TestALostLockCancelsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := interlock.New(nil)
		storm := &demo.Storm{Clicks: 2, Hold: time.Second, Key: "demo:1", Lock: client.Mutex("demo:1", interlock.Lease(100*time.Millisecond))}
		if err := storm.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		v := demo.Judge(storm, client.Stats())
		if v.OK() || v.Report.Lost != 2 || v.Counter != 0 {
			t.Errorf("with two lost locks: OK is %v and the counter %d, want false and 0; the report is\n%v", v.OK(), v.Counter, v.Report)
		}
	})
}
