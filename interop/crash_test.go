package interop

import (
	"strconv"
	"testing"
	"time"
)

// short is a lease that one can wait for.
const short = 3 * time.Second

// TestCrash kills a process that holds a lock. The other language gets it when the
// lease is over: neither before nor much later.
func TestCrash(t *testing.T) {
	t.Parallel()
	s := newScene(t, short)
	for _, kinds := range [][2]string{{"exclusive", "exclusive"}, {"fair", "fair"}, {"write", "read"}, {"read", "write"}} {
		row := "holder killed, " + kinds[0]
		if kinds[1] != kinds[0] {
			row = "holder killed, " + kinds[0] + " → " + kinds[1]
		}
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			s.in(t).bothWays(func(s *scene, w way) {
				s.t.Parallel()
				l := s.fresh(kinds[0])
				kill := s.dieWith(w.name, l)
				waiter, wanted := w.waiter(), l.as(kinds[1])
				got := s.later(waiter, wanted)
				s.asked(l, 1)
				kill()
				killed := time.Now()
				left, err := strconv.Atoi(s.server.Must("PTTL", l.key))
				s.must(err)
				took := (<-got).Sub(killed)
				s.must(waiter.unlock(wanted))
				if least := time.Duration(left)*time.Millisecond - 100*time.Millisecond; took < least {
					s.t.Errorf("got the lock %v after its holder was killed, with %v of the lease left", took, least)
				}
				if took > short+time.Second {
					s.t.Errorf("got the lock only %v after its holder was killed; its lease was %v", took, short)
				}
				table.note(row, w.name, "after %v; lease %v", rounded(took), short)
			})
		})
	}
}

// TestWatchdog holds locks past their lease, which their holders renew (T3).
func TestWatchdog(t *testing.T) {
	t.Parallel()
	s := newScene(t, short)
	for _, kind := range []string{"exclusive", "fair", "fenced", "read", "write"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s.in(t).bothWays(func(s *scene, w way) {
				s.t.Parallel()
				holder, waiter, l := w.holder(), w.waiter(), s.fresh(kind)
				wanted := l
				if kind == "read" {
					wanted = l.as("write")
				}
				s.must(holder.lock(l))
				began := time.Now()
				if got, err := waiter.try(wanted, 2*short+time.Second); got || err != nil {
					s.t.Errorf("got the lock although it is renewed: %v %v", got, err)
				}
				held := time.Since(began)
				s.must(holder.unlock(l))
				s.must(waiter.lock(wanted))
				s.must(waiter.unlock(wanted))
				table.note("renewed while held, "+kind, w.name, "%v; lease %v", rounded(held), short)
			})
		})
	}
}
