package interop

import (
	"strconv"
	"testing"
	"time"
)

// shortLease is short enough for a test to wait until it expires.
const shortLease = 3 * time.Second

// TestCrash kills a process that holds a lock. The other language gets the lock when the
// lease expires, not before and not much later.
func TestCrash(t *testing.T) {
	t.Parallel()
	s := newFixture(t, shortLease)
	for _, kinds := range [][2]string{{"exclusive", "exclusive"}, {"fair", "fair"}, {"write", "read"}, {"read", "write"}} {
		row := "holder killed, " + kinds[0]
		if kinds[1] != kinds[0] {
			row = "holder killed, " + kinds[0] + " → " + kinds[1]
		}
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			s.withT(t).bothDirections(func(s *fixture, w direction) {
				s.t.Parallel()
				l := s.newLock(kinds[0])
				kill := s.startVictim(w.name, l)
				waiter, wanted := w.waiter(), l.withKind(kinds[1])
				got := s.lockInBackground(waiter, wanted)
				s.waitForSubscribers(l, 1)
				kill()
				killed := time.Now()
				left, err := strconv.Atoi(s.server.Must("PTTL", l.key))
				s.must(err)
				took := (<-got).Sub(killed)
				s.must(waiter.unlock(wanted))
				if least := time.Duration(left)*time.Millisecond - 100*time.Millisecond; took < least {
					s.t.Errorf("got the lock %v after its holder was killed, with at least %v of the lease left", took, least)
				}
				if took > shortLease+time.Second {
					s.t.Errorf("got the lock %v after its holder was killed, with a lease of %v", took, shortLease)
				}
				table.record(row, w.name, "after %v; lease %v", rounded(took), shortLease)
			})
		})
	}
}

// TestWatchdog holds locks for longer than their lease. Their holders renew them (T3).
func TestWatchdog(t *testing.T) {
	t.Parallel()
	s := newFixture(t, shortLease)
	for _, kind := range []string{"exclusive", "fair", "fenced", "read", "write"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s.withT(t).bothDirections(func(s *fixture, w direction) {
				s.t.Parallel()
				holder, waiter, l := w.holder(), w.waiter(), s.newLock(kind)
				wanted := l
				if kind == "read" {
					wanted = l.withKind("write")
				}
				s.must(holder.lock(l))
				began := time.Now()
				if got, err := waiter.try(wanted, 2*shortLease+time.Second); got || err != nil {
					s.t.Errorf("got a renewed lock: %v %v", got, err)
				}
				held := time.Since(began)
				s.must(holder.unlock(l))
				s.must(waiter.lock(wanted))
				s.must(waiter.unlock(wanted))
				table.record("renewed while held, "+kind, w.name, "%v; lease %v", rounded(held), shortLease)
			})
		})
	}
}
