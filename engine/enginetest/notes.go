package enginetest

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// notes is a wrapper whose calls can be made to fail.
type notes struct {
	faulty *Faulty
	inner  engine.Notes
}

// ReadNote implements [engine.Notes].
func (n *notes) ReadNote(ctx context.Context, name string) (engine.Note, error) {
	x := n.faulty.next(ctx, OpNote, name)
	return withFault(n.faulty, ctx, x, func(ctx context.Context) (engine.Note, error) { return n.inner.ReadNote(ctx, name) })
}

// WriteNote implements [engine.Notes].
func (n *notes) WriteNote(ctx context.Context, name, text string, version uint64) error {
	x := n.faulty.next(ctx, OpNote, name)
	_, err := withFault(n.faulty, ctx, x, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, n.inner.WriteNote(ctx, name, text, version)
	})
	return err
}
