package prom

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/interlock-go/interlock/engine"
	buckets "github.com/interlock-go/interlock/internal/histogram"
)

// maxNodes bounds the servers with series of their own. Addresses change in a long life.
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
	errors [len(errorWords)]atomic.Uint64
}

// errorWords are the values of the label error.
var errorWords = [...]string{"unavailable", "timeout", "overloaded", "full", "refused", "other"}

// called counts a request.
func (s *servers) called(c engine.ServerCall) {
	r := s.of(call{c.Operation, c.Node})
	r.took.Observe(c.Took)
	answered := true
	if c.Err != nil {
		i := errorIndex(c.Err)
		r.errors[i].Add(1)
		answered = errorWords[i] == "refused"
	}
	if r.up.Load() != answered {
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

// probed notes which servers answered a probe, of those that had requests.
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
	}
	return s.nodes[name]
}

// collect writes the series. probed are the servers that the last probe found.
func (s *servers) collect(o output, probed []engine.Node) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for c, r := range s.calls {
		o.histogram(engineRequest, r.took.Snapshot(), c.operation, c.node)
		for i, word := range errorWords {
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

// errorIndex returns the index of the word for an error.
func errorIndex(err error) int {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return 1
	case errors.Is(err, engine.ErrOverloaded):
		return 2
	case errors.Is(err, engine.ErrFull):
		return 3
	case errors.Is(err, engine.ErrKind):
		return 4
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, engine.ErrUnknown):
		return 0
	}
	return len(errorWords) - 1
}
