package interop

import (
	"testing"

	"github.com/interlock-go/interlock"
)

// TestReadersAndWriters checks that readers share a lock and a writer excludes all others.
func TestReadersAndWriters(t *testing.T) {
	s := newFixture(t, interlock.DefaultLease)
	s.bothDirections(func(s *fixture, w direction) {
		one, other, third := w.holder(), w.waiter(), w.waiter()
		read := s.newLock("read")
		write := read.withKind("write")

		s.must(one.lock(read))
		s.must(other.lock(read))
		table.record("readers of both at once", w.name, "yes")

		s.wantRefused(third, write)
		s.must(one.unlock(read))
		s.wantRefused(w.holder(), write)
		s.must(other.unlock(read))
		table.record("a writer waits for the last reader", w.name, "yes")

		s.must(one.lock(write))
		s.wantRefused(other, read)
		s.wantRefused(third, write)
		s.must(one.unlock(write))
		table.record("a writer excludes both", w.name, "yes")
		s.wantFree(read)
	})
}

// wantFree checks that a lock has no key on the server.
func (s *fixture) wantFree(l lock) {
	s.t.Helper()
	if s.server.Must("EXISTS", l.key) != "0" {
		s.t.Errorf("%s was not deleted: %s", l.key, s.server.Must("HGETALL", l.key))
	}
}
