package engine

import "context"

// A Fencer lets several engines agree on the fence of one lock. It supports
// [Exclusive] and [Fair] locks; for other kinds Raise fails with
// errors.ErrUnsupported.
type Fencer interface {
	// Raise raises the fence of the holder of r's attempt to at least fence. The
	// next fence that the lock grants with Fenced is higher than that by more than
	// r.FenceReserve. Raise lowers nothing. If the attempt does not hold the lock,
	// it fails with [ErrNotHolder] and changes nothing.
	Raise(ctx context.Context, r Request, fence uint64) error
}
