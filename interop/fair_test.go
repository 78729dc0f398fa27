package interop

import (
	"slices"
	"testing"

	"github.com/interlock-go/interlock"
)

// TestFairOrder lets threads of both languages line up one after the other.
func TestFairOrder(t *testing.T) {
	s := newScene(t, interlock.DefaultLease)
	s.bothWays(func(s *scene, w way) {
		const waiters = 8
		l := s.fresh("fair")
		first := w.holder()
		s.must(first.lock(l))

		served := make(chan int, waiters)
		done := make(chan error, waiters)
		for i := range waiters {
			p := w.waiter()
			if i%2 == 1 {
				p = w.holder()
			}
			go func() { // ends with its turn, which is bounded
				err := p.lock(l)
				served <- i
				if err == nil {
					err = p.unlock(l)
				}
				done <- err
			}()
			s.inLine(l, i+1)
		}
		s.must(first.unlock(l))
		for range waiters {
			s.must(<-done)
		}
		close(served)
		var order []int
		for i := range served {
			order = append(order, i)
		}
		if !slices.IsSorted(order) {
			s.t.Errorf("served in the order %v", order)
		}
		table.note("fair order, alternating", w.name, "%d by turns, in order", waiters)
	})
}
