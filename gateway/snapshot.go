package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/interlock-go/interlock/gateway/config"
)

// A snapshot is a configuration at work. A request runs in the snapshot it entered, also
// if a reload replaces that meanwhile.
type snapshot struct {
	config    *config.Config
	rules     []*ruleHandler
	backend   *backend // of requests that match no rule
	settings  *settings
	issuers   map[string]tokenIssuer // by form
	stripped  map[string]bool        // principal headers, which only trusted proxies may set
	resources resources

	mu      sync.Mutex
	active  int           // requests in it
	retired bool          // replaced or closed: no request enters any more
	drained chan struct{} // closed once it is retired and the last request has left
}

// resources are what a snapshot takes over from the one before if it has not changed:
// guards with their state, connections, verification keys. Each map is by reuse key.
type resources struct {
	middlewares map[string]*middleware
	backends    map[string]*backend
	keySets     map[string]*keySet
}

// reuse returns the resource with that key: from this snapshot, or from the one before,
// or else a new one.
func reuse[R any](now, before map[string]R, key string, create func() (R, error)) (R, error) {
	if res, ok := now[key]; ok {
		return res, nil
	}
	res, ok := before[key]
	if !ok {
		var err error
		if res, err = create(); err != nil {
			return res, err
		}
	}
	now[key] = res
	return res, nil
}

// close closes the resources that are not in kept. No request may use them any more.
func (r *resources) close(ctx context.Context, kept resources) error {
	var errs []error
	for key, m := range r.middlewares {
		if kept.middlewares[key] != m && m.close != nil {
			errs = append(errs, m.close(ctx))
		}
	}
	// Requests that still run keep their connections; only idle ones are closed.
	for key, b := range r.backends {
		if kept.backends[key] != b {
			b.transport.CloseIdleConnections()
		}
	}
	for key, k := range r.keySets {
		if kept.keySets[key] != k {
			k.close()
		}
	}
	return errors.Join(errs...)
}

// enter admits a request, unless the snapshot is retired. Requests are counted, and not
// just left to the garbage collector, because the guards of a replaced snapshot must be
// closed, and only after their last request.
func (s *snapshot) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return false
	}
	s.active++
	return true
}

// leave ends what enter began.
func (s *snapshot) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active--; s.active == 0 && s.retired {
		close(s.drained)
	}
}

// retire admits no further request.
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

// setStripped collects the principal headers of the file and its rules.
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
