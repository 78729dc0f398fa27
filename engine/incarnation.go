package engine

import (
	"context"
	"time"
)

// An Incarnations tells how far its memory reaches back. An engine that was started
// anew may have forgotten whom it granted locks to: until their leases have run
// out, it is no witness.
type Incarnations interface {
	// Connections is how often the engine has begun to talk to where its locks
	// are kept. As long as the number stays the same, so does the memory. It is
	// zero if the engine cannot tell, and then never stays the same.
	Connections() uint64

	// Incarnation asks what the locks are kept in now.
	Incarnation(ctx context.Context) (Incarnation, error)
}

// An Incarnation is what locks are kept in, from when it was begun until it is lost.
type Incarnation struct {
	ID  string        // another one for each memory
	Age time.Duration // for how long everything has been kept, at least
}
