package interop

import (
	"strconv"
	"testing"
	"time"
)

// shortLease is short enough for a test to wait until it expires.
const shortLease = 3 * time.Second

// TestCrash kills a process that holds a lock. The other language gets the lock when the
// lease expires, and not before.
func TestCrash(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shortLease)
	for _, kinds := range [][2]string{{"exclusive", "exclusive"}, {"fair", "fair"}, {"write", "read"}, {"read", "write"}} {
		row := "holder killed, " + kinds[0]
		if kinds[1] != kinds[0] {
			row = "holder killed, " + kinds[0] + " → " + kinds[1]
		}
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			f.withT(t).bothDirections(func(f *fixture, d direction) {
				f.t.Parallel()
				l := f.newLock(kinds[0])
				kill := f.startVictim(d.name, l)
				waiter, wanted := d.waiter(), l.withKind(kinds[1])
				got := f.lockInBackground(waiter, wanted)
				f.waitForSubscribers(l, 1)
				kill()
				killed := time.Now()
				left, err := strconv.Atoi(f.server.Must("PTTL", l.key))
				f.must(err)
				took := (<-got).Sub(killed)
				f.must(waiter.unlock(wanted))
				if least := time.Duration(left)*time.Millisecond - 100*time.Millisecond; took < least {
					f.t.Errorf("got the lock %v after its holder was killed, want at least %v, the rest of the lease", took, least)
				}
				table.record(row, d.name, "after %v; lease %v", rounded(took), shortLease)
			})
		})
	}
}

// TestWatchdog holds locks for longer than their lease. Their holders renew them (T3).
func TestWatchdog(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shortLease)
	for _, kind := range []string{"exclusive", "fair", "fenced", "read", "write"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f.withT(t).bothDirections(func(f *fixture, d direction) {
				f.t.Parallel()
				holder, waiter, l := d.holder(), d.waiter(), f.newLock(kind)
				wanted := l
				if kind == "read" {
					wanted = l.withKind("write")
				}
				f.must(holder.lock(l))
				began := time.Now()
				if got, err := waiter.try(wanted, 2*shortLease+time.Second); got || err != nil {
					f.t.Errorf("try of a renewed lock returned %v, %v; want a refusal", got, err)
				}
				held := time.Since(began)
				f.must(holder.unlock(l))
				f.must(waiter.lock(wanted))
				f.must(waiter.unlock(wanted))
				table.record("renewed while held, "+kind, d.name, "%v; lease %v", rounded(held), shortLease)
			})
		})
	}
}
