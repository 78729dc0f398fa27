package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/interlock-go/interlock/gateway/config"
)

// A snapshot is a configuration in use, with its handlers and connections. A request stays
// in the snapshot that it entered, even if a reload replaces the snapshot meanwhile.
type snapshot struct {
	config    *config.Config
	rules     []*ruleHandler
	backend   *backend // for requests that match no rule
	settings  *settings
	issuers   map[string]tokenIssuer // the issuers of tokens, by form
	stripped  map[string]bool        // principal headers, which only trusted proxies may set
	resources resources

	// mu guards active and retired. It also makes sure that drained is closed only once,
	// by retire or by the last leave.
	mu      sync.Mutex
	active  int           // requests in the snapshot
	retired bool          // replaced or closed: no further request enters
	drained chan struct{} // closed when the snapshot is retired and the last request has left
}

// resources outlive a snapshot if their configuration does not change: guards with their
// state, connections, verification keys. The next snapshot finds them by reuse key.
type resources struct {
	middlewares map[string]*middleware
	backends    map[string]*backend
	keySets     map[string]*keySet
}

// reuse returns the resource with that key from the current snapshot or from the previous
// one. If neither has it, reuse creates it.
func reuse[R any](current, previous map[string]R, key string, create func() (R, error)) (R, error) {
	if res, ok := current[key]; ok {
		return res, nil
	}
	res, ok := previous[key]
	if !ok {
		var err error
		if res, err = create(); err != nil {
			return res, err
		}
	}
	current[key] = res
	return res, nil
}

// close closes the resources that are not in kept. No request uses them any more, unless
// Gateway.Close has timed out.
func (r *resources) close(ctx context.Context, kept resources) error {
	var errs []error
	for key, m := range r.middlewares {
		if kept.middlewares[key] != m && m.close != nil {
			errs = append(errs, m.close(ctx))
		}
	}
	// Only idle connections are closed: a request that still runs keeps its connection.
	for key, b := range r.backends {
		if kept.backends[key] != b {
			(&http.Client{Transport: b.transport}).CloseIdleConnections() // if the transport has any
		}
	}
	for key, k := range r.keySets {
		if kept.keySets[key] != k {
			k.close()
		}
	}
	return errors.Join(errs...)
}

// enter admits a request, unless the snapshot is retired. It counts requests, because a
// replaced snapshot closes its guards when the last request has left.
func (s *snapshot) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return false
	}
	s.active++
	return true
}

// leave ends a request that enter has admitted.
func (s *snapshot) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active--; s.active == 0 && s.retired {
		close(s.drained)
	}
}

// retire makes the snapshot refuse further requests.
func (s *snapshot) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return
	}
	if s.retired = true; s.active == 0 {
		close(s.drained)
	}
}

// setStripped collects the principal headers of the configuration and its rules.
func (s *snapshot) setStripped() {
	s.stripped = make(map[string]bool)
	add := func(p config.Principal) {
		if p.Header != "" {
			s.stripped[http.CanonicalHeaderKey(p.Header)] = true
		}
	}
	add(s.config.Principal)
	for i := range s.config.Rules {
		add(s.config.Rules[i].Principal)
	}
}
