package interop

import (
	"slices"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// Limits for the time from a release to the waiter's grant. Without a notification, Go
// retries after 1s at most, and Java when the lease expires.
const (
	maxMedianWake = 100 * time.Millisecond
	maxWake       = 600 * time.Millisecond
)

func TestWakeUp(t *testing.T) {
	f := newFixture(t, interlock.DefaultLease)
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
				if median > maxMedianWake || most > maxWake {
					f.t.Errorf("median wake-up %v, longest %v; want at most %v and %v: %v", median, most, maxMedianWake, maxWake, took)
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
