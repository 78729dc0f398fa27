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

// TestMigration moves slots between the nodes of a cluster while their locks and records
// are in use (requirement T7). Every call succeeds or returns a documented error; no hold
// is lost, and no work runs twice.
func TestMigration(t *testing.T) {
	moves := 30
	if testing.Short() {
		moves = 8
	}
	c := redistest.StartCluster(t)
	group := newLockGroup(t, c.URL(), "fast:", false, interlock.Fenced(), interlock.Watchdog(6*time.Second))
	load := newGuardLoad(t, c.URL())
	begun, carried := time.Now(), 0
	for i := range moves {
		name := "fast:" + failKey(i%failKeys)
		if i%2 == 1 {
			name = guardTag
		}
		m := c.Begin(name, otherPrimary(c, name))
		group.waitForGrants(3)
		for n := -1; n != 0; {
			n = m.Carry(1) // one at a time, so that related keys are on different nodes for a while
			carried += max(n, 0)
			time.Sleep(5 * time.Millisecond)
		}
		m.End()
		group.waitForGrants(10)
	}
	group.end()
	load.end()
	if n := group.doubles.Load() + group.backwards.Load(); n > 0 {
		t.Errorf("%d locks were granted twice or with a fence that was not higher, want 0", n)
	}
	if n := group.losses.Load(); n > 0 {
		t.Errorf("%d holds were lost, want 0", n)
	}
	f := newTopologyFixture(t, c.URL()+"?prefix=fast:")
	for i := range failKeys {
		f.lockAndUnlockOn(f.client, failKey(i)) // no stale lock is left
	}
	if !t.Failed() {
		fmt.Printf("migration: %d slots moved with %d keys in %v: %d locks granted, %d documented errors, 0 lost, 0 twice; %d guarded runs, 0 twice\n",
			moves, carried, time.Since(begun).Round(time.Second), group.grants.Load(), group.refusals.Load(), load.done.Load())
	}
}

// guardTag keeps all records in one slot.
const guardTag = "{pieces}"

// A guardLoad makes guarded calls. Two clients call each key at once.
type guardLoad struct {
	t       *testing.T
	stop    context.CancelFunc
	workers sync.WaitGroup
	done    atomic.Int64
}

func newGuardLoad(t *testing.T, url string) *guardLoad {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &guardLoad{t: t, stop: cancel}
	var guards []*guard.Guard[int]
	for range 2 {
		e, err := redisengine.Open(t.Context(), url, redisengine.Prefix(guardTag))
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
		l.workers.Go(func() { l.work(ctx, guards, i) })
	}
	t.Cleanup(l.end)
	return l
}

func (l *guardLoad) end() {
	l.stop()
	l.workers.Wait()
}

// work makes one guarded call after another, through both clients at once.
func (l *guardLoad) work(ctx context.Context, guards []*guard.Guard[int], i int) {
	for n := 0; ctx.Err() == nil; n++ {
		var runs atomic.Int64
		var both sync.WaitGroup
		for _, g := range guards {
			both.Go(func() {
				_, err := g.Do(ctx, guard.ID(fmt.Sprintf("%d:%d", i, n)), func(context.Context) (int, error) {
					runs.Add(1)
					return n, nil
				})
				l.wantKnownError(ctx, err)
			})
		}
		both.Wait()
		if runs.Load() > 1 {
			l.t.Errorf("guarded work ran %d times, want once", runs.Load())
		}
		l.done.Add(runs.Load())
	}
}

// wantKnownError checks that an error is one of the documented errors.
func (l *guardLoad) wantKnownError(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	for _, known := range []error{guard.ErrDuplicate, guard.ErrUnknown, guard.ErrDown, guard.ErrNotStored, interlock.ErrUnavailable, interlock.ErrOutcomeUnknown, interlock.ErrLost} {
		if errors.Is(err, known) {
			return
		}
	}
	l.t.Errorf("undocumented error: %v", err)
}
