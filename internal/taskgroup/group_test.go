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
				t.Error("a caller waits although the group is idle")
			}
			g.Begin()
			g.End() // idle again is as idle as before
		}
	})
	t.Run("all who wait are told when the last ends, and not before", func(t *testing.T) {
		var g taskgroup.Group
		for range 2 { // the second time is like the first
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
		told := g.Wait()
		g.Begin()
		g.End()
		if closed(told) {
			t.Error("it was told while the first was on its way")
		}
		g.Begin()
		g.End()
		g.End()
		if !closed(told) {
			t.Error("it was not told")
		}
	})
	t.Run("Go is on its way until its function returns", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var g taskgroup.Group
			start := time.Now()
			g.Go(func() { time.Sleep(time.Second) })
			<-g.Wait()
			if d := time.Since(start); d != time.Second {
				t.Errorf("told after %v", d)
			}
		})
	})
	t.Run("Drain gives what is on its way a grace if the caller has no time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var g taskgroup.Group
			gone, leave := context.WithCancel(t.Context())
			leave()
			for work, want := range map[time.Duration]time.Duration{time.Second: time.Second, time.Minute: 2 * time.Second} {
				start := time.Now()
				g.Go(func() { time.Sleep(work) })
				g.Drain(gone, 2*time.Second)
				if d := time.Since(start); d != want {
					t.Errorf("of %v it waited %v, want %v", work, d, want)
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
			for turn.Load() <= int64(i) { // ready to end it when the other begins to wait
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
	told := g.Wait()
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
	if closed(told) {
		t.Error("it was told while the first was on its way")
	}
	g.End()
	wait(t, &g)
	if !closed(told) {
		t.Error("it was not told")
	}
}

func wait(t *testing.T, g *taskgroup.Group) {
	t.Helper()
	select {
	case <-g.Wait():
	case <-time.After(10 * time.Second):
		t.Fatal("the group is idle, and the waiter is not notified")
	}
}
