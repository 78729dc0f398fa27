package torture

import (
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// guardDuplicateRows are the rows of the fault matrix about duplicates and about decisions of
// operators.
var guardDuplicateRows = []row{
	{34, "duplicate while the work runs", "the duplicate is refused with the time left; a later one gets the result", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(5*time.Second))
		_, claim := f.begin(f.guard)
		for _, g := range []*guard.Guard[string]{f.guard, f.other} {
			_, err := g.Do(t.Context(), order, f.work)
			var duplicate *guard.DuplicateError
			if !errors.As(err, &duplicate) || !duplicate.Running || duplicate.RetryAfter <= 0 || duplicate.RetryAfter > 5*time.Second {
				t.Fatalf("Do: got %v, want a running duplicate with at most 5s left", err)
			}
		}
		f.complete(claim)
		f.eventually(time.Second, "the other process replays the result", func() bool {
			result, err := f.other.Do(t.Context(), order, f.work)
			return err == nil && result == "result 1"
		})
		f.wantRuns(1)
	}},
	{34, "duplicate that waits while the work runs", "the duplicate gets the result as soon as it is stored", func(t *testing.T) {
		policy := strictPolicy(5 * time.Second)
		policy.OnDuplicate, policy.Wait = guard.Wait, 10*time.Second
		f := newGuardFixture(t, policy)
		_, claim := f.begin(f.guard)
		got := make(chan string, 20)
		for i := range 20 {
			g := []*guard.Guard[string]{f.guard, f.other}[i%2]
			go func() {
				result, err := g.Do(t.Context(), order, f.work)
				if err != nil {
					t.Error(err)
				}
				got <- result
			}()
		}
		f.eventually(5*time.Second, "all duplicates wait", func() bool { return f.guard.Stats().Waiting+f.other.Stats().Waiting == 20 })
		start := time.Now()
		f.complete(claim)
		for range 20 {
			if result := <-got; result != "result 1" {
				t.Errorf("a duplicate got %q, want result 1", result)
			}
		}
		if d := time.Since(start); d > 500*time.Millisecond { // less than a poll
			t.Errorf("the last duplicate got the result after %v, want at most 500ms", d)
		}
		f.wantRuns(1)
	}},
	{35, "same key, other payload", "the caller gets ErrMismatch while the work runs and when it is done; the result does not change", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second))
		cheap, expensive := order.For([]byte("ten euros")), order.For([]byte("a hundred euros"))
		_, claim, err := f.guard.Begin(t.Context(), cheap)
		if err != nil {
			t.Fatal(err)
		}
		mismatch := func() {
			t.Helper()
			for _, g := range []*guard.Guard[string]{f.guard, f.other} {
				_, err := g.Do(t.Context(), expensive, f.work)
				f.wantErr(err, guard.ErrMismatch)
			}
		}
		mismatch()
		f.runs.Add(1)
		f.complete(claim)
		mismatch()
		f.wantReplay(cheap, "result 1")
	}},
	{44, "an operator decides while the work runs", "the decision is refused; the work continues", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(5*time.Second))
		ctx, claim := f.begin(f.guard)
		f.wantErr(f.other.Resolve(t.Context(), order, "an operator's"), guard.ErrNotUnknown)
		f.wantErr(f.other.Forget(t.Context(), order), guard.ErrNotUnknown)
		f.wantHeld(ctx, time.Second)
		f.complete(claim)
		f.wantErr(f.other.Forget(t.Context(), order), guard.ErrNotUnknown)
		f.wantReplay(order, "result 1")
	}},
	{44, "an operator resolves an unknown outcome", "the key gets the operator's result, or is free to run again", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(5*time.Second))
		for _, happened := range []bool{true, false} {
			_, claim := f.begin(f.guard)
			if err := claim.Abandon(); err != nil {
				t.Fatal(err)
			}
			f.wantUnknown(time.Second)
			if happened {
				if err := f.other.Resolve(t.Context(), order, "as found"); err != nil {
					t.Fatal(err)
				}
				f.wantReplay(order, "as found")
				f.server.Must(append([]string{"DEL"}, f.records()...)...)
				time.Sleep(guard.DefaultLocalCache) // until both local caches have expired
				continue
			}
			if err := f.other.Forget(t.Context(), order); err != nil {
				t.Fatal(err)
			}
			f.wantState(engine.Absent)
			f.do(f.other, order)
			f.wantRuns(3)
		}
	}},
}
