// Package gateway protects services in any language: a reverse proxy that locks,
// guards and answers by rules, with no change to what is behind it.
//
//	cfg, err := config.Parse("interlock.yaml", text)
//	…
//	g, err := gateway.New(cfg, gateway.Options{Client: client})
//	…
//	http.ListenAndServe(cfg.Listen, g)
//
// A request that no rule matches passes as through [httputil.ReverseProxy]. One
// that a rule matches gets what [interlockhttp] promises, with the service behind
// as its handler: it is never sent twice, and what became of it is told apart: it
// was not sent, it was answered, or nobody knows.
//
// A request that could be read as one that a rule matches, and is not plainly it, is
// refused: //orders, /orders/, /ORDERS, /x/%2e%2e/orders, and POST in another header or
// in the query. A method in the body, as some services take it from a form, is not seen:
// match what is sent, which is POST.
// Who sent a request is found out before anything else, if the rule, or the file, has
// a principal. A lock is held, and a claim kept, until the service has answered,
// although the client may have left. The service gets the fence in Interlock-Fence;
// what clients say in Interlock-* fields is removed, and what they say in
// X-Forwarded-*, X-Original-* and the like unless they are trusted proxies.
//
// It is not promised that a service which closes a connection at the moment when it is
// used again is told apart from one that died over the request: let its keep-alive be
// longer than config.Upstream.Idle. Trailers of answers that are kept are dropped. A
// client that reads slowly what a locked request answers holds the lock meanwhile.
package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/interlockhttp"
)

// Options are what a gateway needs besides its configuration.
type Options struct {
	// Client is whose engine the locks and records are in. It is required, and
	// not closed.
	Client *interlock.Client

	// Log gets what operators should know. The default is slog.Default.
	Log *slog.Logger

	// Events gets what happens, one call each, if it is not nil. It must not block.
	Events func(Event)
}

// An Event is something that happened to a request, for logs and pages. Keys in
// it are as they came: show them escaped.
type Event struct {
	Rule    string // its name
	Verb    string // lock, once or submit
	Key     string
	Outcome string // ran, replayed, refused, waited, unguarded, shadowed, unknown, failed
	Code    string // of the problem, if it was refused
	Method  string
	Path    string // the beginning, if it is long
	Status  int
	Took    float64 // seconds
}

// A Gateway is a handler that can be given other rules while it works.
type Gateway struct {
	options Options
	name    string // in Via
	plan    atomic.Pointer[plan]
	alike   sample // what was logged lately

	mu      sync.Mutex // for who changes the plan
	closed  bool
	cleanup sync.WaitGroup // of plans that were replaced
	ending  chan struct{}  // closed when the latest of them is over; nil if there is none
}

// New returns a gateway that does what cfg says.
func New(cfg *config.Config, o Options) (*Gateway, error) {
	switch {
	case cfg == nil:
		return nil, errors.New("gateway: there is no configuration: read one with config.Load")
	case o.Client == nil:
		return nil, errors.New("gateway: there is no client: use interlock.New with an engine")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p, err := newPlan(cfg, o.Client, o.Log, nil)
	if err != nil {
		return nil, err
	}
	g := &Gateway{options: o, name: newPseudonym()}
	g.plan.Store(p)
	return g, nil
}

// ServeHTTP implements [http.Handler].
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := g.plan.Load()
	for !p.enter() {
		next := g.plan.Load()
		if next == p { // it was closed, and not replaced
			interlockhttp.NewProblem(interlockhttp.Closing).ServeHTTP(w, r)
			return
		}
		p = next
	}
	defer p.leave()
	v := &visit{gateway: g, plan: p, began: time.Now(), trusted: trusts(p.config.Trusted, r.RemoteAddr)}
	v.answer = recorder{ResponseWriter: w, request: r}
	v.serve(&v.answer, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)))
}

// serve answers the request.
func (v *visit) serve(w http.ResponseWriter, r *http.Request) {
	if h := v.plan.tokensFor(r); h != nil {
		h.ServeHTTP(w, r)
		return
	}
	var err error
	switch v.chain, v.segments, err = v.plan.find(r); {
	case err != nil:
		v.turnAway(w, r, ambiguous("%w", err))
	case r.Method == http.MethodConnect || r.URL.Path == "*" || !strings.HasPrefix(r.URL.Path, "/"):
		v.turnAway(w, r, ambiguous("%s %q is for a proxy of another kind", r.Method, r.RequestURI))
	case v.gateway.loops(r.Header):
		v.turnAway(w, r, interlockhttp.NewProblem(interlockhttp.LoopDetected))
	case len(v.chain) == 1:
		v.chain[0].handler.ServeHTTP(w, r)
	default:
		v.handler().ServeHTTP(w, r)
		if len(v.chain) == 0 {
			v.log("unmatched")
		}
	}
}

// turnAway refuses a request that no rule has looked at.
func (v *visit) turnAway(w http.ResponseWriter, r *http.Request, p *interlockhttp.Problem) {
	v.refuse(w, r, p)
	v.log("refused")
}

// handler returns what answers the request: all rules, with the service behind them.
// Of several rules that have one of their own, the first counts.
func (v *visit) handler() http.Handler {
	to := v.plan.backend
	for _, l := range slices.Backward(v.chain) {
		if l.Upstream != nil {
			to = l.backend
		}
	}
	var h http.Handler = to
	for _, l := range slices.Backward(v.chain) {
		h = l.guard(h)
	}
	return h
}

// Config returns what it does now.
func (g *Gateway) Config() *config.Config { return g.plan.Load().config }

// Reload makes it do what cfg says from the next request on. If it cannot,
// nothing changes. What is at work ends by the rules it began with. Rules that have
// not changed keep what they know.
func (g *Gateway) Reload(cfg *config.Config) error {
	if cfg == nil {
		return errors.New("gateway: there is no configuration to reload")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errors.New("gateway: it is closed")
	}
	before := g.plan.Load()
	p, err := newPlan(cfg, g.options.Client, g.options.Log, before)
	if err != nil {
		return err
	}
	g.plan.Store(p)
	before.retire()
	older, over := g.ending, make(chan struct{})
	g.ending = over
	g.cleanup.Go(func() { // Close waits for it
		defer close(over)
		<-before.idle
		if older != nil {
			<-older // who is in an older plan may use what this one took over from it
		}
		if err := before.parts.end(context.Background(), p.parts); err != nil {
			g.options.Log.Warn("the guards of rules that are gone were not closed well", "err", err)
		}
	})
	return nil
}

// Close refuses new requests and waits until nobody is at work, or until ctx is done.
// Call it after the server's Shutdown, and before the client's Close.
func (g *Gateway) Close(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	p := g.plan.Load()
	p.retire()
	select {
	case <-p.idle:
	case <-ctx.Done():
	}
	err := p.parts.end(ctx, parts{})
	done := make(chan struct{})
	go func() { // ends when the last plan that was replaced does
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
