package interop

import (
	"slices"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// A release notifies a waiter. It would retry without it, too: Go after a second at most,
// Java when the lease expires.
const (
	soon    = 100 * time.Millisecond
	heardOf = 600 * time.Millisecond
)

func TestWakeUp(t *testing.T) {
	s := newScene(t, interlock.DefaultLease)
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	for _, kinds := range [][2]string{{"exclusive", "exclusive"}, {"fair", "fair"}, {"fenced", "fenced"}, {"write", "write"}, {"read", "write"}, {"write", "read"}} {
		row := "wake-up, " + kinds[0]
		if kinds[1] != kinds[0] {
			row = "wake-up, " + kinds[0] + " → " + kinds[1]
		}
		t.Run(row, func(t *testing.T) {
			s.in(t).bothWays(func(s *scene, w way) {
				var took []time.Duration
				for range rounds {
					took = append(took, s.wake(w, s.fresh(kinds[0]), kinds[1]))
				}
				slices.Sort(took)
				median, most := took[len(took)/2], took[len(took)-1]
				if median > soon || most > heardOf {
					s.t.Errorf("woken after %v, at most %v; in order %v", median, most, took)
				}
				table.note(row, w.name, "median %v, most %v of %d", rounded(median), rounded(most), rounds)
			})
		})
	}
}

// wake returns how long after a release began the one who waited had the lock.
func (s *scene) wake(w way, l lock, kind string) time.Duration {
	s.t.Helper()
	holder, waiter := w.holder(), w.waiter()
	s.must(holder.lock(l))
	got := s.later(waiter, l.as(kind))
	s.asked(l, 1)
	select {
	case <-got:
		s.t.Fatal("got the lock although it is held")
	default:
	}
	began := time.Now()
	s.must(holder.unlock(l))
	took := (<-got).Sub(began)
	s.must(waiter.unlock(l.as(kind)))
	return took
}

// rounded leaves of a figure what can be relied on.
func rounded(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
