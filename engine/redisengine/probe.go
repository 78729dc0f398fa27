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

// probeTimeout is how long a server may take to answer a whole probe. A server that hangs
// must not delay the report about the others.
const probeTimeout = 2 * time.Second

// Probe reports the health of the servers of a URL, as [Open] parses it, even if [Open]
// would fail.
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

// Probe implements [engine.Prober]. An engine made by Open uses separate connections.
func (e *Engine) Probe(ctx context.Context) (engine.Health, error) {
	if err := e.usable(ctx); err != nil {
		return engine.Health{}, err
	}
	discover := e.discover()
	if discover == nil {
		return engine.Health{}, fmt.Errorf("redis: the client does not report its servers: %w", errors.ErrUnsupported)
	}
	s, err := discover(ctx)
	if err != nil {
		return engine.Health{}, e.explain(ctx, "probe", probeScript, err)
	}
	return e.healthOf(ctx, &s), nil
}

// healthOf returns the health of the servers, with the engine's own settings.
func (e *Engine) healthOf(ctx context.Context, s *Topology) engine.Health {
	h := s.health(ctx)
	h.Acks, h.Timeout = string(e.acks), e.timeout
	return h
}

// discover returns the function that finds the servers, or nil.
func (e *Engine) discover() func(context.Context) (Topology, error) {
	if e.address != nil {
		return func(context.Context) (Topology, error) { return e.address.discover(), nil }
	}
	if g, ok := e.client.(Discoverer); ok {
		return g.Topology
	}
	return nil
}

// An endpoint is the address of a server, with its role as others report it.
type endpoint struct {
	addr    string
	role    engine.Role
	primary string
	slots   int
}

// health asks all servers. A server that has not answered when ctx is done has an error.
func (s *Topology) health(ctx context.Context) engine.Health {
	h := engine.Health{Product: engine.Redis, Topology: s.Topology}
	var endpoints []endpoint
	switch s.Topology {
	case engine.Sentinel:
		endpoints = s.sentinelEndpoints(ctx, &h)
	case engine.Cluster:
		endpoints = s.clusterEndpoints(ctx, &h)
	default:
		for _, addr := range s.Servers {
			endpoints = append(endpoints, endpoint{addr: addr})
		}
	}
	// Servers that were found only through others are asked themselves: each knows its
	// own settings.
	nodes := s.probeAll(ctx, endpoints, false)
	// Without sentinels to ask, the primaries name their replicas.
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

// byRole orders primaries before replicas before sentinels.
func byRole(a, b engine.Node) int {
	// A server whose role is unknown comes first.
	rank := map[engine.Role]int{engine.Primary: 1, engine.Replica: 2, engine.Watcher: 3}
	if d := rank[a.Role] - rank[b.Role]; d != 0 {
		return d
	}
	return strings.Compare(a.Addr, b.Addr)
}

// probeAll asks all servers in parallel, each in a goroutine that ends with probeTimeout.
func (s *Topology) probeAll(ctx context.Context, endpoints []endpoint, sentinels bool) []*nodeProbe {
	all := make([]*nodeProbe, len(endpoints))
	var probes sync.WaitGroup
	for i, p := range endpoints {
		probes.Go(func() { all[i] = s.probeNode(ctx, p, sentinels) })
	}
	probes.Wait()
	return all
}

// probeNode asks one server, for up to probeTimeout.
func (s *Topology) probeNode(ctx context.Context, p endpoint, sentinel bool) *nodeProbe {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, fmt.Errorf("no answer within %v", probeTimeout))
	defer cancel()
	c := &nodeProbe{node: engine.Node{Addr: p.addr, Role: p.role, Primary: p.primary, Slots: p.slots}, topology: s}
	conn, err := s.Dial(ctx, p.addr, sentinel)
	if err != nil {
		c.fail(ctx, err)
		return c
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	c.conn = conn
	if sentinel {
		c.probeSentinel(ctx)
	} else {
		c.probeServer(ctx)
	}
	return c
}

// probeReplicas asks the replicas that the primaries report.
func (s *Topology) probeReplicas(ctx context.Context, nodes []*nodeProbe) []*nodeProbe {
	var endpoints []endpoint
	for _, c := range nodes {
		for _, addr := range c.connectedReplicas() {
			endpoints = append(endpoints, endpoint{addr: addr, role: engine.Replica, primary: c.node.Addr})
		}
	}
	return s.probeAll(ctx, endpoints, false)
}
