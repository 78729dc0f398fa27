package memory

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Connections implements [engine.Rememberer]. An engine begins once, and what it
// knows ends with it.
func (e *Engine) Connections() uint64 { return 1 }

// Memory implements [engine.Rememberer].
func (e *Engine) Memory(ctx context.Context) (engine.Memory, error) {
	if err := ctx.Err(); err != nil {
		return engine.Memory{}, err
	}
	return engine.Memory{ID: e.id, Age: time.Since(e.start)}, nil
}
