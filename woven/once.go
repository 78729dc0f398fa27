package woven

import (
	"context"

	"github.com/interlock-go/interlock/guard"
)

// begin returns a claim and its context, or no claim if outs have the results of an earlier
// call.
func (st *state) begin(ctx context.Context, key Key, outs []any) (context.Context, *guard.Claim[results], error) {
	k, err := st.guardKey(key)
	if err != nil {
		return ctx, nil, err
	}
	if err := st.checkResults(outs); err != nil {
		return ctx, nil, err
	}
	g, err := st.guard(ctx)
	if err != nil {
		return ctx, nil, err
	}
	inner, claim, err := g.Begin(ctx, k)
	if err != nil {
		return ctx, nil, err
	}
	if before, ok := claim.Result(); ok {
		if err := before.fill(outs); err != nil {
			return ctx, nil, &guard.NoResultError{Guard: st.policy.Name, Key: k.ID, Err: err}
		}
		return ctx, nil, nil
	}
	return inner, claim, nil
}
