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
func (s *Topology) watched(ctx context.Context, h *engine.Health) (places []place) {
	if len(s.Sentinels) == 0 {
		h.Notices = append(h.Notices, "the sentinels were not asked: the client does not tell who they are")
		for _, addr := range s.Servers {
			places = append(places, place{addr: addr})
		}
		return places
	}
	known := slices.Clone(s.Sentinels)
	views := s.askAll(ctx, sentinelsAt(known), true)
	var more []string
	for _, v := range views {
		for _, addr := range v.others {
			if !slices.Contains(known, addr) {
				known, more = append(known, addr), append(more, addr)
			}
		}
	}
	views = append(views, s.askAll(ctx, sentinelsAt(more), true)...)
	seen := make(map[string]bool)
	for _, v := range unlike(views) {
		h.Nodes = append(h.Nodes, v.node)
		h.Quorum = max(h.Quorum, v.quorum)
		places = append(places, v.servers(seen)...)
	}
	return places
}

// unlike leaves out sentinels that were met under two addresses, as localhost and
// 127.0.0.1.
func unlike(views []*checkup) (all []*checkup) {
	seen := make(map[string]bool)
	for _, v := range views {
		if v.node.ID == "" || !seen[v.node.ID] {
			all = append(all, v)
		}
		seen[v.node.ID] = true
	}
	return all
}

func sentinelsAt(addrs []string) []place {
	places := make([]place, len(addrs))
	for i, addr := range addrs {
		places[i] = place{addr: addr, role: engine.Watcher}
	}
	return places
}

// servers are those a sentinel knows and that nobody has named yet.
func (c *checkup) servers(seen map[string]bool) (places []place) {
	add := func(p place) {
		if p.addr != "" && !seen[p.addr] {
			seen[p.addr] = true
			places = append(places, p)
		}
	}
	add(place{addr: c.node.Primary, role: engine.Primary})
	for _, addr := range c.servants {
		add(place{addr: addr, role: engine.Replica, primary: c.node.Primary})
	}
	return places
}

// askSentinel asks a sentinel about itself, and about what it watches.
func (c *checkup) askSentinel(ctx context.Context) {
	c.askInfo(ctx)
	c.node.Role, c.node.AppendOnly, c.node.Eviction = engine.Watcher, "", ""
	main := c.survey.Main
	about, err := c.asker.Ask(ctx, "SENTINEL", "MASTER", main)
	if err != nil {
		c.fail(ctx, fmt.Errorf("it does not know %q: %w", main, err))
		return
	}
	m := pairs(about)
	c.node.Primary = net.JoinHostPort(m["ip"], m["port"])
	c.quorum, _ = strconv.Atoi(m["quorum"])
	c.servants = c.list(ctx, "REPLICAS")
	c.others = c.list(ctx, "SENTINELS")
}

// list asks a sentinel for addresses.
func (c *checkup) list(ctx context.Context, what string) (addrs []string) {
	answer, _ := c.ask(ctx, "SENTINEL", what, c.survey.Main)
	items, _ := answer.([]any)
	for _, item := range items {
		if m := pairs(item); m["ip"] != "" {
			addrs = append(addrs, net.JoinHostPort(m["ip"], m["port"]))
		}
	}
	return addrs
}
