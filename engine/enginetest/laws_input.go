package enginetest

import (
	"errors"
	"strings"

	"github.com/interlock-go/interlock/engine"
)

// Valid and invalid requests.
var inputLaws = []Law{
	{"input", "a request without a key is refused", func(b *testbed) {
		b.rejectsRequest(func(r *engine.Request) { r.Key = "" })
	}},
	{"input", "a request without a holder is refused", func(b *testbed) {
		b.rejectsRequest(func(r *engine.Request) { r.Holder = "" })
	}},
	{"input", "a request without an attempt is refused", func(b *testbed) {
		b.rejectsRequest(func(r *engine.Request) { r.Attempt = "" })
	}},
	{"input", "a request without a lease is refused", func(b *testbed) {
		b.rejectsRequest(func(r *engine.Request) { r.Lease = 0 })
	}},
	{"input", "a request with a negative lease is refused", func(b *testbed) {
		b.rejectsRequest(func(r *engine.Request) { r.Lease = -b.Lease })
	}},
	{"input", "one bad request in a batch does not affect the others", func(b *testbed) {
		good, bad := b.ask(ann), b.ask(bob)
		bad.Attempt = ""
		b.granted(good)
		errs := b.Renew(b.ctx, []engine.Request{bad, good})
		if len(errs) != 2 || errs[0] == nil || errs[1] != nil {
			b.errorf("the answers are %v, want an error only for the first", errs)
		}
	}},
	{"input", "unusual keys are valid locks", func(b *testbed) {
		rs := make([]engine.Request, len(oddKeys))
		for i, key := range oddKeys {
			rs[i] = withLease(b.askFor(key, ann), 5*b.Lease)
			b.granted(rs[i])
		}
		for _, r := range rs {
			b.heldBy(r)
			b.releases(r, engine.Released)
			b.free(r)
		}
	}},
	{"input", "similar keys are different locks", func(b *testbed) {
		for i, name := range []string{"key", "Key", "key ", " key", "key:", "k\u0435y", "key\x00", "kéy", "ke\u0301y"} {
			if g := b.granted(b.askFor(name, caller(i))); g.Count != 1 {
				b.errorf("%q has been entered %d times, want once", name, g.Count)
			}
		}
	}},
}

// oddKeys are unusual keys that are valid.
var oddKeys = []string{
	"订单:42", "ключ", "🔒", "with spaces in it", "tab\tand\nnewline", "percent%20", "back\\slash", `"quoted"`,
	"*", "?", "[a-z]", "{tag}:x", "{tag}:y", "$key$", "a:b::c", strings.Repeat("long", 256),
}

// rejectsRequest requires that every call refuses a request that spoil made invalid. The
// error must not make a caller retry or clean up.
func (b *testbed) rejectsRequest(spoil func(*engine.Request)) {
	r := b.ask(ann)
	good := r
	spoil(&r)
	b.rejected(errOf(b.Acquire(b.ctx, r)))
	b.rejected(errOf(b.Release(b.ctx, r)))
	b.rejected(errOf(b.Abandon(b.ctx, r)))
	b.rejected(b.renew(r))
	b.free(good)
}

func errOf[T any](_ T, err error) error { return err }

func (b *testbed) rejected(err error) {
	var busy *engine.BusyError
	if err == nil || errors.As(err, &busy) {
		b.errorf("error %v, want one that says what is wrong with the request", err)
	}
	for _, other := range []error{engine.ErrUnknown, engine.ErrUnavailable, engine.ErrNotHolder, engine.ErrAbandoned} {
		if errors.Is(err, other) {
			b.errorf("error %v, want one that says what is wrong with the request", err)
		}
	}
}
