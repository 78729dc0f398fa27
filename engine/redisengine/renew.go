package redisengine

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// batch is how many leases one call renews: enough to make the trip cheap, and
// few enough that no other call waits a millisecond behind it.
const batch = 100

// Renew implements [engine.Engine].
func (e *Engine) Renew(ctx context.Context, rs []engine.Request) []error {
	errs := make([]error, len(rs))
	names := make([]string, len(rs))
	for i := range rs {
		names[i], errs[i] = e.admit(ctx, &rs[i])
	}
	for _, group := range groups(errs) {
		for len(group) > 0 {
			n := min(batch, len(group))
			e.renew(ctx, rs, names, errs, group[:n])
			group = group[n:]
		}
	}
	return errs
}

// groups returns which requests may share a call: those without an error that
// lie in the same slot. One server has but one.
func groups(errs []error) [][]int {
	group := make([]int, 0, len(errs))
	for i, err := range errs {
		if err == nil {
			group = append(group, i)
		}
	}
	return [][]int{group}
}

// renew sends the requests that group names, and puts their answers into errs.
func (e *Engine) renew(ctx context.Context, rs []engine.Request, names []string, errs []error, group []int) {
	c := e.call(renewScript)
	defer c.free()
	c.Renewal = true
	for _, i := range group {
		r, life := &rs[i], "-"
		c.keys(names[i])
		if r.Fenced && !e.redisson {
			c.keys(counter(names[i]))
			life = e.counterLife(r.Lease)
		}
		c.args(r.Holder, r.Attempt, e.lease.text(r.Lease), life)
	}
	reply, err := e.client.Eval(ctx, c)
	if err == nil && len(reply.List) != len(group) {
		err = fmt.Errorf("%d answers to %d renewals", len(reply.List), len(group))
	}
	for at, i := range group {
		switch {
		case err != nil:
			errs[i] = e.explain(ctx, names[i], renewScript, err)
		case reply.List[at].Int == 0:
			errs[i] = engine.ErrNotHolder
		}
	}
}
