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
	{24, "server out of memory at the claim (closed)", "down: full; the work does not run", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second))
		p.warmUp(p.guard)
		p.server.Must("CONFIG", "SET", "maxmemory", "1")
		p.wantRefused(guard.ErrDown)
		p.wantRefused(engine.ErrFull)
		p.wantState(engine.Absent)
		p.server.Must("CONFIG", "SET", "maxmemory", "0")
		p.do(p.guard, order)
	}},
	{24, "server out of memory at the claim (open)", "runs unguarded and is counted; stored results are replayed", func(t *testing.T) {
		policy := strictPolicy(30 * time.Second)
		policy.OnDown = guard.Open
		p := newGuardFixture(t, policy)
		stored := p.do(p.guard, guard.Of("ada", "stored"))
		p.server.Must("CONFIG", "SET", "maxmemory", "1")
		p.wantReplay(guard.Of("ada", "stored"), stored)
		p.do(p.guard, order)
		p.wantRuns(2)
		if n := p.guard.Stats().Verdicts[guard.Unguarded]; n != 1 {
			t.Errorf("%d runs counted as unguarded, want 1", n)
		}
	}},
	{24, "server out of memory while the work runs", "renewed; the result is stored", func(t *testing.T) {
		for _, size := range []int{10, 100_000} { // stored by one command on the server, or by two
			p := newGuardFixture(t, strictPolicy(3*time.Second))
			ctx, claim := p.begin(p.guard)
			p.server.Must("CONFIG", "SET", "maxmemory", "1")
			p.wantHeld(ctx, 5*time.Second)
			result := strings.Repeat("x", size)
			if err := claim.Complete(result); err != nil {
				t.Fatal(err)
			}
			if n := p.guard.Stats().Endings[guard.Completed]; n != 1 {
				t.Errorf("endings: %v, want one completed", p.guard.Stats().Endings)
			}
			p.wantReplay(order, result)
		}
	}},
	{25, "record deleted by another client while the work runs", "lost: not the holder; its result is refused", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(3*time.Second))
		ctx, claim := p.begin(p.guard)
		p.server.Must(append([]string{"DEL"}, p.records()...)...)
		p.wantLost(ctx, 3*time.Second, interlock.ErrNotHolder)
		p.wantErr(claim.Complete("too late"), interlock.ErrLost)
		p.wantState(engine.Absent) // the record is not recreated
	}},
	{25, "lock entry alone deleted or evicted", "lost: not the holder; unknown to other callers", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(3*time.Second))
		ctx, claim := p.begin(p.guard)
		p.server.Must("DEL", "interlock:guard:lock:{"+p.lookup(p.other, order).Key+"}")
		p.wantUnknown(0)
		p.wantLost(ctx, 3*time.Second, interlock.ErrNotHolder)
		p.wantErr(claim.Complete("too late"), interlock.ErrLost)
		p.wantState(engine.Unknown)
	}},
	{25, "a foreign value under the key of a record", "an error; the value stays; the work does not run", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(3*time.Second))
		p.warmUp(p.guard)
		name := "interlock:guard:result:{" + p.lookup(p.other, order).Key + "}"
		p.server.Must("HSET", name, "field", "value")
		_, err := p.guard.Do(t.Context(), order, p.work)
		if err == nil || errors.Is(err, guard.ErrDuplicate) || errors.Is(err, guard.ErrDown) {
			t.Errorf("got %v, want an error that is neither ErrDuplicate nor ErrDown", err)
		}
		p.wantRuns(0)
		if got := p.server.Must("HGET", name, "field"); got != "value" {
			t.Errorf("the value has changed to %q", got)
		}
	}},
	{38, "result larger than allowed", "the first caller gets it; the work does not run again", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second))
		small := newGuard(t, p.client, p.policy, guard.MaxResult(4))
		if got := p.do(small, order); got != "result 1" {
			t.Errorf("the first caller got %q", got)
		}
		for _, g := range []*guard.Guard[string]{small, p.other} {
			_, err := g.Do(t.Context(), order, p.work)
			p.wantErr(err, guard.ErrNoResult)
			p.wantErr(err, guard.ErrTooLarge)
		}
		p.wantRuns(1)
		p.wantState(engine.Done)
	}},
}
