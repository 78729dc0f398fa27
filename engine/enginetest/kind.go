package enginetest

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// fair is a new acquisition of the lock in the order in which it is asked for.
func (b *bench) fair(holder string) engine.Request { return b.askAs(engine.Fair, holder) }

// read is a new acquisition of the lock beside others who read.
func (b *bench) read(holder string) engine.Request { return b.askAs(engine.Read, holder) }

// write is a new acquisition of the lock beside nobody who reads.
func (b *bench) write(holder string) engine.Request { return b.askAs(engine.Write, holder) }

// permit is a new acquisition of one of limit permits.
func (b *bench) permit(holder string, limit int) engine.Request {
	r := b.askAs(engine.Permit, holder)
	r.Limit = limit
	return r
}

// askAs is a new acquisition of another kind than most laws are about. It ends
// the law if the engine has no locks of that kind.
func (b *bench) askAs(k engine.Kind, holder string) engine.Request {
	if !b.Capabilities().Has(k) {
		b.skip("the engine has no locks of the kind " + k.String())
	}
	r := b.ask(holder)
	r.Kind = k
	return r
}

// linesUp demands that r is refused, and returns it as one who stands in line
// sends it: for so long that no law sees the end of its place.
func (b *bench) linesUp(r engine.Request) engine.Request {
	r = placed(r, 50*b.Lease)
	b.busy(r)
	return r
}

// lineOf is n who stand in line for what ask asks for, in order.
func (b *bench) lineOf(n int, ask func(holder string) engine.Request) []engine.Request {
	rs := make([]engine.Request, n)
	for i := range rs {
		rs[i] = b.linesUp(b.forLong(ask(somebody(i))))
	}
	return rs
}

// servedInOrder demands that those in line are granted the lock in order and, as
// long as it is not their turn, refused. The lock is free.
func (b *bench) servedInOrder(rs []engine.Request) {
	for i, r := range rs {
		if i+1 < len(rs) {
			b.busy(rs[len(rs)-1])
		}
		b.granted(r)
		b.leaves(r, engine.Released)
	}
}

// patiently runs f, in which no lease and no place runs out however slow the
// machine is.
func (b *bench) patiently(f func()) {
	start, passed := time.Now(), b.passed
	f()
	b.passed = passed + time.Since(start)
}

// forLong is r with a lease so long that no law sees the end of it.
func (b *bench) forLong(r engine.Request) engine.Request { return lasting(r, 50*b.Lease) }

// placed is r with a place in line that is kept for so long.
func placed(r engine.Request, place time.Duration) engine.Request {
	r.QueueLease = place
	return r
}

// fenced is r with a fence that rises strictly.
func fenced(r engine.Request) engine.Request {
	r.Fenced = true
	return r
}

// ahead demands that a refusal tells how many stand in line before.
func (b *bench) ahead(busy *engine.BusyError, want int) {
	if busy.Ahead != want {
		b.fatalf("%d are said to be ahead, want %d", busy.Ahead, want)
	}
}

// first demands that a refusal names who comes first.
func (b *bench) first(busy *engine.BusyError, holders ...string) {
	if !slices.Contains(holders, busy.Holder) {
		b.fatalf("%s is said to come first, want %q", who(busy.Holder), holders)
	}
}
