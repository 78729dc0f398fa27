package redisengine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

var _ engine.Prober = (*Engine)(nil)

// probeTimeout is how long a server has to answer all that a probe asks.
const probeTimeout = 2 * time.Second

// Probe tells how the servers are that a URL names, as [Open] reads it, also if
// they are in no state to be opened.
func Probe(ctx context.Context, url string, opts ...Option) (engine.Health, error) {
	a, err := parse(url)
	if err != nil {
		return engine.Health{}, err
	}
	if err := ctx.Err(); err != nil {
		return engine.Health{}, err
	}
	s := a.discover()
	return newEngine(append(a.options, opts...)...).healthOf(ctx, &s), nil
}

// Probe implements [engine.Prober]. It has connections of its own, if the engine
// is one that Open has made.
func (e *Engine) Probe(ctx context.Context) (engine.Health, error) {
	if err := e.usable(ctx); err != nil {
		return engine.Health{}, err
	}
	g := e.discover()
	if g == nil {
		return engine.Health{}, fmt.Errorf("redis: the client does not show its servers: %w", errors.ErrUnsupported)
	}
	s, err := g(ctx)
	if err != nil {
		return engine.Health{}, e.explain(ctx, "probe", probeScript, err)
	}
	return e.healthOf(ctx, &s), nil
}

// healthOf is that of the servers, and what the engine itself knows.
func (e *Engine) healthOf(ctx context.Context, s *Topology) engine.Health {
	h := s.health(ctx)
	h.Acks, h.Timeout = string(e.acks), e.timeout
	return h
}

// guide returns what tells where the servers are, or nil.
func (e *Engine) discover() func(context.Context) (Topology, error) {
	if e.address != nil {
		return func(context.Context) (Topology, error) { return e.address.discover(), nil }
	}
	if g, ok := e.client.(Discoverer); ok {
		return g.Topology
	}
	return nil
}

// A place is where a server is said to be, and what it is said to do there.
type endpoint struct {
	addr    string
	role    engine.Role
	primary string
	slots   int
}

// health asks everybody. Who has not answered when ctx is done has an error.
func (s *Topology) health(ctx context.Context) engine.Health {
	h := engine.Health{Topology: s.Topology}
	var places []endpoint
	switch s.Topology {
	case engine.Sentinel:
		places = s.sentinelEndpoints(ctx, &h)
	case engine.Cluster:
		places = s.clusterEndpoints(ctx, &h)
	default:
		for _, addr := range s.Servers {
			places = append(places, endpoint{addr: addr})
		}
	}
	nodes := s.probeAll(ctx, places, false)
	if s.Topology == engine.Sentinel && len(s.Sentinels) == 0 {
		nodes = append(nodes, s.probeReplicas(ctx, nodes)...)
	}
	unasked := 0
	for _, v := range nodes {
		if errors.Is(v.node.Err, errors.ErrUnsupported) {
			unasked++
			continue
		}
		h.Nodes = append(h.Nodes, v.node)
	}
	if unasked > 0 {
		h.Notices = append(h.Notices, fmt.Sprintf("%d servers were not asked: the client has no connection to them", unasked))
	}
	slices.SortStableFunc(h.Nodes, byRole)
	return h
}

// order puts primaries first, then replicas, then sentinels.
func byRole(a, b engine.Node) int {
	rank := map[engine.Role]int{engine.Primary: 1, engine.Replica: 2, engine.Watcher: 3}
	if d := rank[a.Role] - rank[b.Role]; d != 0 {
		return d
	}
	return strings.Compare(a.Addr, b.Addr)
}

// askAll visits all places at once.
func (s *Topology) probeAll(ctx context.Context, places []endpoint, sentinels bool) []*nodeProbe {
	all := make([]*nodeProbe, len(places))
	var visits sync.WaitGroup
	for i, p := range places {
		visits.Go(func() { all[i] = s.probeNode(ctx, p, sentinels) })
	}
	visits.Wait()
	return all
}

// visit asks one server, within a bound.
func (s *Topology) probeNode(ctx context.Context, p endpoint, sentinel bool) *nodeProbe {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, fmt.Errorf("no answer within %v", probeTimeout))
	defer cancel()
	c := &nodeProbe{node: engine.Node{Addr: p.addr, Role: p.role, Primary: p.primary, Slots: p.slots}, topology: s}
	asker, err := s.Dial(ctx, p.addr, sentinel)
	if err != nil {
		c.fail(ctx, err)
		return c
	}
	defer asker.Close() //nolint:errcheck // it was only asked
	c.conn = asker
	if sentinel {
		c.probeSentinel(ctx)
	} else {
		c.probeServer(ctx)
	}
	return c
}

// followers visits the replicas that primaries have told of.
func (s *Topology) probeReplicas(ctx context.Context, nodes []*nodeProbe) []*nodeProbe {
	var places []endpoint
	for _, c := range nodes {
		for _, addr := range c.connectedReplicas() {
			places = append(places, endpoint{addr: addr, role: engine.Replica, primary: c.node.Addr})
		}
	}
	return s.probeAll(ctx, places, false)
}
