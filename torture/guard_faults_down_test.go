package torture

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// guardDownRows are the variants of row 5. The server is killed before, during and after
// the work, and restarts with its data before the lease expires. Each variant runs with
// every OnDown policy.
func guardDownRows() (rows []row) {
	before := map[guard.OnDown]string{
		guard.Closed: "the caller gets ErrDown, and the work does not run; calls are guarded again after the restart",
		guard.Open:   "the work runs unguarded and is counted; calls are guarded again after the restart",
		guard.Local:  "the work runs once in this process; calls are guarded again after the restart",
	}
	for _, on := range []guard.OnDown{guard.Closed, guard.Open, guard.Local} {
		rows = append(rows,
			row{5, fmt.Sprintf("engine down before the work (%s)", on), before[on], func(t *testing.T) { downBefore(t, on) }},
			row{5, fmt.Sprintf("engine down during the work (%s)", on), "the claim stays held; its renewal is retried; its result is stored", func(t *testing.T) { downDuring(t, on) }},
			row{5, fmt.Sprintf("engine down after the work (%s)", on), "the caller gets the result, which is stored late", func(t *testing.T) { downAfter(t, on) }},
		)
	}
	return rows
}

// newDurableFixture returns a fixture whose server keeps its data across a crash.
func newDurableFixture(t *testing.T, on guard.OnDown) *guardFixture {
	t.Helper()
	policy := strictPolicy(12 * time.Second)
	policy.OnDown = on
	return newGuardFixture(t, policy, "--appendonly", "yes", "--appendfsync", "always")
}

func downBefore(t *testing.T, on guard.OnDown) {
	f := newDurableFixture(t, on)
	f.warmUp(f.guard)
	f.server.Kill()
	switch on {
	case guard.Closed:
		f.wantRefused(guard.ErrDown)
		f.wantRuns(0)
	case guard.Open:
		for n := range 3 {
			f.do(f.guard, order)
			f.wantRuns(int64(n + 1))
		}
		if n := f.guard.Stats().Verdicts[guard.Unguarded]; n != 3 {
			t.Errorf("%d runs counted as unguarded, want 3", n)
		}
	case guard.Local:
		for range 3 {
			if got := f.do(f.guard, order); got != "result 1" {
				t.Errorf("got %q, want the first result of this process", got)
			}
		}
		f.wantRuns(1)
	}
	f.server.Restart()
	attempt := 0
	f.eventually(10*time.Second, "other processes are refused again", func() bool {
		attempt++
		key := guard.Of("ada", fmt.Sprint("later-", attempt))
		_, claim, err := f.guard.Begin(t.Context(), key)
		if err != nil {
			return false
		}
		defer claim.Abandon()
		_, err = f.other.Do(t.Context(), key, f.work)
		return errors.Is(err, guard.ErrDuplicate)
	})
}

func downDuring(t *testing.T, on guard.OnDown) {
	f := newDurableFixture(t, on)
	ctx, claim := f.begin(f.guard)
	f.server.Kill()
	f.wantHeld(ctx, 5*time.Second) // a renewal is due after 4s
	f.server.Restart()
	f.wantHeld(ctx, 9*time.Second) // longer than the rest of the lease
	f.complete(claim)
	f.wantReplay(order, "result 1")
	if f.guard.Stats().NotRenewed == 0 {
		t.Error("no renewal failed: the engine was never down")
	}
}

func downAfter(t *testing.T, on guard.OnDown) {
	f := newDurableFixture(t, on)
	result, err := f.guard.Do(t.Context(), order, func(ctx context.Context) (string, error) {
		f.server.Kill()
		return f.work(ctx)
	})
	if err != nil || result != "result 1" {
		t.Fatalf("got %q, %v; want the result, since the work was done", result, err)
	}
	if n := f.guard.Stats().Endings[guard.NotStored]; n != 1 {
		t.Errorf("%d results counted as not stored, want 1", n)
	}
	f.server.Restart()
	f.eventually(10*time.Second, "the result is stored late", func() bool { return f.guard.Stats().Endings[guard.StoredLate] == 1 })
	f.wantReplay(order, result)
	f.wantRuns(1)
}
