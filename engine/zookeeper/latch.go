package zookeeper

import (
	"context"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// CountDown implements [engine.Latcher].
func (e *Engine) CountDown(ctx context.Context, r engine.Request) (left int, err error) {
	if err := e.check(ctx, r.Key, keystate.CheckCountDown(&r)); err != nil {
		return 0, err
	}
	c := keystate.CommandOf(keystate.DoCountDown, &r)
	c.Kind = engine.Latch
	return ask[int](ctx, e, keystate.Locks, r.Key, c)
}
