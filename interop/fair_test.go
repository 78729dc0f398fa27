package interop

import (
	"slices"
	"testing"

	"github.com/interlock-go/interlock"
)

// TestFairOrder queues waiters of both languages alternately. They are served in order.
func TestFairOrder(t *testing.T) {
	f := newFixture(t, interlock.DefaultLease)
	f.bothDirections(func(f *fixture, d direction) {
		const waiters = 8
		l := f.newLock("fair")
		first := d.holder()
		f.must(first.lock(l))

		served := make(chan int, waiters)
		done := make(chan error, waiters)
		for i := range waiters {
			a := d.waiter()
			if i%2 == 1 {
				a = d.holder()
			}
			go func() { // ends after its turn; the wait is bounded
				err := a.lock(l)
				served <- i
				if err == nil {
					err = a.unlock(l)
				}
				done <- err
			}()
			f.waitForQueue(l, i+1)
		}
		f.must(first.unlock(l))
		for range waiters {
			f.must(<-done)
		}
		close(served)
		var order []int
		for i := range served {
			order = append(order, i)
		}
		if !slices.IsSorted(order) {
			f.t.Errorf("served in the order %v, want ascending", order)
		}
		table.record("fair order, alternating", d.name, "%d alternating, in order", waiters)
	})
}
