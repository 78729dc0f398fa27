package engine

import (
	"context"
	"time"
)

// Incarnations identify the memory of an engine. A server that was restarted may
// have lost the locks it granted. Until their leases have expired, its vote in a
// quorum does not count.
type Incarnations interface {
	// Connections is how often the engine has connected to its server. While the
	// number does not change, neither does the incarnation. It is zero if the
	// engine does not know; then the incarnation must be asked for each time.
	Connections() uint64

	// Incarnation asks for the current incarnation.
	Incarnation(ctx context.Context) (Incarnation, error)
}

// An Incarnation is the memory of an engine, from its start until it is lost.
type Incarnation struct {
	ID  string        // different for each incarnation
	Age time.Duration // the engine has lost nothing for at least this long
}
