package redisengine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/interlock-go/interlock/engine"
)

// maxPerCall is how many leases one call renews: enough to make it cheap, and few enough
// that it delays other calls by less than 1 ms.
const maxPerCall = 100

// Renew implements [engine.Engine].
func (e *Engine) Renew(ctx context.Context, rs []engine.Request) []error {
	b := renewals{rs: rs, names: make([]string, len(rs)), errs: make([]error, len(rs))}
	// An invalid request fails alone; the others are sent.
	for i := range rs {
		b.names[i], b.errs[i] = e.checkRequest(ctx, &rs[i])
	}
	e.renewGroups(b.names, b.errs, func(chosen []int, err error) error { return e.renew(ctx, &b, chosen, err) })
	return b.errs
}

// Answers of renew.lua other than 1.
const (
	codeExpired = 0
	codeRevoked = 2
)

// renewals are requests with the names of their locks and their errors.
type renewals struct {
	rs    []engine.Request
	names []string
	errs  []error
}

// renewGroups calls renew for the requests without an error. Each call has requests of one
// slot. The error of a call is passed to the next call for the same slot.
func (e *Engine) renewGroups(names []string, errs []error, renew func(chosen []int, err error) error) {
	var calls sync.WaitGroup
	groups := e.groupBySlot(names)
	for i, group := range groups {
		group = slices.DeleteFunc(group, func(i int) bool { return errs[i] != nil })
		// Chunks of one slot are sent one after the other; different slots at the same
		// time.
		renewGroup := func() {
			var err error
			for chosen := range slices.Chunk(group, maxPerCall) {
				if err = renew(chosen, err); err != nil {
					// The next calls would fail as well, each after a timeout.
					err = &NotSentError{Err: err}
				}
			}
		}
		// The last group uses the caller's goroutine, so a single server needs no other.
		if i < len(groups)-1 {
			calls.Go(renewGroup)
		} else {
			renewGroup()
		}
	}
	calls.Wait()
}

// renew sends the requests with the chosen indices and records their errors in b. If err is
// not nil, an earlier call has failed: then it sends nothing and records err. It returns
// the error of the call.
func (e *Engine) renew(ctx context.Context, b *renewals, chosen []int, err error) error {
	var reply Reply
	if err == nil {
		reply, err = e.sendRenewals(ctx, b, chosen)
	}
	for at, i := range chosen {
		switch {
		case err != nil:
			b.errs[i] = e.explain(ctx, b.names[i], renewScript, err)
		case reply.List[at].Int == codeExpired:
			b.errs[i] = engine.ErrNotHolder
		case reply.List[at].Int == codeRevoked:
			b.errs[i] = engine.ErrRevoked
		}
	}
	return err
}

// sendRenewals sends one call. The number of keys differs by kind, so renew.lua reads the
// keys in the order of the arguments.
func (e *Engine) sendRenewals(ctx context.Context, b *renewals, chosen []int) (Reply, error) {
	c := e.call(renewScript)
	defer c.free()
	c.Renewal = true // go-redis must not wait for a pooled connection
	for _, i := range chosen {
		r, name, life := &b.rs[i], b.names[i], "-"
		c.keys(name)
		if r.Fenced && !e.redisson { // with Redisson the counter never expires
			c.keys(fenceCounter(name))
			life = e.counterLife(r.Lease)
		}
		c.args(r.Holder, r.Attempt, e.lease.text(r.Lease), life)
		switch r.Kind {
		case engine.Read:
			c.keys(leaseKey(name, r.Holder))
			c.args("read")
		case engine.Write:
			c.keys(leaseKey(name, r.Holder+":write"))
			c.args("write")
		case engine.Permit:
			c.keys(permitFences(name))
			c.args("permit")
		default:
			c.args("-")
		}
	}
	reply, err := e.eval(ctx, c)
	if err == nil && len(reply.List) != len(chosen) {
		err = fmt.Errorf("%d answers to %d renewals", len(reply.List), len(chosen))
	}
	return reply, err
}
