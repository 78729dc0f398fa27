package engine

import "context"

// A Fencer lets several engines agree on the fences of a lock that all of them
// keep. It is for [Exclusive] and [Fair] locks; for others Raise fails with
// errors.ErrUnsupported.
type Fencer interface {
	// Raise lets the hold of r's attempt have a fence that is at least so high,
	// with all other entries of its holder, and the next one the lock grants with
	// Fenced a higher one than that and r.Room more. It lowers nothing. Unless the attempt has the lock it fails
	// with [ErrNotHolder], and changes nothing.
	Raise(ctx context.Context, r Request, fence uint64) error
}
