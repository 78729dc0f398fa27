package interop

import (
	"testing"

	"github.com/interlock-go/interlock"
)

// TestReadersAndWriters checks that readers share a lock and a writer excludes all others.
func TestReadersAndWriters(t *testing.T) {
	f := newFixture(t, interlock.DefaultLease)
	f.bothDirections(func(f *fixture, d direction) {
		first, second, third := d.holder(), d.waiter(), d.waiter()
		read := f.newLock("read")
		write := read.withKind("write")

		f.must(first.lock(read))
		f.must(second.lock(read))
		table.record("readers of both at once", d.name, "yes")

		f.wantRefused(third, write)
		f.must(first.unlock(read))
		f.wantRefused(d.holder(), write)
		f.must(second.unlock(read))
		table.record("a writer waits for the last reader", d.name, "yes")

		f.must(first.lock(write))
		f.wantRefused(second, read)
		f.wantRefused(third, write)
		f.must(first.unlock(write))
		table.record("a writer excludes both", d.name, "yes")
		f.wantFree(read)
	})
}

// wantFree checks that a lock has no key on the server.
func (f *fixture) wantFree(l lock) {
	f.t.Helper()
	if f.server.Must("EXISTS", l.key) != "0" {
		f.t.Errorf("%s was not deleted: %s", l.key, f.server.Must("HGETALL", l.key))
	}
}
