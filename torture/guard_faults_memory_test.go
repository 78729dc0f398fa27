package torture

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// Rows in which a record does not fit on the server, or is deleted.
var guardMemoryRows = []row{
	{24, "server out of memory at the claim (closed)", "the caller gets ErrDown because of ErrFull; the work does not run", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second))
		f.warmUp(f.guard)
		f.server.Must("CONFIG", "SET", "maxmemory", "1")
		f.wantRefused(guard.ErrDown)
		f.wantRefused(engine.ErrFull)
		f.wantState(engine.Absent)
		f.server.Must("CONFIG", "SET", "maxmemory", "0")
		f.do(f.guard, order)
	}},
	{24, "server out of memory at the claim (open)", "the work runs unguarded and is counted; stored results are replayed", func(t *testing.T) {
		policy := strictPolicy(30 * time.Second)
		policy.OnDown = guard.Open
		f := newGuardFixture(t, policy)
		stored := f.do(f.guard, guard.Of("ada", "stored"))
		f.server.Must("CONFIG", "SET", "maxmemory", "1")
		f.wantReplay(guard.Of("ada", "stored"), stored)
		f.do(f.guard, order)
		f.wantRuns(2)
		if n := f.guard.Stats().Verdicts[guard.Unguarded]; n != 1 {
			t.Errorf("%d runs counted as unguarded, want 1", n)
		}
	}},
	{24, "server out of memory while the work runs", "the claim is renewed; the result is stored", func(t *testing.T) {
		for _, size := range []int{10, 100_000} { // stored by one command on the server, or by two
			f := newGuardFixture(t, strictPolicy(3*time.Second))
			ctx, claim := f.begin(f.guard)
			f.server.Must("CONFIG", "SET", "maxmemory", "1")
			f.wantHeld(ctx, 5*time.Second)
			result := strings.Repeat("x", size)
			if err := claim.Complete(result); err != nil {
				t.Fatal(err)
			}
			if n := f.guard.Stats().Endings[guard.Completed]; n != 1 {
				t.Errorf("endings: %v, want one completed", f.guard.Stats().Endings)
			}
			f.wantReplay(order, result)
		}
	}},
	{25, "record deleted by another client while the work runs", "the claim is lost with ErrNotHolder; its result is refused", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(3*time.Second))
		ctx, claim := f.begin(f.guard)
		f.server.Must(append([]string{"DEL"}, f.records()...)...)
		f.wantLost(ctx, 3*time.Second, interlock.ErrNotHolder)
		f.wantErr(claim.Complete("too late"), interlock.ErrLost)
		f.wantState(engine.Absent) // the record is not recreated
	}},
	{25, "lock entry alone deleted or evicted", "the claim is lost with ErrNotHolder; other callers get an unknown outcome", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(3*time.Second))
		ctx, claim := f.begin(f.guard)
		f.server.Must("DEL", "interlock:guard:lock:{"+f.lookup(f.other, order).Key+"}")
		f.wantUnknown(0)
		f.wantLost(ctx, 3*time.Second, interlock.ErrNotHolder)
		f.wantErr(claim.Complete("too late"), interlock.ErrLost)
		f.wantState(engine.Unknown)
	}},
	{25, "a foreign value under the key of a record", "the caller gets an error; the value stays; the work does not run", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(3*time.Second))
		f.warmUp(f.guard)
		name := "interlock:guard:result:{" + f.lookup(f.other, order).Key + "}"
		f.server.Must("HSET", name, "field", "value")
		_, err := f.guard.Do(t.Context(), order, f.work)
		if err == nil || errors.Is(err, guard.ErrDuplicate) || errors.Is(err, guard.ErrDown) {
			t.Errorf("Do: got %v, want an error that is neither ErrDuplicate nor ErrDown", err)
		}
		f.wantRuns(0)
		if got := f.server.Must("HGET", name, "field"); got != "value" {
			t.Errorf("the foreign value is now %q, want it unchanged", got)
		}
	}},
	{38, "result larger than allowed", "the first caller gets the result; the work does not run again", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second))
		small := newGuard(t, f.client, f.policy, guard.MaxResult(4))
		if got := f.do(small, order); got != "result 1" {
			t.Errorf("the first caller got %q, want result 1", got)
		}
		for _, g := range []*guard.Guard[string]{small, f.other} {
			_, err := g.Do(t.Context(), order, f.work)
			f.wantErr(err, guard.ErrNoResult)
			f.wantErr(err, guard.ErrTooLarge)
		}
		f.wantRuns(1)
		f.wantState(engine.Done)
	}},
}
