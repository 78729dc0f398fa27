package enginetest

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// An eraser is a wrapper whose calls can be made to fail.
type eraser struct {
	faulty *Faulty
	inner  engine.Eraser
}

// Erase implements [engine.Eraser].
func (e *eraser) Erase(ctx context.Context, key string) (engine.Record, error) {
	x := e.faulty.next(ctx, OpErase, key)
	return withFault(e.faulty, ctx, x, func(ctx context.Context) (engine.Record, error) { return e.inner.Erase(ctx, key) })
}
