package redisengine

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/interlock-go/interlock/engine"
)

// sentinelEndpoints asks the sentinels and returns the servers that they know. It adds the
// sentinels to h.
func (s *Topology) sentinelEndpoints(ctx context.Context, h *engine.Health) (endpoints []endpoint) {
	if len(s.Sentinels) == 0 {
		h.Notices = append(h.Notices, "the sentinels were not asked: the client does not report them")
		for _, addr := range s.Servers {
			endpoints = append(endpoints, endpoint{addr: addr})
		}
		return endpoints
	}
	known := slices.Clone(s.Sentinels)
	// Two rounds find all sentinels: each one that answers knows all the others.
	probes := s.probeAll(ctx, sentinelsAt(known), true)
	var more []string
	for _, v := range probes {
		for _, addr := range v.sentinels {
			if !slices.Contains(known, addr) {
				known, more = append(known, addr), append(more, addr)
			}
		}
	}
	probes = append(probes, s.probeAll(ctx, sentinelsAt(more), true)...)
	seen := make(map[string]bool)
	for _, v := range distinctSentinels(probes) {
		h.Nodes = append(h.Nodes, v.node)
		h.Quorum = max(h.Quorum, v.quorum) // sentinels may be configured differently
		endpoints = append(endpoints, v.servers(seen)...)
	}
	return endpoints
}

// distinctSentinels removes sentinels that were found at two addresses, such as localhost
// and 127.0.0.1.
func distinctSentinels(probes []*nodeProbe) (all []*nodeProbe) {
	seen := make(map[string]bool)
	for _, v := range probes {
		if v.node.ID == "" || !seen[v.node.ID] {
			all = append(all, v)
		}
		seen[v.node.ID] = true
	}
	return all
}

// sentinelsAt returns the endpoints of sentinels at these addresses.
func sentinelsAt(addrs []string) []endpoint {
	endpoints := make([]endpoint, len(addrs))
	for i, addr := range addrs {
		endpoints[i] = endpoint{addr: addr, role: engine.Watcher}
	}
	return endpoints
}

// servers returns the servers that a sentinel knows and that are not in seen.
func (p *nodeProbe) servers(seen map[string]bool) (endpoints []endpoint) {
	add := func(e endpoint) {
		if e.addr != "" && !seen[e.addr] {
			seen[e.addr] = true
			endpoints = append(endpoints, e)
		}
	}
	add(endpoint{addr: p.node.Primary, role: engine.Primary})
	for _, addr := range p.replicas {
		add(endpoint{addr: addr, role: engine.Replica, primary: p.node.Primary})
	}
	return endpoints
}

// probeSentinel asks a sentinel for the primary, its replicas and the other sentinels. A
// sentinel stores no locks, so its persistence and eviction do not matter.
func (p *nodeProbe) probeSentinel(ctx context.Context) {
	p.readInfo(ctx)
	p.node.Role, p.node.AppendOnly, p.node.Eviction = engine.Watcher, "", ""
	main := p.topology.Main
	about, err := p.conn.Do(ctx, "SENTINEL", "MASTER", main)
	if err != nil {
		p.fail(ctx, fmt.Errorf("it does not know the primary %q: %w", main, err))
		return
	}
	m := stringMap(about)
	p.node.Primary = net.JoinHostPort(m["ip"], m["port"])
	p.quorum, _ = strconv.Atoi(m["quorum"])
	p.replicas = p.list(ctx, "REPLICAS")
	p.sentinels = p.list(ctx, "SENTINELS")
}

// list asks a sentinel for addresses.
func (p *nodeProbe) list(ctx context.Context, what string) (addrs []string) {
	answer, _ := p.query(ctx, "SENTINEL", what, p.topology.Main)
	items, _ := answer.([]any)
	for _, item := range items {
		if m := stringMap(item); m["ip"] != "" {
			addrs = append(addrs, net.JoinHostPort(m["ip"], m["port"]))
		}
	}
	return addrs
}
