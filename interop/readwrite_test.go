package interop

import (
	"testing"

	"github.com/interlock-go/interlock"
)

func TestReadersAndWriters(t *testing.T) {
	s := newScene(t, interlock.DefaultLease)
	s.bothWays(func(s *scene, w way) {
		one, other, third := w.holder(), w.waiter(), w.waiter()
		read := s.fresh("read")
		write := read.as("write")

		s.must(one.lock(read))
		s.must(other.lock(read))
		table.note("readers of both at once", w.name, "yes")

		s.refused(third, write)
		s.must(one.unlock(read))
		s.refused(w.holder(), write)
		s.must(other.unlock(read))
		table.note("a writer waits for the last reader", w.name, "yes")

		s.must(one.lock(write))
		s.refused(other, read)
		s.refused(third, write)
		s.must(one.unlock(write))
		table.note("a writer keeps out both", w.name, "yes")
		s.free(read)
	})
}

// free makes sure that nothing is left of a lock.
func (s *scene) free(l lock) {
	s.t.Helper()
	if s.server.Must("EXISTS", l.key) != "0" {
		s.t.Errorf("%s is still there: %s", l.key, s.server.Must("HGETALL", l.key))
	}
}
