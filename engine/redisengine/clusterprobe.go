package redisengine

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/interlock-go/interlock/engine"
)

// clusterEndpoints asks the known nodes for all nodes, and for the number of slots that are
// served. It reports the lowest number.
func (s *Topology) clusterEndpoints(ctx context.Context, h *engine.Health) []endpoint {
	var mu sync.Mutex // guards h, found and answered
	var asking sync.WaitGroup
	found, answered := make(map[string]endpoint), false
	for _, addr := range s.Servers {
		asking.Go(func() {
			endpoints, served, ok := s.readCluster(ctx, addr)
			mu.Lock()
			defer mu.Unlock()
			if !ok {
				return
			}
			if !answered || served < h.Slots {
				h.Slots, answered = served, true
			}
			for _, p := range endpoints {
				// Nodes may disagree during a failover; the first answer about a node
				// counts.
				if old, known := found[p.addr]; !known || old.role == "" {
					found[p.addr] = p
				}
			}
		})
	}
	asking.Wait()
	// Without an answer the known servers are probed, so that the report has their errors.
	if !answered {
		for _, addr := range s.Servers {
			found[addr] = endpoint{addr: addr}
		}
	}
	endpoints := make([]endpoint, 0, len(found))
	for _, p := range found {
		endpoints = append(endpoints, p)
	}
	return endpoints
}

// readCluster asks one node.
func (s *Topology) readCluster(ctx context.Context, addr string) (endpoints []endpoint, served int, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := s.Dial(ctx, addr, false)
	if err != nil {
		return nil, 0, false
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	nodes, err := conn.Do(ctx, "CLUSTER", "NODES")
	if err != nil {
		return nil, 0, false
	}
	info, err := conn.Do(ctx, "CLUSTER", "INFO")
	if err != nil {
		return nil, 0, false
	}
	list, _ := nodes.(string)
	text, _ := info.(string)
	served, _ = strconv.Atoi(field("\n"+text, "cluster_slots_ok"))
	return clusterNodes(list, addr), served, true
}

// clusterNodes parses CLUSTER NODES: id, address, flags, the primary's id, …, and from the
// ninth field on the slots. A node without a host is the one that answered, at from.
func clusterNodes(list, from string) (endpoints []endpoint) {
	addrs, primaries := make(map[string]string), []string(nil)
	for line := range strings.Lines(list) {
		f := strings.Fields(line)
		if len(f) < 8 || strings.Contains(f[2], "noaddr") || strings.Contains(f[2], "handshake") {
			continue
		}
		addr, _, _ := strings.Cut(f[1], "@")
		if strings.Contains(f[2], "myself") || strings.HasPrefix(addr, ":") {
			addr = from
		}
		p := endpoint{addr: addr, role: engine.Primary, slots: countSlots(f[8:])}
		if strings.Contains(f[2], "slave") {
			p.role = engine.Replica
		}
		addrs[f[0]] = addr
		endpoints, primaries = append(endpoints, p), append(primaries, f[3])
	}
	for i, id := range primaries {
		endpoints[i].primary = addrs[id]
	}
	return endpoints
}

// countSlots counts the slots in text such as 0-5460 7000 [93-<-id]. The last form is a slot
// being migrated, which does not count.
func countSlots(spans []string) (n int) {
	for _, span := range spans {
		from, to, ranged := strings.Cut(span, "-")
		if !ranged {
			to = from
		}
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(to)
		if errA == nil && errB == nil {
			n += b - a + 1
		}
	}
	return n
}
