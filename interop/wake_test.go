package interop

import (
	"slices"
	"testing"
	"time"
)

// maxMedianWake is a limit for the time from a release to the grant of a Go waiter. Without
// a notification, a Go waiter retries after 1s. A Java waiter would sleep for the lease.
const maxMedianWake = 500 * time.Millisecond

func TestWakeUp(t *testing.T) {
	f := newFixture(t, longLease)
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
			f.withT(t).bothDirections(func(f *fixture, d direction) {
				var took []time.Duration
				for range rounds {
					took = append(took, f.wake(d, f.newLock(kinds[0]), kinds[1]))
				}
				slices.Sort(took)
				median, most := took[len(took)/2], took[len(took)-1]
				if median > maxMedianWake {
					f.t.Errorf("median wake-up %v, want at most %v: %v", median, maxMedianWake, took)
				}
				table.record(row, d.name, "median %v, most %v of %d", rounded(median), rounded(most), rounds)
			})
		})
	}
}

// wake returns the time from the start of a release to the waiter's grant.
func (f *fixture) wake(d direction, l lock, kind string) time.Duration {
	f.t.Helper()
	holder, waiter := d.holder(), d.waiter()
	f.must(holder.lock(l))
	got := f.lockInBackground(waiter, l.withKind(kind))
	f.waitForSubscribers(l, 1)
	select {
	case <-got:
		f.t.Fatal("the waiter got the lock before its release")
	default:
	}
	began := time.Now()
	f.must(holder.unlock(l))
	took := (<-got).Sub(began)
	f.must(waiter.unlock(l.withKind(kind)))
	return took
}

// rounded rounds a duration to its significant digits.
func rounded(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
