package enginetest_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
)

// TestMain runs more laws at a time than there are cores: in real time, laws mostly
// sleep.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("12")
	}
	os.Exit(m.Run())
}

func TestLawsHoldThroughFaulty(t *testing.T) {
	enginetest.Run(t, enginetest.Harness{
		Name:    "memory through Faulty",
		Open:    func(testing.TB) engine.Engine { return enginetest.NewFaulty(memory.New()) },
		Virtual: true,
	})
}

func TestLawsHoldInRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for leases in real time: make verify runs it")
	}
	enginetest.Run(t, enginetest.Harness{
		Name: "memory in real time",
		Open: func(testing.TB) engine.Engine { return memory.New() },
	})
}

func TestEverySentenceIsALawOnce(t *testing.T) {
	seen := make(map[string]bool)
	for _, l := range enginetest.Laws() {
		if seen[l.Sentence] {
			t.Errorf("two laws have the sentence %q", l.Sentence)
		}
		seen[l.Sentence] = true
		if l.Topic == "" || strings.ContainsAny(l.Sentence, "_/#.") {
			t.Errorf("%q has no topic, or cannot name a test", l.Sentence)
		}
	}
}

// careless lets any caller release a lock, which breaks L3.
type careless struct{ engine.Engine }

func (e careless) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	_, err := e.Engine.Acquire(ctx, r)
	var busy *engine.BusyError
	if errors.As(err, &busy) {
		return engine.ReleaseResult{Outcome: engine.Released}, nil
	}
	return e.Engine.Release(ctx, r)
}

// hanging never answers a renewal.
type hanging struct{ engine.Engine }

func (hanging) Renew(context.Context, []engine.Request) []error { select {} }

// silent reports that it has no capabilities.
type silent struct{ engine.Engine }

func (silent) Capabilities() engine.Capabilities { return engine.Capabilities{} }

func TestBroken(t *testing.T) {
	broken := func(t *testing.T, e func() engine.Engine) map[string][]string {
		return enginetest.Broken(t, enginetest.Harness{
			Name: "broken", Open: func(testing.TB) engine.Engine { return e() }, Virtual: true,
		})
	}
	t.Run("a sound engine breaks no law", func(t *testing.T) {
		if b := broken(t, func() engine.Engine { return memory.New() }); len(b) > 0 {
			t.Errorf("Broken returned %q, want no law", b)
		}
	})
	t.Run("a missing capability breaks no law", func(t *testing.T) {
		if b := broken(t, func() engine.Engine { return silent{memory.New()} }); len(b) > 0 {
			t.Errorf("Broken returned %q, want no law", b)
		}
	})
	t.Run("a careless release breaks a law", func(t *testing.T) {
		b := broken(t, func() engine.Engine { return careless{memory.New()} })
		const law = "a release by another holder is refused and changes nothing"
		if len(b[law]) == 0 {
			t.Fatalf("Broken returned %q, want %q among them", b, law)
		}
		if failure := b[law][0]; !strings.Contains(failure, law) || !strings.Contains(failure, "want not-yours") {
			t.Errorf("the failure is %q, want the law and the wanted outcome", failure)
		}
	})
	t.Run("a call that hangs breaks its law, and the other laws are still checked", func(t *testing.T) {
		b := broken(t, func() engine.Engine { return hanging{memory.New()} })
		if len(b["a renewed lease does not expire"]) == 0 || len(b["a lease expires"]) > 0 {
			t.Errorf("Broken returned %q, want the law of renewals and not that of expiry", b)
		}
	})
	t.Run("a panic breaks a law", func(t *testing.T) {
		b := broken(t, func() engine.Engine { return careless{} })
		if len(b) < len(enginetest.Laws())-1 {
			t.Errorf("Broken returned only %q, want nearly all laws", b)
		}
	})
}
