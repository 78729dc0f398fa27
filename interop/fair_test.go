package interop

import (
	"slices"
	"testing"

	"github.com/interlock-go/interlock"
)

// TestFairOrder queues waiters of both languages alternately. They are served in order.
func TestFairOrder(t *testing.T) {
	s := newFixture(t, interlock.DefaultLease)
	s.bothDirections(func(s *fixture, w direction) {
		const waiters = 8
		l := s.newLock("fair")
		first := w.holder()
		s.must(first.lock(l))

		served := make(chan int, waiters)
		done := make(chan error, waiters)
		for i := range waiters {
			p := w.waiter()
			if i%2 == 1 {
				p = w.holder()
			}
			go func() { // ends when it had the lock; the wait is bounded
				err := p.lock(l)
				served <- i
				if err == nil {
					err = p.unlock(l)
				}
				done <- err
			}()
			s.waitForQueue(l, i+1)
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
			s.t.Errorf("served in the order %v, want ascending", order)
		}
		table.record("fair order, alternating", w.name, "%d alternating, in order", waiters)
	})
}
