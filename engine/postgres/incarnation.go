package postgres

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
)

var _ engine.Incarnations = (*Engine)(nil)

// Connections implements [engine.Incarnations]. It is zero on a pool of the caller and
// behind a pooler, which may hide that the server was restarted.
func (e *Engine) Connections() uint64 {
	if !e.owned || e.behindPooler {
		return 0
	}
	return uint64(max(e.pool.Stat().NewConnsCount(), 0))
}

// Incarnation implements [engine.Incarnations]. A crash and a promotion begin a new one, even
// if they have lost nothing: its ID is in an unlogged table, which both empty.
func (e *Engine) Incarnation(ctx context.Context) (engine.Incarnation, error) {
	if err := e.usable(ctx); err != nil {
		return engine.Incarnation{}, err
	}
	var (
		id  string
		age int64
	)
	if err := e.row(ctx, e.call("incarnation", ""), &id, &age); err != nil {
		return engine.Incarnation{}, err
	}
	return engine.Incarnation{ID: id, Age: time.Duration(age) * time.Microsecond}, nil
}
