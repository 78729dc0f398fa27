package engine

import (
	"context"
	"time"
)

// A Prober tells how an engine is, and what it is made of.
type Prober interface {
	// Probe asks every node that the engine knows. One that does not answer is in
	// the report with its Err; Probe itself fails only if it cannot name any.
	Probe(ctx context.Context) (Health, error)
}

// Health is how an engine is.
type Health struct {
	Topology Topology
	Nodes    []Node   // of this engine itself
	Parts    []Health // the engines that it is made of
	Name     string   // among the parts of another engine, as "standby"
	Notices  []string // what an operator should know of, as that it has degraded

	// Timeout is how long a call may take.
	Timeout time.Duration

	// Quorum is how many have to agree: sentinels that a primary is down, or parts
	// on a grant. Slots is how many of a cluster's 16,384 somebody serves.
	Quorum int
	Slots  int

	// Acks is how many replicas have to know of a grant: "", "any", "quorum" or
	// "all".
	Acks string
}

// A Topology is what an engine is made of.
type Topology string

// The topologies.
const (
	Embedded   Topology = "embedded"
	Standalone Topology = "standalone"
	Sentinel   Topology = "sentinel"
	Cluster    Topology = "cluster"
	Quorum     Topology = "quorum"
	Standby    Topology = "standby"
)

// A Node is a server, or this process. What could not be learned is zero.
type Node struct {
	Addr    string
	ID      string // of this run of the server
	Role    Role
	Version string
	Uptime  time.Duration

	Latency time.Duration // of one question and its answer
	Offset  time.Duration // its clock less ours, right to half the latency

	// AppendOnly is "no", or how often what is written goes to disk: "always",
	// "everysec", or "no sync", when the system likes. It is "yes" if that is not told.
	AppendOnly string

	Snapshots  bool
	Eviction   string // the policy for when memory is full
	MaxMemory  int64  // bytes; zero is no limit
	UsedMemory int64
	Exposed    bool // lets everybody in: asks for no password, and listens on more than the loopback

	Primary     string // of a replica, the address; of a sentinel, the one that it names
	Linked      bool   // of a replica, that it hears from its primary
	Replicas    int    // of a primary, those that are connected
	MinReplicas int    // that a primary asks for before it writes

	Slots int // of a primary in a cluster, how many it has

	Denied []string // commands that our user may not use, and that locks or a probe need
	Err    error    // why nothing, or not all, is known
}

// A Role is what a node does.
type Role string

// The roles.
const (
	Primary Role = "primary"
	Replica Role = "replica"
	Watcher Role = "sentinel"
)
