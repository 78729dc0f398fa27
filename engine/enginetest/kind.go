package enginetest

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// fair returns a new request for a fair lock.
func (b *testbed) fair(holder string) engine.Request { return b.askAs(engine.Fair, holder) }

// read returns a new request for a read lock.
func (b *testbed) read(holder string) engine.Request { return b.askAs(engine.Read, holder) }

// write returns a new request for a write lock.
func (b *testbed) write(holder string) engine.Request { return b.askAs(engine.Write, holder) }

// permit returns a new request for one of limit permits.
func (b *testbed) permit(holder string, limit int) engine.Request {
	r := b.askAs(engine.Permit, holder)
	r.Limit = limit
	return r
}

// askAs returns a new request of a kind. It skips the law if the engine lacks that
// kind.
func (b *testbed) askAs(k engine.Kind, holder string) engine.Request {
	if !b.Capabilities().Has(k) {
		b.skip("the engine has no locks of the kind " + k.String())
	}
	r := b.ask(holder)
	r.Kind = k
	return r
}

// queued requires that r is refused, and returns it with a QueueLease that outlasts
// every law.
func (b *testbed) queued(r engine.Request) engine.Request {
	r = withQueueLease(r, 50*b.Lease)
	b.busy(r)
	return r
}

// queueOf queues n requests, in order.
func (b *testbed) queueOf(n int, ask func(holder string) engine.Request) []engine.Request {
	rs := make([]engine.Request, n)
	for i := range rs {
		rs[i] = b.queued(b.withLongLease(ask(caller(i))))
	}
	return rs
}

// servedInOrder requires that waiters are granted the free lock in order, and refused
// before that.
func (b *testbed) servedInOrder(rs []engine.Request) {
	for i, r := range rs {
		if i+1 < len(rs) {
			b.busy(rs[len(rs)-1])
		}
		b.granted(r)
		b.releases(r, engine.Released)
	}
}

// ignoringTime runs f, which uses long leases only, so a slow machine does not matter.
func (b *testbed) ignoringTime(f func()) {
	start, passed := time.Now(), b.slept
	f()
	b.slept = passed + time.Since(start)
}

// withLongLease returns r with a lease that outlasts every law.
func (b *testbed) withLongLease(r engine.Request) engine.Request { return withLease(r, 50*b.Lease) }

// withQueueLease returns r with a QueueLease.
func withQueueLease(r engine.Request, d time.Duration) engine.Request {
	r.QueueLease = d
	return r
}

// fenced returns r with Fenced.
func fenced(r engine.Request) engine.Request {
	r.Fenced = true
	return r
}

// ahead requires the number of waiters ahead in a refusal.
func (b *testbed) ahead(busy *engine.BusyError, want int) {
	if busy.Ahead != want {
		b.fatalf("Ahead is %d, want %d", busy.Ahead, want)
	}
}

// first requires that a refusal names one of the given holders.
func (b *testbed) first(busy *engine.BusyError, holders ...string) {
	if !slices.Contains(holders, busy.Holder) {
		b.fatalf("the refusal names %s, want one of %q", nameOf(busy.Holder), holders)
	}
}
