package redisengine

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/interlock-go/interlock/engine"
)

// watched asks the sentinels, and returns the servers that they know of. The
// sentinels themselves go into h.
func (s *Topology) sentinelEndpoints(ctx context.Context, h *engine.Health) (places []endpoint) {
	if len(s.Sentinels) == 0 {
		h.Notices = append(h.Notices, "the sentinels were not asked: the client does not tell who they are")
		for _, addr := range s.Servers {
			places = append(places, endpoint{addr: addr})
		}
		return places
	}
	known := slices.Clone(s.Sentinels)
	views := s.probeAll(ctx, sentinelsAt(known), true)
	var more []string
	for _, v := range views {
		for _, addr := range v.sentinels {
			if !slices.Contains(known, addr) {
				known, more = append(known, addr), append(more, addr)
			}
		}
	}
	views = append(views, s.probeAll(ctx, sentinelsAt(more), true)...)
	seen := make(map[string]bool)
	for _, v := range distinctSentinels(views) {
		h.Nodes = append(h.Nodes, v.node)
		h.Quorum = max(h.Quorum, v.quorum)
		places = append(places, v.servers(seen)...)
	}
	return places
}

// unlike leaves out sentinels that were met under two addresses, as localhost and
// 127.0.0.1.
func distinctSentinels(views []*nodeProbe) (all []*nodeProbe) {
	seen := make(map[string]bool)
	for _, v := range views {
		if v.node.ID == "" || !seen[v.node.ID] {
			all = append(all, v)
		}
		seen[v.node.ID] = true
	}
	return all
}

func sentinelsAt(addrs []string) []endpoint {
	places := make([]endpoint, len(addrs))
	for i, addr := range addrs {
		places[i] = endpoint{addr: addr, role: engine.Watcher}
	}
	return places
}

// servers are those a sentinel knows and that nobody has named yet.
func (c *nodeProbe) servers(seen map[string]bool) (places []endpoint) {
	add := func(p endpoint) {
		if p.addr != "" && !seen[p.addr] {
			seen[p.addr] = true
			places = append(places, p)
		}
	}
	add(endpoint{addr: c.node.Primary, role: engine.Primary})
	for _, addr := range c.replicas {
		add(endpoint{addr: addr, role: engine.Replica, primary: c.node.Primary})
	}
	return places
}

// askSentinel asks a sentinel about itself, and about what it watches.
func (c *nodeProbe) probeSentinel(ctx context.Context) {
	c.readInfo(ctx)
	c.node.Role, c.node.AppendOnly, c.node.Eviction = engine.Watcher, "", ""
	main := c.topology.Main
	about, err := c.conn.Do(ctx, "SENTINEL", "MASTER", main)
	if err != nil {
		c.fail(ctx, fmt.Errorf("it does not know %q: %w", main, err))
		return
	}
	m := stringMap(about)
	c.node.Primary = net.JoinHostPort(m["ip"], m["port"])
	c.quorum, _ = strconv.Atoi(m["quorum"])
	c.replicas = c.list(ctx, "REPLICAS")
	c.sentinels = c.list(ctx, "SENTINELS")
}

// list asks a sentinel for addresses.
func (c *nodeProbe) list(ctx context.Context, what string) (addrs []string) {
	answer, _ := c.query(ctx, "SENTINEL", what, c.topology.Main)
	items, _ := answer.([]any)
	for _, item := range items {
		if m := stringMap(item); m["ip"] != "" {
			addrs = append(addrs, net.JoinHostPort(m["ip"], m["port"]))
		}
	}
	return addrs
}
