package torture

import (
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// Rows with a wrong clock on a guard's server.
var guardClockRows = []row{
	{26, "server's clock set ahead", "unknown at once, never run again; the first caller learns of the loss", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(3*time.Second), redistest.SteppedClock)
		ctx, claim := p.begin(p.guard)
		p.server.Step(31 * time.Second)
		p.wantUnknown(0)
		p.wantLost(ctx, 3*time.Second, interlock.ErrNotHolder)
		p.wantErr(claim.Complete("too late"), interlock.ErrLost)
		p.wantState(engine.Unknown)
		p.warmUp(p.guard) // the server does not keep refusing calls as late
	}},
	{26, "server's clock set ahead (rerun)", "run again with a higher fence; the first is refused", func(t *testing.T) {
		policy := strictPolicy(3 * time.Second)
		policy.OnUnknown = guard.Rerun
		p := newGuardFixture(t, policy, redistest.SteppedClock)
		_, claim := p.begin(p.guard)
		p.server.Step(31 * time.Second)
		_, theirs := p.begin(p.other)
		if theirs.Fence() <= claim.Fence() {
			t.Fatalf("the second claim has fence %d, the first had %d", theirs.Fence(), claim.Fence())
		}
		p.wantErr(claim.Complete("too late"), interlock.ErrLost) // before its watchdog noticed
		p.wantState(engine.Running)
		p.complete(theirs)
		p.wantReplay(order, "result 2")
	}},
	{27, "server's clock set back", "held; stored; replayed", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(3*time.Second), redistest.SteppedClock)
		ctx, claim := p.begin(p.guard)
		p.server.Step(-time.Hour)
		p.wantHeld(ctx, 4*time.Second)
		p.complete(claim)
		p.wantReplay(order, "result 1")
	}},
	{27, "server's clock set back, claim holder cut off", "duplicates are refused longer by the step, then unknown", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(2*time.Second), redistest.SteppedClock)
		ctx, _ := p.begin(p.guard)
		p.cutNetwork()
		p.server.Step(-time.Hour)
		p.wantLost(ctx, 3*time.Second, interlock.ErrExpired)
		for range 3 {
			_, err := p.other.Do(t.Context(), order, p.work)
			var duplicate *guard.DuplicateError
			if !errors.As(err, &duplicate) || !duplicate.Running || duplicate.RetryAfter < 59*time.Minute {
				t.Fatalf("got %v, want a running duplicate with an hour left", err)
			}
		}
		p.server.Step(time.Hour)
		p.wantUnknown(5 * time.Second)
	}},
	{28, "client's clock set, or its machine suspended", "as for locks, which have the same watchdog (in virtual time)", func(t *testing.T) {
		proveLaw(t, "loss/a_wall_clock_set_back_does_not_prolong_a_lease")
		proveLaw(t, "loss/a_machine_that_slept_finds_its_locks_lost_although_its_monotonic_clock_stopped")
	}},
}
