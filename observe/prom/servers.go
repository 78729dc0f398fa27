package prom

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/interlock-go/interlock/engine"
	buckets "github.com/interlock-go/interlock/internal/histogram"
)

// maxNodes bounds the servers with series of their own. In a program that runs for long,
// servers get new addresses.
const maxNodes = 100

const otherNode = "other"

// servers count the requests to the servers of an engine.
type servers struct {
	mu    sync.RWMutex
	calls map[call]*requests
	nodes map[string]*atomic.Bool // whether the last request was answered
}

type call struct{ operation, node string }

type requests struct {
	up     *atomic.Bool // of its server
	took   buckets.Histogram
	errors [len(engine.Problems)]atomic.Uint64
}

// called counts a request.
func (s *servers) called(c engine.ServerCall) {
	r := s.of(call{c.Operation, c.Node})
	r.took.Observe(c.Took)
	problem := c.Problem()
	if i := slices.Index(engine.Problems[:], problem); i >= 0 {
		r.errors[i].Add(1)
	} else if c.Err != nil {
		return // the caller gave up, which says nothing about the server
	}
	if answered := problem != "unavailable" && problem != "timeout"; r.up.Load() != answered {
		r.up.Store(answered)
	}
}

// of returns the series of a call.
func (s *servers) of(c call) *requests {
	s.mu.RLock()
	r := s.calls[c]
	s.mu.RUnlock()
	if r != nil {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	up := s.node(c.node)
	if s.nodes[c.node] == nil {
		c.node = otherNode
	}
	if s.calls[c] == nil {
		s.calls[c] = &requests{up: up}
	}
	return s.calls[c]
}

// probed records whether servers answered a probe. It skips servers that had no requests.
func (s *servers) probed(nodes []engine.Node) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range nodes {
		if up := s.nodes[nodes[i].Addr]; up != nil {
			up.Store(answers(&nodes[i]))
		}
	}
}

// node returns whether a server is up. The caller holds the mutex.
func (s *servers) node(name string) *atomic.Bool {
	if s.nodes[name] == nil && len(s.nodes) >= maxNodes {
		name = otherNode
	}
	if s.nodes[name] == nil {
		s.nodes[name] = new(atomic.Bool)
		s.nodes[name].Store(true) // assumed, because a canceled first request says nothing
	}
	return s.nodes[name]
}

// collect writes the series. probed are the servers that the last probe found.
func (s *servers) collect(o output, probed []engine.Node) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for c, r := range s.calls {
		o.histogram(engineRequest, r.took.Snapshot(), c.operation, c.node)
		for i, word := range engine.Problems {
			o.counter(engineErrors, r.errors[i].Load(), c.operation, c.node, word)
		}
	}
	for node, up := range s.nodes {
		o.flag(engineUp, up.Load(), node)
	}
	for i := range probed {
		n := &probed[i]
		if s.nodes[n.Addr] == nil { // it gets no requests, such as a replica
			o.flag(engineUp, answers(n), n.Addr)
		}
		if answers(n) {
			o.seconds(engineSkew, n.Offset, n.Addr)
		}
	}
}
