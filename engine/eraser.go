package engine

import "context"

// An Eraser lets operators delete records of a [Ledger].
type Eraser interface {
	// Erase deletes the record of key, so that the next claim is granted. It
	// returns the record as it was, without the result, and notifies watchers. A
	// [Running] record is returned unchanged and not deleted.
	Erase(ctx context.Context, key string) (Record, error)
}
