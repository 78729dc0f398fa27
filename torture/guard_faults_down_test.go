package torture

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// guardDownRows are row 5 in full: the server is killed before, during and after
// the work, and comes back with its data before the lease is over; with each of
// the answers that a policy can give.
func guardDownRows() (rows []row) {
	before := map[guard.OnDown]string{
		guard.Closed: "down, nothing run; guarded again when it is back",
		guard.Open:   "run unguarded, and counted; guarded when it is back",
		guard.Local:  "run once in this process; guarded when it is back",
	}
	for _, on := range []guard.OnDown{guard.Closed, guard.Open, guard.Local} {
		rows = append(rows,
			row{5, fmt.Sprintf("engine gone before the work (%s)", on), before[on], func(t *testing.T) { goneBefore(t, on) }},
			row{5, fmt.Sprintf("engine gone during the work (%s)", on), "held, renewal keeps trying; stored", func(t *testing.T) { goneDuring(t, on) }},
			row{5, fmt.Sprintf("engine gone after the work (%s)", on), "the caller has its result; stored late", func(t *testing.T) { goneAfter(t, on) }},
		)
	}
	return rows
}

// lasting makes a post whose server has its data again after a crash.
func lasting(t *testing.T, on guard.OnDown) *post {
	t.Helper()
	policy := strict(12 * time.Second)
	policy.OnDown = on
	return newPost(t, policy, "--appendonly", "yes", "--appendfsync", "always")
}

func goneBefore(t *testing.T, on guard.OnDown) {
	p := lasting(t, on)
	p.know(p.guard)
	p.server.Kill()
	switch on {
	case guard.Closed:
		p.wantRefused(guard.ErrDown)
		p.wantRuns(0)
	case guard.Open:
		for n := range 3 {
			p.do(p.guard, order)
			p.wantRuns(int64(n + 1))
		}
		if n := p.guard.Stats().Verdicts[guard.Unguarded]; n != 3 {
			t.Errorf("%d counted as unguarded, want 3", n)
		}
	case guard.Local:
		for range 3 {
			if got := p.do(p.guard, order); got != "result 1" {
				t.Errorf("got %q, want what this process did first", got)
			}
		}
		p.wantRuns(1)
	}
	p.server.Restart()
	try := 0
	p.soon(10*time.Second, "other processes are kept out again", func() bool {
		try++
		key := guard.Of("ada", fmt.Sprint("later-", try))
		_, claim, err := p.guard.Begin(t.Context(), key)
		if err != nil {
			return false
		}
		defer claim.Abandon()
		_, err = p.other.Do(t.Context(), key, p.work)
		return errors.Is(err, guard.ErrDuplicate)
	})
}

func goneDuring(t *testing.T, on guard.OnDown) {
	p := lasting(t, on)
	ctx, claim := p.begin(p.guard)
	p.server.Kill()
	p.wantHeld(ctx, 5*time.Second) // a renewal is due after 4
	p.server.Restart()
	p.wantHeld(ctx, 9*time.Second) // more than what was left of the lease
	p.complete(claim)
	p.wantReplay(order, "result 1")
	if p.guard.Stats().NotRenewed == 0 {
		t.Error("no renewal failed: the engine was never down")
	}
}

func goneAfter(t *testing.T, on guard.OnDown) {
	p := lasting(t, on)
	result, err := p.guard.Do(t.Context(), order, func(ctx context.Context) (string, error) {
		p.server.Kill()
		return p.work(ctx)
	})
	if err != nil || result != "result 1" {
		t.Fatalf("got %q, %v; the work was done, and that is what counts", result, err)
	}
	if n := p.guard.Stats().Endings[guard.NotStored]; n != 1 {
		t.Errorf("%d counted as not stored, want 1", n)
	}
	p.server.Restart()
	p.soon(10*time.Second, "the result is stored late", func() bool { return p.guard.Stats().Endings[guard.StoredLate] == 1 })
	p.wantReplay(order, result)
	p.wantRuns(1)
}
