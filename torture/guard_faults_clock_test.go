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
	{26, "server's clock set ahead", "the outcome is unknown at once, and the work never runs again; the first caller learns that its claim is lost", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(3*time.Second), redistest.SteppedClock)
		ctx, claim := f.begin(f.guard)
		f.server.Step(31 * time.Second)
		f.wantUnknown(0)
		f.wantLost(ctx, 3*time.Second, interlock.ErrNotHolder)
		f.wantErr(claim.Complete("too late"), interlock.ErrLost)
		f.wantState(engine.Unknown)
		f.warmUp(f.guard) // the server must not refuse this call as late
	}},
	{26, "server's clock set ahead (rerun)", "the work runs again with a higher fence; the first result is refused", func(t *testing.T) {
		policy := strictPolicy(3 * time.Second)
		policy.OnUnknown = guard.Rerun
		f := newGuardFixture(t, policy, redistest.SteppedClock)
		_, claim := f.begin(f.guard)
		f.server.Step(31 * time.Second)
		_, otherClaim := f.begin(f.other)
		if otherClaim.Fence() <= claim.Fence() {
			t.Fatalf("the second claim has fence %d, want one above %d", otherClaim.Fence(), claim.Fence())
		}
		f.wantErr(claim.Complete("too late"), interlock.ErrLost) // before its watchdog noticed
		f.wantState(engine.Running)
		f.complete(otherClaim)
		f.wantReplay(order, "result 2")
	}},
	{27, "server's clock set back", "the claim stays held; its result is stored and replayed", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(3*time.Second), redistest.SteppedClock)
		ctx, claim := f.begin(f.guard)
		f.server.Step(-time.Hour)
		f.wantHeld(ctx, 4*time.Second)
		f.complete(claim)
		f.wantReplay(order, "result 1")
	}},
	{27, "server's clock set back, claim holder cut off", "duplicates are refused longer, by the size of the step; then the outcome is unknown", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(2*time.Second), redistest.SteppedClock)
		ctx, _ := f.begin(f.guard)
		f.cutNetwork()
		f.server.Step(-time.Hour)
		f.wantLost(ctx, 3*time.Second, interlock.ErrExpired)
		for range 3 {
			_, err := f.other.Do(t.Context(), order, f.work)
			var duplicate *guard.DuplicateError
			if !errors.As(err, &duplicate) || !duplicate.Running || duplicate.RetryAfter < 59*time.Minute {
				t.Fatalf("Do: got %v, want a running duplicate with an hour left", err)
			}
		}
		f.server.Step(time.Hour)
		f.wantUnknown(5 * time.Second)
	}},
	{28, "client's clock set, or its machine suspended", "claims behave as locks do: both have the same watchdog (in virtual time)", func(t *testing.T) {
		proveLaw(t, "loss/a_wall_clock_set_back_does_not_prolong_a_lease")
		proveLaw(t, "loss/a_machine_that_slept_finds_its_locks_lost_although_its_monotonic_clock_stopped")
	}},
}
