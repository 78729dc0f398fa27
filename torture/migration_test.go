package torture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestMigration moves slots from one node of a cluster to the next while their
// locks and records are in use (T7): whatever is asked for is done, or refused with
// an error that says why; no hold is lost, and no work is done twice.
func TestMigration(t *testing.T) {
	moves := 30
	if testing.Short() {
		moves = 8
	}
	c := redistest.StartCluster(t)
	crowd := newCrowd(t, c.URL(), "fast:", false, interlock.Fenced(), interlock.Watchdog(6*time.Second))
	work := newPieces(t, c.URL())
	begun, carried := time.Now(), 0
	for i := range moves {
		name := "fast:" + failKey(i%failKeys)
		if i%2 == 1 {
			name = pieceTag
		}
		m := c.Begin(name, another(c, name))
		crowd.goOn(3)
		for n := -1; n != 0; {
			n = m.Carry(1) // so that what belongs together is torn apart for a while
			carried += max(n, 0)
			time.Sleep(5 * time.Millisecond)
		}
		m.End()
		crowd.goOn(10)
	}
	crowd.end()
	work.end()
	if n := crowd.doubles.Load() + crowd.backwards.Load(); n > 0 {
		t.Errorf("%d locks were granted twice, or with a fence that had been", n)
	}
	if n := crowd.losses.Load(); n > 0 {
		t.Errorf("%d holds were lost", n)
	}
	r := newRealm(t, c.URL()+"?prefix=fast:")
	for i := range failKeys {
		r.settles(r.client, failKey(i)) // nothing is left behind
	}
	if !t.Failed() {
		fmt.Printf("migration: %d slots moved with %d keys in %v: %d locks granted, %d refused for a reason, 0 lost, 0 twice; %d pieces of work done, 0 twice\n",
			moves, carried, time.Since(begun).Round(time.Second), crowd.grants.Load(), crowd.refusals.Load(), work.done.Load())
	}
}

// pieceTag keeps the records of all work in one slot.
const pieceTag = "{pieces}"

// A workshop does pieces of work, each of which two ask for at a time.
type workshop struct {
	t       *testing.T
	stop    context.CancelFunc
	workers sync.WaitGroup
	done    atomic.Int64
}

func newPieces(t *testing.T, url string) *workshop {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &workshop{t: t, stop: cancel}
	var guards []*guard.Guard[int]
	for range 2 {
		e, err := redisengine.Open(t.Context(), url, redisengine.Prefix(pieceTag))
		if err != nil {
			t.Fatal(err)
		}
		client := interlock.New(e)
		g, err := guard.New[int](client, guard.Policy{Name: "pieces", Scope: guard.Global})
		if err != nil {
			t.Fatal(err)
		}
		guards = append(guards, g)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = g.Close(ctx)
			_ = client.Close(ctx)
			_ = e.Close()
		})
	}
	for i := range 4 {
		w.workers.Go(func() { w.work(ctx, guards, i) })
	}
	t.Cleanup(w.end)
	return w
}

func (w *workshop) end() {
	w.stop()
	w.workers.Wait()
}

// work has one piece after the other done, through two clients at a time.
func (w *workshop) work(ctx context.Context, guards []*guard.Guard[int], i int) {
	for n := 0; ctx.Err() == nil; n++ {
		var runs atomic.Int64
		var both sync.WaitGroup
		for _, g := range guards {
			both.Go(func() {
				_, err := g.Do(ctx, guard.ID(fmt.Sprintf("%d:%d", i, n)), func(context.Context) (int, error) {
					runs.Add(1)
					return n, nil
				})
				w.clear(ctx, err)
			})
		}
		both.Wait()
		if runs.Load() > 1 {
			w.t.Errorf("a piece of work was done %d times", runs.Load())
		}
		w.done.Add(runs.Load())
	}
}

// clear demands that an error says what is the matter.
func (w *workshop) clear(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	for _, known := range []error{guard.ErrDuplicate, guard.ErrUnknown, guard.ErrDown, guard.ErrNotStored, interlock.ErrUnavailable, interlock.ErrOutcomeUnknown, interlock.ErrLost} {
		if errors.Is(err, known) {
			return
		}
	}
	w.t.Errorf("an error that does not say what is the matter: %v", err)
}
