package leader_test

import (
	"context"
	"errors"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/quorum"
	"github.com/interlock-go/interlock/engine/standby"
)

// Engines made of several have no notes, so there are leaders without terms and announced
// values. Each change is a gap.
func TestWithoutNotes(t *testing.T) {
	for name, open := range map[string]func() (engine.Engine, error){
		"quorum": func() (engine.Engine, error) {
			return quorum.New([]engine.Engine{memory.New(), memory.New(), memory.New()}, quorum.Durable())
		},
		"standby": func() (engine.Engine, error) {
			e, err := standby.New(t.Context(), memory.New(), memory.New())
			if err == nil {
				t.Cleanup(func() { _ = e.Close() })
			}
			return e, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := open()
			require(t, err, nil)
			one, two := interlock.New(e), interlock.New(e)
			if _, _, err := one.Leader("job:1", interlock.Announce("a")).Campaign(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("Campaign with Announce = %v, want ErrUnsupported", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			observed := observe(ctx, t, two.Leader("job:1"))
			if s := <-observed; s.Fence != 0 {
				t.Errorf("before the first election: %+v, want no leader", s)
			}
			var last uint64
			for i, c := range []*interlock.Client{one, two} {
				_, hold, err := c.Leader("job:1").Campaign(t.Context())
				require(t, err, nil)
				var s interlock.Leadership
				for gap := false; s.Fence != hold.Fence(); { // a quorum shows a holder before its nodes agree on the fence
					s = <-observed
					gap = gap || s.Gap
					s.Gap = gap
				}
				if s.Fence <= last || s.Term != 0 || s.Self != (c == two) || !s.Gap {
					t.Errorf("leader %d: observed %+v, want the fence %d, above %d, and a gap", i, s, hold.Fence(), last)
				}
				last = s.Fence
				if err := hold.Unlock(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
