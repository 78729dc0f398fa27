package enginetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// The callers in the laws. Eve only checks whether a lock is free.
const (
	ann = "a1100000-0000-4000-8000-00000000000a:1"
	bob = "b0b00000-0000-4000-8000-00000000000b:1"
	eve = "e5e00000-0000-4000-8000-00000000000e:1"
)

// caller returns the i-th of any number of holders.
func caller(i int) string { return fmt.Sprintf("50e00000-0000-4000-8000-%012d:%d", i, i) }

// ask returns a new request for the lock of most laws.
func (b *testbed) ask(holder string) engine.Request { return b.askFor("k", holder) }

// askFor returns a new request for one of several locks.
func (b *testbed) askFor(name, holder string) engine.Request {
	b.attempts++
	return engine.Request{
		Key: b.prefix + name, Holder: holder, Attempt: fmt.Sprint("attempt-", b.attempts), Lease: b.Lease,
	}
}

// askAll returns a request for the same lock for each of n holders.
func (b *testbed) askAll(n int) []engine.Request {
	rs := make([]engine.Request, n)
	for i := range rs {
		rs[i] = b.ask(caller(i))
	}
	return rs
}

// granted requires that r is granted.
func (b *testbed) granted(r engine.Request) engine.Grant {
	g, err := b.Acquire(b.ctx, r)
	if err != nil {
		b.fatalf("acquire for %s: %v, want a grant", nameOf(r.Holder), err)
	}
	return g
}

// busy requires that r is refused because another holder has the lock.
func (b *testbed) busy(r engine.Request) *engine.BusyError {
	g, err := b.Acquire(b.ctx, r)
	var busy *engine.BusyError
	if !errors.As(err, &busy) {
		b.fatalf("acquire for %s: %+v, error %v; want a *engine.BusyError", nameOf(r.Holder), g, err)
	}
	return busy
}

// refused requires that r is refused with an error that matches want.
func (b *testbed) refused(r engine.Request, want error) {
	if g, err := b.Acquire(b.ctx, r); !errors.Is(err, want) {
		b.fatalf("acquire for %s: %+v, error %v; want %v", nameOf(r.Holder), g, err, want)
	}
}

// heldBy requires that r's holder has the lock.
func (b *testbed) heldBy(r engine.Request) {
	spy := b.ask(eve)
	spy.Key = r.Key
	if holder := b.busy(spy).Holder; holder != r.Holder {
		b.fatalf("the lock is held by %s, want %s", nameOf(holder), nameOf(r.Holder))
	}
}

// free requires that the lock of r is free, and leaves it free.
func (b *testbed) free(r engine.Request) {
	spy := b.ask(eve)
	spy.Key = r.Key
	if g := b.granted(spy); g.Count != 1 {
		b.fatalf("the count after the first acquisition is %d, want 1", g.Count)
	}
	b.releases(spy, engine.Released)
}

// renewed requires that r is renewed.
func (b *testbed) renewed(r engine.Request) {
	if err := b.renew(r); err != nil {
		b.fatalf("renew for %s: error %v, want none", nameOf(r.Holder), err)
	}
}

// notRenewed requires that the renewal of r fails with ErrNotHolder.
func (b *testbed) notRenewed(r engine.Request) {
	if err := b.renew(r); !errors.Is(err, engine.ErrNotHolder) {
		b.fatalf("renew for %s: error %v, want %v", nameOf(r.Holder), err, engine.ErrNotHolder)
	}
}

// releases requires an outcome of releasing r.
func (b *testbed) releases(r engine.Request, want engine.Outcome) engine.ReleaseResult {
	p, err := b.Release(b.ctx, r)
	if err != nil || p.Outcome != want {
		b.fatalf("release for %s: %v, error %v; want %v", nameOf(r.Holder), p.Outcome, err, want)
	}
	return p
}

// abandons requires an outcome of abandoning r.
func (b *testbed) abandons(r engine.Request, want engine.Outcome) engine.ReleaseResult {
	p, err := b.Abandon(b.ctx, r)
	if err != nil || p.Outcome != want {
		b.fatalf("abandon for %s: %v, error %v; want %v", nameOf(r.Holder), p.Outcome, err, want)
	}
	return p
}

func (b *testbed) renew(r engine.Request) error {
	errs := b.Renew(b.ctx, []engine.Request{r})
	if len(errs) != 1 {
		b.fatalf("renew of one request has %d answers", len(errs))
	}
	return errs[0]
}

// asRetry returns r marked as a retry.
func asRetry(r engine.Request) engine.Request {
	r.Retry = true
	return r
}

// withLease returns r with another lease.
func withLease(r engine.Request, lease time.Duration) engine.Request {
	r.Lease = lease
	return r
}

func nameOf(holder string) string {
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
