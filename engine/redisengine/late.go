package redisengine

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A lateGrant is an attempt whose reply may arrive after its caller has given up. It is a
// value, so that calls without such a reply allocate nothing. The zero value does nothing.
type lateGrant struct {
	engine                *Engine
	name, holder, attempt string
	lease                 time.Duration
	kind                  engine.Kind
	claim                 bool // the attempt claims a record; otherwise it acquires a lock
}

// lateGrant returns the lateGrant of a request.
func (e *Engine) lateGrant(name string, r *engine.Request) lateGrant {
	return lateGrant{engine: e, name: name, holder: r.Holder, attempt: r.Attempt, lease: r.Lease, kind: r.Kind}
}

// lateClaim returns the lateGrant of a claim.
func (e *Engine) lateClaim(name string, c *engine.Claim) lateGrant {
	return lateGrant{engine: e, name: name, attempt: c.Attempt, lease: c.Lease, claim: true}
}

// undo abandons a late grant again if its attempt was abandoned before the grant.
// Otherwise it does nothing: the caller may repeat the attempt, and a later Abandon finds
// the grant. If undo fails, the grant expires with its lease.
func (g lateGrant) undo(reply Reply) {
	e := g.engine
	if e == nil || !g.granted(reply) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.timeout)
	defer cancel()
	if g.claim {
		if e.abandoned(ctx, e.claimTombstone(g.name, g.attempt)) {
			_, _ = e.disclaim(ctx, g.name, &engine.Settlement{Attempt: g.attempt, Lease: g.lease})
		}
		return
	}
	if e.abandoned(ctx, tombstone(g.name, g.holder, g.attempt)) {
		r := engine.Request{Kind: g.kind, Holder: g.holder, Attempt: g.attempt}
		_, _ = e.sendRelease(ctx, g.name, &r, e.tombstoneLife(g.lease))
	}
}

// granted reports whether a reply, of one call or of a batch, grants the attempt.
func (g lateGrant) granted(reply Reply) bool {
	if reply.List == nil {
		return reply.Int > 0
	}
	return !g.claim && reply.List[0].Int == codeGranted
}

// abandoned reports whether an attempt has a tombstone.
func (e *Engine) abandoned(ctx context.Context, tombstone string) bool {
	c := e.call(abandonedScript)
	defer c.free()
	c.keys(tombstone)
	reply, err := e.eval(ctx, c)
	return err == nil && reply.Int == 1
}
