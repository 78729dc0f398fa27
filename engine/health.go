package engine

import (
	"context"
	"time"
)

// A Prober reports the health and topology of an engine.
type Prober interface {
	// Probe asks every known node. A node that does not answer is in the report
	// with its Err; Probe fails only if it knows no node.
	Probe(ctx context.Context) (Health, error)
}

// Health is the state of an engine.
type Health struct {
	Product  Product // the software of the nodes; empty for engines without servers of their own
	Topology Topology
	Nodes    []Node   // the nodes of this engine itself
	Parts    []Health // the engines it is made of
	Name     string   // its name as a part of another engine, such as "standby"
	Notices  []string // messages for operators, such as that the engine is degraded

	// Timeout bounds a call to the engine.
	Timeout time.Duration

	// Quorum is how many sentinels must agree that a primary is down, or how many
	// parts must grant a lock. Slots is how many of a cluster's 16,384 slots are
	// served.
	Quorum int
	Slots  int

	// Acks is how many replicas must confirm a grant: "", "any", "quorum" or
	// "all".
	Acks string
}

// A Product is the software that an engine's servers run.
type Product string

// The products.
const (
	Redis      Product = "redis" // or Valkey
	PostgreSQL Product = "postgresql"
	Etcd       Product = "etcd"
	ZooKeeper  Product = "zookeeper"
	MySQL      Product = "mysql" // or MariaDB
)

// A Topology is how the servers of an engine are arranged.
type Topology string

// The topologies.
const (
	Embedded   Topology = "embedded"
	Standalone Topology = "standalone"
	Sentinel   Topology = "sentinel"
	Cluster    Topology = "cluster"
	Ensemble   Topology = "ensemble" // one store on several servers; a majority agrees to each change
	Quorum     Topology = "quorum"
	Standby    Topology = "standby"
)

// A Node is a server, or this process. Unknown fields are zero.
type Node struct {
	Addr    string
	ID      string // identifies this run of the server
	Role    Role
	Version string
	Uptime  time.Duration

	Latency time.Duration // the duration of one round trip
	Offset  time.Duration // its clock minus ours, accurate to half the latency

	// AppendOnly is "no", or when writes are synced to disk: "always",
	// "everysec", or "no-sync" if the operating system decides. It is "yes" if the
	// server does not say when.
	AppendOnly string

	Snapshots  bool
	Eviction   string // the policy when memory is full
	MaxMemory  int64  // in bytes; zero means no limit
	UsedMemory int64
	Exposed    bool // accepts connections without a password, not only on the loopback interface

	Primary     string // the primary's address, of a replica or a sentinel
	Linked      bool   // of a replica: connected to its primary
	Replicas    int    // of a primary: connected replicas
	MinReplicas int    // of a primary: replicas it needs to accept writes

	Slots int // of a primary in a cluster: the slots that it serves

	Connections    int // open connections of all clients; zero means unknown
	MaxConnections int // how many the server accepts

	// Alarms are problems that the server reports by itself, such as NOSPACE of etcd.
	Alarms []string

	// Settings are further settings of the server that locks and records depend on, by the
	// server's own names, such as idle_in_transaction_session_timeout.
	Settings map[string]string

	Denied []string // commands and channels that the engine needs and its user may not use, such as &interlock_client:*
	Err    error    // why the report is incomplete
}

// A Role is the role of a node.
type Role string

// The roles.
const (
	Primary Role = "primary"
	Replica Role = "replica"
	Watcher Role = "sentinel"
)
