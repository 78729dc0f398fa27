package enginetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Who asks for locks in the laws. Eve only looks whether one is free.
const (
	ann = "a1100000-0000-4000-8000-00000000000a:1"
	bob = "b0b00000-0000-4000-8000-00000000000b:1"
	eve = "e5e00000-0000-4000-8000-00000000000e:1"
)

// somebody is one of any number of holders.
func somebody(i int) string { return fmt.Sprintf("50e00000-0000-4000-8000-%012d:%d", i, i) }

// ask is a new acquisition of the lock that most laws are content with.
func (b *bench) ask(holder string) engine.Request { return b.askFor("k", holder) }

// askFor is a new acquisition of one of several locks.
func (b *bench) askFor(name, holder string) engine.Request {
	b.attempts++
	return engine.Request{
		Key: b.prefix + name, Holder: holder, Attempt: fmt.Sprint("attempt-", b.attempts), Lease: b.Lease,
	}
}

// askAll is one acquisition of the same lock for each of n holders.
func (b *bench) askAll(n int) []engine.Request {
	rs := make([]engine.Request, n)
	for i := range rs {
		rs[i] = b.ask(somebody(i))
	}
	return rs
}

// granted demands that r is granted.
func (b *bench) granted(r engine.Request) engine.Grant {
	g, err := b.Acquire(b.ctx, r)
	if err != nil {
		b.fatalf("acquire for %s: %v, want a grant", who(r.Holder), err)
	}
	return g
}

// busy demands that r is refused since somebody else has the lock.
func (b *bench) busy(r engine.Request) *engine.BusyError {
	g, err := b.Acquire(b.ctx, r)
	var busy *engine.BusyError
	if !errors.As(err, &busy) {
		b.fatalf("acquire for %s: %+v, error %v; want a *engine.BusyError", who(r.Holder), g, err)
	}
	return busy
}

// refused demands that r is refused with an error that matches want.
func (b *bench) refused(r engine.Request, want error) {
	if g, err := b.Acquire(b.ctx, r); !errors.Is(err, want) {
		b.fatalf("acquire for %s: %+v, error %v; want %v", who(r.Holder), g, err, want)
	}
}

// held demands that the lock r is about is held by r's holder.
func (b *bench) held(r engine.Request) {
	spy := b.ask(eve)
	spy.Key = r.Key
	if by := b.busy(spy).Holder; by != r.Holder {
		b.fatalf("the lock is held by %s, want %s", who(by), who(r.Holder))
	}
}

// free demands that nobody holds the lock r is about, and leaves it so.
func (b *bench) free(r engine.Request) {
	spy := b.ask(eve)
	spy.Key = r.Key
	if g := b.granted(spy); g.Count != 1 {
		b.fatalf("a lock that was free is held %d times by the first who asks", g.Count)
	}
	b.leaves(spy, engine.Released)
}

// renewed demands that r's lease begins anew.
func (b *bench) renewed(r engine.Request) {
	if err := b.renew(r); err != nil {
		b.fatalf("renew for %s: %v, want none", who(r.Holder), err)
	}
}

// unrenewed demands that r is told it does not hold the lock.
func (b *bench) unrenewed(r engine.Request) {
	if err := b.renew(r); !errors.Is(err, engine.ErrNotHolder) {
		b.fatalf("renew for %s: error %v, want %v", who(r.Holder), err, engine.ErrNotHolder)
	}
}

// leaves demands an outcome of releasing r.
func (b *bench) leaves(r engine.Request, want engine.Outcome) engine.ReleaseResult {
	p, err := b.Release(b.ctx, r)
	if err != nil || p.Outcome != want {
		b.fatalf("release for %s: %v, error %v; want %v", who(r.Holder), p.Outcome, err, want)
	}
	return p
}

// abandons demands an outcome of abandoning r.
func (b *bench) abandons(r engine.Request, want engine.Outcome) engine.ReleaseResult {
	p, err := b.Abandon(b.ctx, r)
	if err != nil || p.Outcome != want {
		b.fatalf("abandon for %s: %v, error %v; want %v", who(r.Holder), p.Outcome, err, want)
	}
	return p
}

func (b *bench) renew(r engine.Request) error {
	errs := b.Renew(b.ctx, []engine.Request{r})
	if len(errs) != 1 {
		b.fatalf("renew of one request has %d answers", len(errs))
	}
	return errs[0]
}

// again is the same attempt, sent once more.
func again(r engine.Request) engine.Request {
	r.Retry = true
	return r
}

// lasting is r with another lease.
func lasting(r engine.Request, lease time.Duration) engine.Request {
	r.Lease = lease
	return r
}

func who(holder string) string {
	switch holder {
	case ann:
		return "ann"
	case bob:
		return "bob"
	case eve:
		return "eve"
	}
	return holder
}
