package redisengine

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// A Discoverer is a [Client] that knows its servers, so that [Engine.Probe] can ask each of
// them.
type Discoverer interface {
	Client

	// Topology returns what the client knows. It may ask the servers.
	Topology(ctx context.Context) (Topology, error)
}

// A Topology lists servers and connects to them.
type Topology struct {
	Topology engine.Topology // standalone, sentinel or cluster

	// Servers are the addresses of known servers. One reachable server of a cluster is
	// enough: the probe asks it for the others. With Sentinels, Servers may be empty.
	Servers []string

	// Sentinels are the addresses of known sentinels, and Main is the name that they have
	// for the primary.
	Sentinels []string
	Main      string

	// Anonymous means that connections use no password.
	Anonymous bool

	// Dial connects to a server or a sentinel. It fails with errors.ErrUnsupported if
	// the client cannot.
	Dial func(ctx context.Context, addr string, sentinel bool) (Conn, error)
}

// A Conn sends commands to one server.
type Conn interface {
	// Do sends a command once. It returns the library's reply: a string, an integer, or a
	// slice or map of these. Errors are those of [Client].
	Do(ctx context.Context, command ...string) (any, error)

	// Close closes a connection that Dial opened. It does nothing to a connection of the
	// caller's own client, which Dial may return.
	Close() error
}
