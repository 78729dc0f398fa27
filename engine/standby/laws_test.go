package standby_test

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/standby"
)

// TestLaws checks the laws of a switch (requirement T13).
func TestLaws(t *testing.T) {
	t.Run("switches", switchLaws)
	t.Run("completed", completionLaws)
	t.Run("forced", forceLaws)
	t.Run("records", recordLaws)
	t.Run("clients", clientLaws)
}

// TestEngineLaws checks the engine laws on the primary, after a switch, and on Local.
func TestEngineLaws(t *testing.T) {
	for _, side := range []standby.Side{standby.Primary, standby.Standby, standby.Local} {
		t.Run(side.String(), func(t *testing.T) {
			enginetest.Run(t, enginetest.Harness{
				Name: "standby of two memory engines, on the " + side.String(), Virtual: true,
				Open: func(t testing.TB) engine.Engine { return onSide(t, side) },
			})
		})
	}
}

// clocked is an engine whose clocks can be moved.
type clocked struct {
	*standby.Engine
	clocks []*memory.Engine
}

func (c clocked) Step(d time.Duration) {
	for _, m := range c.clocks {
		m.Step(d)
	}
}

// onSide returns the engine of a process that starts long after a switch, when no freeze
// is left.
func onSide(t testing.TB, side standby.Side) engine.Engine {
	t.Helper()
	p, s := memory.New(), memory.New()
	operator := newEngine(t, p, s, standby.Operator())
	if _, err := operator.Switch(context.Background(), side); err != nil {
		t.Fatal(err)
	}
	_ = operator.Close()
	p.Step(2 * time.Hour)
	s.Step(2 * time.Hour)
	e := newEngine(t, p, s, standby.LongestLease(time.Hour))
	if side == standby.Local {
		return e // the clock of its local engine cannot be stepped
	}
	return clocked{e, []*memory.Engine{p, s}}
}

func newEngine(t testing.TB, p, s engine.Engine, opts ...standby.Option) *standby.Engine {
	t.Helper()
	e, err := standby.New(context.Background(), p, s, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}
