package memory

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Connections implements [engine.Incarnations]. An embedded engine has one
// incarnation.
func (e *Engine) Connections() uint64 { return 1 }

// Incarnation implements [engine.Incarnations].
func (e *Engine) Incarnation(ctx context.Context) (engine.Incarnation, error) {
	if err := ctx.Err(); err != nil {
		return engine.Incarnation{}, err
	}
	return engine.Incarnation{ID: e.id, Age: time.Since(e.start)}, nil
}
