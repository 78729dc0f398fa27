package redisengine

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// A Discoverer is a [Client] that shows where its servers are, so that each can be
// asked how it is; see [Engine.Probe].
type Discoverer interface {
	Client

	// Topology tells what the client knows. It may have to ask.
	Topology(ctx context.Context) (Topology, error)
}

// A Topology is where servers are, and how to get there.
type Topology struct {
	Topology engine.Topology

	// Servers are the addresses of some servers: of a cluster one that answers is
	// enough, and behind sentinels none is needed.
	Servers []string

	// Sentinels are the addresses of some sentinels, and Main what they call the
	// primary.
	Sentinels []string
	Main      string

	// Anonymous says that servers are visited without a password.
	Anonymous bool

	// Visit connects to a server, or to a sentinel. It fails with
	// errors.ErrUnsupported if the client has no way to get there.
	Dial func(ctx context.Context, addr string, sentinel bool) (Conn, error)
}

// A Conn puts questions to one server.
type Conn interface {
	// Ask sends a command once. The answer is as the library has it: a string, an
	// integer, a slice of such, or a map of them. Errors are as those of [Client].
	Do(ctx context.Context, command ...string) (any, error)

	// Close ends the connection, if it was opened by the visit.
	Close() error
}
