package torture

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// Rows about duplicates, and about an operator's decisions.
var guardDuplicateRows = []row{
	{34, "duplicate while the work runs", "refused with the time left; replayed afterwards", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(5*time.Second))
		_, claim := p.begin(p.guard)
		for _, g := range []*guard.Guard[string]{p.guard, p.other} {
			_, err := g.Do(t.Context(), order, p.work)
			var duplicate *guard.DuplicateError
			if !errors.As(err, &duplicate) || !duplicate.Running || duplicate.RetryAfter <= 0 || duplicate.RetryAfter > 5*time.Second {
				t.Fatalf("got %v, want a running duplicate with at most 5s left", err)
			}
		}
		p.complete(claim)
		p.eventually(time.Second, "the other process replays the result", func() bool {
			result, err := p.other.Do(t.Context(), order, p.work)
			return err == nil && result == "result 1"
		})
		p.wantRuns(1)
	}},
	{34, "duplicate that waits while the work runs", "gets the result as soon as it is stored", func(t *testing.T) {
		policy := strictPolicy(5 * time.Second)
		policy.OnDuplicate, policy.Wait = guard.Wait, 10*time.Second
		p := newGuardFixture(t, policy)
		_, claim := p.begin(p.guard)
		got := make(chan string, 20)
		for i := range 20 {
			g := []*guard.Guard[string]{p.guard, p.other}[i%2]
			go func() {
				result, err := g.Do(t.Context(), order, p.work)
				if err != nil {
					t.Error(err)
				}
				got <- result
			}()
		}
		p.eventually(5*time.Second, "all duplicates wait", func() bool { return p.guard.Stats().Waiting+p.other.Stats().Waiting == 20 })
		start := time.Now()
		p.complete(claim)
		for range 20 {
			if result := <-got; result != "result 1" {
				t.Errorf("got %q", result)
			}
		}
		if d := time.Since(start); d > 500*time.Millisecond { // less than a poll
			t.Errorf("the last duplicate got the result after %v", d)
		}
		p.wantRuns(1)
	}},
	{35, "same key, other payload", "mismatch, running or done; the result does not change", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second))
		mine, theirs := order.For([]byte("ten euros")), order.For([]byte("a hundred euros"))
		_, claim, err := p.guard.Begin(t.Context(), mine)
		if err != nil {
			t.Fatal(err)
		}
		mismatch := func() {
			t.Helper()
			for _, g := range []*guard.Guard[string]{p.guard, p.other} {
				_, err := g.Do(t.Context(), theirs, p.work)
				p.wantErr(err, guard.ErrMismatch)
			}
		}
		mismatch()
		p.runs.Add(1)
		p.complete(claim)
		mismatch()
		p.wantReplay(mine, "result 1")
	}},
	{44, "an operator decides while the work runs", "refused; the work continues", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(5*time.Second))
		ctx, claim := p.begin(p.guard)
		p.wantErr(p.other.Resolve(t.Context(), order, "an operator's"), guard.ErrNotUnknown)
		p.wantErr(p.other.Forget(t.Context(), order), guard.ErrNotUnknown)
		p.wantHeld(ctx, time.Second)
		p.complete(claim)
		p.wantErr(p.other.Forget(t.Context(), order), guard.ErrNotUnknown)
		p.wantReplay(order, "result 1")
	}},
	{44, "an operator resolves an unknown outcome", "done with that result, or free to run", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(5*time.Second))
		for _, happened := range []bool{true, false} {
			_, claim := p.begin(p.guard)
			if err := claim.Abandon(); err != nil {
				t.Fatal(err)
			}
			p.wantUnknown(time.Second)
			if happened {
				if err := p.other.Resolve(t.Context(), order, "as found"); err != nil {
					t.Fatal(err)
				}
				p.wantReplay(order, "as found")
				p.server.Must(append([]string{"DEL"}, p.records()...)...)
				p.wantHeld(context.Background(), guard.DefaultLocalCache) // until both local caches have expired
				continue
			}
			if err := p.other.Forget(t.Context(), order); err != nil {
				t.Fatal(err)
			}
			p.wantState(engine.Absent)
			p.do(p.other, order)
			p.wantRuns(3)
		}
	}},
}
