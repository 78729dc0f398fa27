package redisengine

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/interlock-go/interlock/engine"
)

// clustered asks some nodes for the others, and for how much of the cluster is
// served. The gloomiest of them is believed.
func (s *Topology) clusterEndpoints(ctx context.Context, h *engine.Health) []endpoint {
	var mu sync.Mutex
	var asking sync.WaitGroup
	found, told := make(map[string]endpoint), false
	for _, addr := range s.Servers {
		asking.Go(func() {
			places, served, ok := s.readCluster(ctx, addr)
			mu.Lock()
			defer mu.Unlock()
			if !ok {
				return
			}
			if !told || served < h.Slots {
				h.Slots, told = served, true
			}
			for _, p := range places {
				if old, known := found[p.addr]; !known || old.role == "" {
					found[p.addr] = p
				}
			}
		})
	}
	asking.Wait()
	if !told {
		for _, addr := range s.Servers {
			found[addr] = endpoint{addr: addr}
		}
	}
	places := make([]endpoint, 0, len(found))
	for _, p := range found {
		places = append(places, p)
	}
	return places
}

// askCluster asks one node who is in the cluster, and how many slots are served.
func (s *Topology) readCluster(ctx context.Context, addr string) (places []endpoint, served int, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	asker, err := s.Dial(ctx, addr, false)
	if err != nil {
		return nil, 0, false
	}
	defer asker.Close() //nolint:errcheck // it was only asked
	nodes, err := asker.Do(ctx, "CLUSTER", "NODES")
	if err != nil {
		return nil, 0, false
	}
	info, err := asker.Do(ctx, "CLUSTER", "INFO")
	if err != nil {
		return nil, 0, false
	}
	list, _ := nodes.(string)
	about, _ := info.(string)
	served, _ = strconv.Atoi(field("\n"+about, "cluster_slots_ok"))
	return clusterNodes(list, addr), served, true
}

// clusterNodes reads CLUSTER NODES: id, address, flags, the primary's id, …, and
// from the ninth field on the slots. A node that does not know its own host is at
// the address where it was asked.
func clusterNodes(list, asked string) (places []endpoint) {
	addrs, primaries := make(map[string]string), []string(nil)
	for line := range strings.Lines(list) {
		f := strings.Fields(line)
		if len(f) < 8 || strings.Contains(f[2], "noaddr") || strings.Contains(f[2], "handshake") {
			continue
		}
		addr, _, _ := strings.Cut(f[1], "@")
		if strings.Contains(f[2], "myself") || strings.HasPrefix(addr, ":") {
			addr = asked
		}
		p := endpoint{addr: addr, role: engine.Primary, slots: countSlots(f[8:])}
		if strings.Contains(f[2], "slave") {
			p.role = engine.Replica
		}
		addrs[f[0]] = addr
		places, primaries = append(places, p), append(primaries, f[3])
	}
	for i, id := range primaries {
		places[i].primary = addrs[id]
	}
	return places
}

// countSlots counts those in 0-5460 7000 [93-<-id], of which the last is on its
// way.
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
