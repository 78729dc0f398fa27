package engine

import "context"

// An Eraser lets operators make a [Ledger] forget.
type Eraser interface {
	// Erase forgets what became of the work at key, so that the next claim is
	// granted, and returns what was known, without the result. Who watches the key
	// is told. While somebody has the claim nothing is forgotten: the record is
	// returned as it is, [Running].
	Erase(ctx context.Context, key string) (Record, error)
}
