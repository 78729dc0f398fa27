package mysql

import (
	"context"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// quotas implements [engine.Quotas].
type quotas struct{ *Engine }

// Take implements [engine.Quotas].
func (x quotas) Take(ctx context.Context, q engine.Quota) (engine.Usage, error) {
	if err := x.check(ctx, q.Key, keystate.CheckQuota(&q)); err != nil {
		return engine.Usage{}, err
	}
	return ask[engine.Usage](ctx, x.Engine, keystate.Quotas, q.Key, keystate.QuotaCommand(keystate.DoTake, &q))
}

// Return implements [engine.Quotas].
func (x quotas) Return(ctx context.Context, q engine.Quota) (bool, error) {
	if err := x.check(ctx, q.Key, keystate.CheckQuota(&q)); err != nil {
		return false, err
	}
	return ask[bool](ctx, x.Engine, keystate.Quotas, q.Key, keystate.QuotaCommand(keystate.DoReturn, &q))
}
