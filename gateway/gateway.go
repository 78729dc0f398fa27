// Package gateway is a reverse proxy that locks, guards and answers requests by rules.
// It protects services in any language, without a change to them.
//
//	cfg, err := config.Parse("interlock.yaml", text)
//	…
//	g, err := gateway.New(cfg, gateway.Options{Client: client})
//	…
//	http.ListenAndServe(cfg.Listen, g)
//
// A request that matches no rule passes through, as with [httputil.ReverseProxy]. For a
// request that matches a rule, the promises of [interlockhttp] hold, with the upstream
// as the handler. The gateway never sends a request twice. It distinguishes three ends:
// the request was not sent, it was answered, or its outcome is unknown.
//
// The gateway refuses a request that an upstream could read as one that matches a rule:
// //orders, /orders/, /ORDERS, /x/%2e%2e/orders, or a GET with POST in an override field
// or in the query. It does not read the _method field of a form: a browser sends such a
// form as POST, so let the rule match POST.
//
// If the rule or the file has a principal, the sender is authenticated before anything
// else. A lock is held, and a claim kept, until the upstream has answered, even if the
// client disconnects. The upstream gets the fence in Interlock-Fence. Interlock-* fields
// of clients are removed; so are X-Forwarded-*, X-Original-* and the like, unless the
// client is a trusted proxy.
//
// # What is not promised
//
// An upstream may close an idle connection just when a request is sent on it. The gateway
// cannot tell that from a crash during the request. Let the upstream's keep-alive be
// longer than config.Upstream.Idle. Trailers of stored responses are dropped. A client
// that reads its response slowly holds its lock meanwhile.
package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/trace"
	"github.com/interlock-go/interlock/observe/logs"
)

// Options are what a gateway needs besides its configuration.
type Options struct {
	// Client uses the engine that stores the locks and records. It is required.
	// [Gateway.Close] does not close it.
	Client *interlock.Client

	// Log gets a line for each refusal and failure, and for every request at the level
	// debug, with component=gateway; see package logs. Default: slog.Default().
	Log *slog.Logger

	// Events, if not nil, is called for each rule that handled a request. It must not
	// block.
	Events func(Event)

	// Sending, if not nil, is called with each request before it is sent to an upstream. It
	// may set fields, such as those of a trace.
	Sending func(*http.Request)

	// Transport, if not nil, sends the requests, and the configured upstreams are not used. It
	// is for another proxy, such as Envoy, that chooses the upstream and sets X-Forwarded-*
	// itself. After an error of Transport, the outcome of a request is unknown, unless
	// guard.Classify finds that the request was not sent.
	Transport http.RoundTripper
}

// A Gateway is a handler whose rules can be replaced while it serves.
type Gateway struct {
	options Options
	name    string // the gateway's name in the Via field
	current atomic.Pointer[snapshot]
	sample  trace.Sample[logKey] // of lines about outages
	bodies  atomic.Int64         // bytes of guarded bodies in memory
	traffic traffic

	mu       sync.Mutex // for Reload and Close
	closed   bool
	cleanup  sync.WaitGroup // goroutines that clean up replaced snapshots
	draining chan struct{}  // closed once the last replaced snapshot is cleaned up; nil before the first reload
}

// New returns a gateway with a configuration.
func New(cfg *config.Config, o Options) (*Gateway, error) {
	switch {
	case cfg == nil:
		return nil, errors.New("gateway: the configuration is nil; read one with config.Load")
	case o.Client == nil:
		return nil, errors.New("gateway: Options.Client is nil; make one with interlock.New")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Log = logs.Component(o.Log, logs.Gateway)
	s, err := newSnapshot(cfg, o, nil)
	if err != nil {
		return nil, err
	}
	g := &Gateway{options: o, name: newPseudonym(), sample: trace.Sample[logKey]{PerSecond: 1}}
	g.traffic.expect(s)
	g.current.Store(s)
	return g, nil
}

// ServeHTTP implements [http.Handler].
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := g.current.Load()
	for !s.enter() {
		next := g.current.Load()
		if next == s { // closed, not replaced
			interlockhttp.NewProblem(interlockhttp.Closing).ServeHTTP(w, r)
			return
		}
		s = next
	}
	defer s.leave()
	g.traffic.inFlight.Add(1)
	defer g.traffic.inFlight.Add(-1)
	x := &exchange{
		gateway: g, snapshot: s, request: r, response: recorder{ResponseWriter: w},
		began: time.Now(), trusted: isTrusted(s.config.Trusted, r.RemoteAddr),
	}
	r = x.countBody(&x.response, r)
	defer x.body.release()
	if x.serve(&x.response, r).aborted {
		panic(http.ErrAbortHandler) // net/http closes the connection
	}
}

// Config returns the configuration in use.
func (g *Gateway) Config() *config.Config { return g.current.Load().config }

// Reload replaces the configuration, from the next request on. If it fails, nothing
// changes. Running requests finish under the rules they began with. Guards of unchanged
// rules keep their state.
func (g *Gateway) Reload(cfg *config.Config) error {
	if cfg == nil {
		return errors.New("gateway: reload: the configuration is nil")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errors.New("gateway: reload: the gateway is closed")
	}
	// Without the mutex, two reloads at once would replace the same snapshot, and the
	// successor that the first one stored would never be retired.
	before := g.current.Load()
	s, err := newSnapshot(cfg, g.options, before)
	if err != nil {
		return err
	}
	for _, f := range forgotten(before, s) {
		g.options.Log.Warn("records from before the reload no longer match, so that retries of earlier requests may run again", "name", f.rule, "changed", f.changed)
	}
	g.traffic.expect(s)
	g.current.Store(s)
	before.retire()
	older, done := g.draining, make(chan struct{})
	g.draining = done
	g.cleanup.Go(func() { // Close waits for this goroutine
		defer close(done)
		<-before.drained
		if older != nil {
			<-older // requests in older snapshots may use resources that the replaced snapshot took over
		}
		if err := before.resources.close(context.Background(), s.resources); err != nil {
			g.options.Log.Warn("closing the guards of removed rules failed", "err", err)
		}
	})
	return nil
}

// Close refuses new requests, and waits until the last running one has ended or ctx is
// done. Call it after the server's Shutdown and before the client's Close.
func (g *Gateway) Close(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	s := g.current.Load()
	s.retire()
	select {
	case <-s.drained:
	case <-ctx.Done():
	}
	err := s.resources.close(ctx, resources{})
	done := make(chan struct{})
	go func() { // ends when the last replaced snapshot is cleaned up
		g.cleanup.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		err = errors.Join(err, context.Cause(ctx))
	}
	return err
}
