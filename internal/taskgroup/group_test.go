package taskgroup_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/taskgroup"
)

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestGroup(t *testing.T) {
	t.Run("Wait on an idle group returns at once", func(t *testing.T) {
		var g taskgroup.Group
		for range 2 {
			if !closed(g.Wait()) {
				t.Error("Wait is not closed although the group is idle")
			}
			g.Begin()
			g.End() // the group is idle again
		}
	})
	t.Run("all waiters are notified when the last task ends, and not before", func(t *testing.T) {
		var g taskgroup.Group
		for range 2 { // a group can be used again
			g.Begin()
			g.Begin()
			early, late := g.Wait(), g.Wait()
			g.End()
			if closed(early) || closed(late) {
				t.Error("a caller was notified while a task was in progress")
			}
			g.End()
			if !closed(early) || !closed(late) {
				t.Error("a caller was not notified")
			}
		}
	})
	t.Run("a task that begins during a wait counts, too", func(t *testing.T) {
		var g taskgroup.Group
		g.Begin()
		idle := g.Wait()
		g.Begin()
		g.End()
		if closed(idle) {
			t.Error("Wait is closed while the first task is in progress")
		}
		g.Begin()
		g.End()
		g.End()
		if !closed(idle) {
			t.Error("Wait is not closed although no task is in progress")
		}
	})
	t.Run("a task of Go is in progress until its function returns", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var g taskgroup.Group
			start := time.Now()
			g.Go(func() { time.Sleep(time.Second) })
			<-g.Wait()
			if d := time.Since(start); d != time.Second {
				t.Errorf("Wait was closed after %v, want 1s", d)
			}
		})
	})
	t.Run("after the context is done, Drain waits for at most the grace period", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var g taskgroup.Group
			done, cancel := context.WithCancel(t.Context())
			cancel()
			for work, want := range map[time.Duration]time.Duration{time.Second: time.Second, time.Minute: 2 * time.Second} {
				start := time.Now()
				g.Go(func() { time.Sleep(work) })
				g.Drain(done, 2*time.Second)
				if d := time.Since(start); d != want {
					t.Errorf("with a task of %v, Drain took %v, want %v", work, d, want)
				}
				<-g.Wait()
			}
		})
	})
}

// TestRace starts to wait at the moment that the last task ends, while others begin and
// end.
func TestRace(t *testing.T) {
	const rounds = 20_000
	groups := make([]taskgroup.Group, rounds)
	var turn atomic.Int64
	var all sync.WaitGroup
	all.Go(func() {
		for i := range groups {
			for turn.Load() <= int64(i) { // ends the task when the other goroutine begins to wait
				runtime.Gosched()
			}
			groups[i].End()
		}
	})
	for i := range groups {
		groups[i].Begin()
		turn.Add(1)
		wait(t, &groups[i])
	}
	all.Wait()

	var g taskgroup.Group
	g.Begin()
	idle := g.Wait()
	for range 3 {
		all.Go(func() {
			for range rounds {
				g.Begin()
				g.Wait()
				g.End()
			}
		})
	}
	all.Wait()
	if closed(idle) {
		t.Error("Wait is closed while the first task is in progress")
	}
	g.End()
	wait(t, &g)
	if !closed(idle) {
		t.Error("Wait is not closed although no task is in progress")
	}
}

func wait(t *testing.T, g *taskgroup.Group) {
	t.Helper()
	select {
	case <-g.Wait():
	case <-time.After(10 * time.Second):
		t.Fatal("Wait is not closed although the group is idle")
	}
}
