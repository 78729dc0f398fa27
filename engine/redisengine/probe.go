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

// visitTime is how long a server has to answer all that a probe asks.
const visitTime = 2 * time.Second

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
	s := a.survey()
	return newEngine(append(a.options, opts...)...).healthOf(ctx, &s), nil
}

// Probe implements [engine.Prober]. It has connections of its own, if the engine
// is one that Open has made.
func (e *Engine) Probe(ctx context.Context) (engine.Health, error) {
	if err := e.usable(ctx); err != nil {
		return engine.Health{}, err
	}
	g := e.guide()
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
func (e *Engine) guide() func(context.Context) (Topology, error) {
	if e.address != nil {
		return func(context.Context) (Topology, error) { return e.address.survey(), nil }
	}
	if g, ok := e.client.(Discoverer); ok {
		return g.Topology
	}
	return nil
}

// A place is where a server is said to be, and what it is said to do there.
type place struct {
	addr    string
	role    engine.Role
	primary string
	slots   int
}

// health asks everybody. Who has not answered when ctx is done has an error.
func (s *Topology) health(ctx context.Context) engine.Health {
	h := engine.Health{Topology: s.Topology}
	var places []place
	switch s.Topology {
	case engine.Sentinel:
		places = s.watched(ctx, &h)
	case engine.Cluster:
		places = s.clustered(ctx, &h)
	default:
		for _, addr := range s.Servers {
			places = append(places, place{addr: addr})
		}
	}
	nodes := s.askAll(ctx, places, false)
	if s.Topology == engine.Sentinel && len(s.Sentinels) == 0 {
		nodes = append(nodes, s.followers(ctx, nodes)...)
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
	slices.SortStableFunc(h.Nodes, order)
	return h
}

// order puts primaries first, then replicas, then sentinels.
func order(a, b engine.Node) int {
	rank := map[engine.Role]int{engine.Primary: 1, engine.Replica: 2, engine.Watcher: 3}
	if d := rank[a.Role] - rank[b.Role]; d != 0 {
		return d
	}
	return strings.Compare(a.Addr, b.Addr)
}

// askAll visits all places at once.
func (s *Topology) askAll(ctx context.Context, places []place, sentinels bool) []*checkup {
	all := make([]*checkup, len(places))
	var visits sync.WaitGroup
	for i, p := range places {
		visits.Go(func() { all[i] = s.visit(ctx, p, sentinels) })
	}
	visits.Wait()
	return all
}

// visit asks one server, within a bound.
func (s *Topology) visit(ctx context.Context, p place, sentinel bool) *checkup {
	ctx, cancel := context.WithTimeoutCause(ctx, visitTime, fmt.Errorf("no answer within %v", visitTime))
	defer cancel()
	c := &checkup{node: engine.Node{Addr: p.addr, Role: p.role, Primary: p.primary, Slots: p.slots}, survey: s}
	asker, err := s.Visit(ctx, p.addr, sentinel)
	if err != nil {
		c.fail(ctx, err)
		return c
	}
	defer asker.Close() //nolint:errcheck // it was only asked
	c.asker = asker
	if sentinel {
		c.askSentinel(ctx)
	} else {
		c.askServer(ctx)
	}
	return c
}

// followers visits the replicas that primaries have told of.
func (s *Topology) followers(ctx context.Context, nodes []*checkup) []*checkup {
	var places []place
	for _, c := range nodes {
		for _, addr := range c.replicas() {
			places = append(places, place{addr: addr, role: engine.Replica, primary: c.node.Addr})
		}
	}
	return s.askAll(ctx, places, false)
}
