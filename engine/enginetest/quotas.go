package enginetest

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// quotas are a wrapper whose calls can be made to fail.
type quotas struct {
	faulty *Faulty
	inner  engine.Quotas
}

// Take implements [engine.Quotas].
func (q *quotas) Take(ctx context.Context, r engine.Quota) (engine.Usage, error) {
	x := q.faulty.next(ctx, OpTake, r.Key)
	return withFault(q.faulty, ctx, x, func(ctx context.Context) (engine.Usage, error) { return q.inner.Take(ctx, r) })
}

// Return implements [engine.Quotas].
func (q *quotas) Return(ctx context.Context, r engine.Quota) (bool, error) {
	x := q.faulty.next(ctx, OpReturn, r.Key)
	return withFault(q.faulty, ctx, x, func(ctx context.Context) (bool, error) { return q.inner.Return(ctx, r) })
}
