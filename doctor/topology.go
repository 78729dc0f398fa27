package doctor

import (
	"errors"
	"net"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// clusterSlots is the number of slots of a Redis cluster.
const clusterSlots = 16384

// sentinels examines the sentinels, and whether the primary has a replica. Its findings
// about sentinels have no node: they are about all of them.
func (x *exam) sentinels(h engine.Health) {
	all, answering, primaries := 0, 0, make(map[string]bool)
	for _, n := range h.Nodes {
		switch {
		case n.Role == engine.Primary && n.Err == nil && n.Replicas == 0:
			x.find(NoReplica, n.Addr)
		case n.Role == engine.Watcher:
			all++
			if n.Err == nil {
				answering++
				primaries[n.Primary] = true // more than one is a split
			}
		}
	}
	if all == 0 {
		return // the client does not report its sentinels
	}
	// Two sentinels have no majority after one has failed.
	if all < 3 {
		x.find(FewSentinels, "", all)
	}
	// Sentinel needs its quorum to declare a primary down, and a majority to elect a
	// leader.
	if need := max(h.Quorum, all/2+1); answering < need {
		x.find(SentinelsAway, "", answering, all, need)
	}
	if len(primaries) > 1 {
		x.find(SentinelsSplit, "", strings.Join(sorted(primaries), ", "))
	}
}

// cluster examines whether every slot has a primary, and every primary a replica.
// Primaries without slots hold no keys, so they need no replica.
func (x *exam) cluster(h engine.Health) {
	answered := false
	for _, n := range h.Nodes {
		answered = answered || n.Err == nil
		if n.Role == engine.Primary && n.Err == nil && n.Slots > 0 && n.Replicas == 0 {
			x.find(NoReplica, n.Addr)
		}
	}
	// Without an answer, h.Slots is 0 because the slots are unknown.
	if answered && h.Slots < clusterSlots {
		x.find(Uncovered, "", clusterSlots-h.Slots, clusterSlots)
	}
}

// quorum examines whether enough nodes are up, and whether they are independent.
func (x *exam) quorum(h engine.Health) {
	n, up := len(h.Parts), 0
	// Nodes on one host fail together. Equal run IDs are one server under two addresses,
	// which would vote twice.
	hosts, runs := make(map[string]int), make(map[string]string)
	for _, part := range h.Parts {
		if reached(part) || withoutProbe(part) {
			up++
		}
		for _, node := range part.Nodes {
			if host, _, err := net.SplitHostPort(node.Addr); err == nil {
				hosts[host]++
			}
			if node.Role == engine.Replica {
				x.find(QuorumReplica, node.Addr, node.Primary)
			}
			if sameRun := runs[node.ID]; node.ID != "" && sameRun != "" {
				x.find(QuorumSame, node.Addr, sameRun)
			}
			runs[node.ID] = node.Addr
		}
	}
	for _, host := range sorted(hosts) {
		if hosts[host] > 1 {
			x.find(QuorumHost, "", hosts[host], host)
		}
	}
	switch {
	case n < 3:
		x.find(QuorumFew, "", n)
	// Four nodes tolerate one failure, as three do.
	case n%2 == 0:
		x.find(QuorumEven, "", n, (n-1)/2)
	}
	// With fewer nodes, QuorumFew is the better finding.
	if need := n/2 + 1; n >= 3 && up < need {
		x.find(QuorumAway, "", up, n, need)
	}
}

// withoutProbe reports whether a part does not support probes. Such a part counts as up.
func withoutProbe(h engine.Health) bool {
	for _, n := range h.Nodes {
		if !errors.Is(n.Err, errors.ErrUnsupported) {
			return false
		}
	}
	return len(h.Parts) == 0
}

// clocks compares the clocks of all servers. When one server replaces another, a clock
// difference shifts the ends of leases, and fences may fall.
func (x *exam) clocks(h engine.Health) {
	var first, last *engine.Node
	for _, n := range servers(h) {
		if first == nil || n.Offset < first.Offset {
			first = n
		}
		if last == nil || n.Offset > last.Offset {
			last = n
		}
	}
	// At most one server was reached, so there is nothing to compare.
	if first == nil || first == last {
		return
	}
	// Each offset is uncertain by half a round trip; both may add up.
	between, unsure := last.Offset-first.Offset, (first.Latency+last.Latency)/2
	if between-unsure > x.lease/100 {
		x.find(ClocksApart, "", between.Round(time.Millisecond), first.Addr, last.Addr, x.lease/100)
	}
}

// servers returns the reachable servers of an engine, and of its parts if their clocks
// must agree. Sentinels are left out: no lease depends on their clocks.
func servers(h engine.Health) (all []*engine.Node) {
	product := productOf(h)
	for i := range h.Nodes {
		// Of etcd no clock is known, and of ZooKeeper only the leader's, which counts.
		if product == engine.Etcd || product == engine.ZooKeeper && h.Nodes[i].Role != engine.Primary {
			continue
		}
		if n := &h.Nodes[i]; n.Role != engine.Watcher && n.Err == nil && n.Latency > 0 {
			all = append(all, n)
		}
	}
	if h.Topology == engine.Quorum || h.Topology == engine.Standby {
		for _, part := range h.Parts {
			all = append(all, servers(part)...)
		}
	}
	return all
}
