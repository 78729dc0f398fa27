package enginetest

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// A fencer is one whose calls can be made to fail.
type fencer struct {
	faulty *Faulty
	inner  engine.Fencer
}

// Raise implements [engine.Fencer].
func (n *fencer) Raise(ctx context.Context, r engine.Request, fence uint64) error {
	x := n.faulty.next(ctx, OpRaise, r.Key)
	_, err := through(n.faulty, ctx, x, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, n.inner.Raise(ctx, r, fence)
	})
	return err
}

// A rememberer is one whose calls can be made to fail.
type rememberer struct {
	faulty *Faulty
	inner  engine.Rememberer
}

// Connections implements [engine.Rememberer].
func (m *rememberer) Connections() uint64 { return m.inner.Connections() }

// Memory implements [engine.Rememberer].
func (m *rememberer) Memory(ctx context.Context) (engine.Memory, error) {
	x := m.faulty.next(ctx, OpMemory)
	return through(m.faulty, ctx, x, func(ctx context.Context) (engine.Memory, error) { return m.inner.Memory(ctx) })
}
