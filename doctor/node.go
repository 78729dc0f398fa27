package doctor

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// node examines a server. A server that does not answer has no other findings: all its
// settings are unknown.
func (x *exam) node(t engine.Topology, n engine.Node) {
	if n.Err != nil {
		x.unreachable(n)
		return
	}
	switch x.product {
	case engine.PostgreSQL:
		x.postgres(n)
		return
	case engine.MySQL:
		x.mysql(n)
		return
	case engine.Etcd, engine.ZooKeeper:
		x.member(n)
		return
	}
	// A sentinel grants no locks; method sentinels examines them together.
	if n.Role == engine.Watcher {
		return
	}
	// The scripts use commands of Redis 6.2.
	if before(n.Version, 6, 2) {
		x.find(Old, n.Addr, n.Version)
	}
	x.memory(n)
	x.disk(n)
	x.replication(t, n)
	x.clock(n)
	x.access(n)
}

// unreachable reports a server that does not answer. It is only a warning if locks are
// granted without that server.
func (x *exam) unreachable(n engine.Node) {
	switch {
	case errors.Is(n.Err, errors.ErrUnsupported):
		x.find(Notice, n.Addr, n.Err.Error()) // the node does not support probes
	case schemaProblem(n):
		x.find(SchemaVersion, n.Addr, n.Err)
	case alarmed(n) && strings.Contains(n.Err.Error(), "NOSPACE"):
		x.find(NoSpace, n.Addr)
	case alarmed(n):
		x.find(Alarm, n.Addr, n.Err)
	case n.Role == engine.Replica, n.Role == engine.Watcher, x.inQuorum, x.mayFail:
		x.findAs(Warn, Unreachable, n.Addr, n.Err)
	default:
		x.find(Unreachable, n.Addr, n.Err)
	}
}

// memory examines eviction and usage. Without maxmemory, Redis never evicts.
func (x *exam) memory(n engine.Node) {
	if n.MaxMemory <= 0 {
		return
	}
	// Even a volatile policy evicts locks: they have an expiry. "" means that the server
	// hides its policy.
	if n.Eviction != "" && n.Eviction != "noeviction" {
		x.find(Eviction, n.Addr, n.Eviction, Bytes(n.MaxMemory))
	}
	// 85 % leaves time to react before grants fail.
	if n.UsedMemory >= n.MaxMemory/100*85 {
		x.find(MemoryFull, n.Addr, Bytes(n.UsedMemory), Bytes(n.MaxMemory))
	}
}

// disk examines what survives a restart. A restarted node of a quorum is on probation,
// so in a quorum a finding is only a note.
func (x *exam) disk(n engine.Node) {
	severity := Warn
	if x.inQuorum {
		severity = Note
	}
	switch n.AppendOnly {
	case "no":
		if n.Snapshots {
			x.findAs(severity, SnapshotsOnly, n.Addr)
		} else {
			x.findAs(severity, Forgets, n.Addr)
		}
	case "no-sync":
		x.findAs(severity, NeverSynced, n.Addr)
	// The usual setting is a note even outside of a quorum, so it keeps its own severity.
	case "everysec":
		x.find(EverySecond, n.Addr)
	case "yes":
		x.find(SyncUnknown, n.Addr)
	}
}

// replication examines a replica's link, or a primary's replicas. Acks without a
// replica fail every grant; a replica without acks may miss some.
func (x *exam) replication(t engine.Topology, n engine.Node) {
	if n.Role == engine.Replica {
		// Behind sentinels and in a cluster, replicas are expected, and the client finds
		// the primary.
		if t == engine.Standalone {
			x.find(OnReplica, n.Addr, n.Primary)
		}
		if !n.Linked {
			x.find(LinkDown, n.Addr, n.Primary)
		}
		return
	}
	switch {
	// In this case the server refuses writes now. The next case is about a later failover.
	case n.MinReplicas > n.Replicas:
		x.find(TooFewReplicas, n.Addr, n.MinReplicas, n.Replicas)
	case n.Replicas > 0 && n.MinReplicas == 0:
		x.find(MinReplicas, n.Addr, n.Replicas)
	}
	switch {
	case x.acks != "" && n.Replicas == 0:
		x.find(AcksWithoutReplica, n.Addr, x.acks)
	case x.acks == "" && n.Replicas > 0:
		x.find(NoAcks, n.Addr, n.Replicas)
	}
}

// clock compares a server's clock with ours. The server read its clock at some time during
// the round trip, so the offset is uncertain by half the latency.
func (x *exam) clock(n engine.Node) {
	// 1 % of the lease is the drift that locks tolerate.
	if offset := n.Offset.Abs() - n.Latency/2; offset > x.lease/100 {
		x.find(Clock, n.Addr, Offset(n.Offset), x.lease/100, x.lease)
	}
	// The limit is a tenth of the timeout: this latency is that of an idle connection, and
	// latencies grow under load.
	if n.Latency > x.timeout/10 {
		x.find(Latency, n.Addr, n.Latency.Round(time.Millisecond), x.timeout)
	}
}

// probeCommands are needed by probes, but not by locks. Without them some settings stay
// unknown, which is a note and not a failure.
var probeCommands = []string{"CONFIG GET", "INFO", "CLUSTER NODES", "CLUSTER INFO"}

// access examines the permissions. WAIT is only needed with acks.
func (x *exam) access(n engine.Node) {
	if n.Exposed {
		x.find(Exposed, n.Addr)
	}
	var needed, probeOnly []string
	for _, c := range n.Denied {
		switch {
		// Without acks WAIT is not needed, so this is not a finding.
		case c == "WAIT" && x.acks == "":
		case slices.Contains(probeCommands, c):
			probeOnly = append(probeOnly, c)
		case strings.HasPrefix(c, "&"):
			x.find(DeniedChannel, n.Addr, c)
		default:
			needed = append(needed, c)
		}
	}
	if len(needed) > 0 {
		x.find(Denied, n.Addr, strings.Join(needed, ", "))
		// The catalogue cannot know the commands that this user lacks.
		f := &x.findings[len(x.findings)-1]
		f.Commands = []string{"ACL SETUSER <user> +" + strings.ToLower(strings.Join(needed, " +"))}
	}
	if len(probeOnly) > 0 {
		x.find(Unread, n.Addr, strings.Join(probeOnly, ", "))
	}
}

// before reports whether a version is older than major.minor. A version with an unknown
// format is not older. That includes Valkey, whose versions begin with its name: none of
// them is too old.
func before(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a < major || a == major && b < minor)
}
