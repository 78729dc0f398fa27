package enginetest

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// A fencer injects faults into Raise.
type fencer struct {
	faulty *Faulty
	inner  engine.Fencer
}

// Raise implements [engine.Fencer].
func (n *fencer) Raise(ctx context.Context, r engine.Request, fence uint64) error {
	x := n.faulty.next(ctx, OpRaise, r.Key)
	_, err := withFault(n.faulty, ctx, x, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, n.inner.Raise(ctx, r, fence)
	})
	return err
}

// incarnations injects faults into Incarnation. Connections is passed through.
type incarnations struct {
	faulty *Faulty
	inner  engine.Incarnations
}

// Connections implements [engine.Incarnations].
func (m *incarnations) Connections() uint64 { return m.inner.Connections() }

// Incarnation implements [engine.Incarnations].
func (m *incarnations) Incarnation(ctx context.Context) (engine.Incarnation, error) {
	x := m.faulty.next(ctx, OpIncarnation)
	return withFault(m.faulty, ctx, x, func(ctx context.Context) (engine.Incarnation, error) { return m.inner.Incarnation(ctx) })
}
