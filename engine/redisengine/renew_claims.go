package redisengine

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// Renew implements [engine.Ledger].
func (l ledger) Renew(ctx context.Context, cs []engine.Claim) []error {
	names, errs := make([]string, len(cs)), make([]error, len(cs))
	for i := range cs {
		names[i], errs[i] = l.checkClaim(ctx, &cs[i])
	}
	l.renewGroups(names, errs, func(chosen []int, err error) error { return l.renewClaims(ctx, cs, names, errs, chosen, err) })
	return errs
}

// renewClaims sends the claims with the chosen indices and records their errors in errs. If
// err is not nil, an earlier call has failed: then it sends nothing and records err. It
// returns the error of the call.
func (e *Engine) renewClaims(ctx context.Context, cs []engine.Claim, names []string, errs []error, chosen []int, err error) error {
	var reply Reply
	if err == nil {
		reply, err = e.sendClaims(ctx, cs, names, chosen)
	}
	for at, i := range chosen {
		switch {
		case err != nil:
			errs[i] = e.explain(ctx, names[i], renewClaimsScript, err)
		case reply.List[at].Int == codeExpired:
			errs[i] = engine.ErrNotHolder
		}
	}
	return err
}

// sendClaims sends one call. Its keys are all lock entries, then all result entries, so that
// renew_claims.lua reads them with one MGET.
func (e *Engine) sendClaims(ctx context.Context, cs []engine.Claim, names []string, chosen []int) (Reply, error) {
	c := e.call(renewClaimsScript)
	defer c.free()
	c.Renewal = true
	for _, i := range chosen {
		c.keys(e.lockEntry(names[i]))
		c.args(entryAttempt(cs[i].Attempt), e.lease.text(cs[i].Lease), e.retain.text(cs[i].Retain))
	}
	for _, i := range chosen {
		c.keys(e.resultEntry(names[i]))
	}
	reply, err := e.eval(ctx, c)
	if err == nil && len(reply.List) != len(chosen) {
		err = fmt.Errorf("%d answers to %d renewals", len(reply.List), len(chosen))
	}
	return reply, err
}
