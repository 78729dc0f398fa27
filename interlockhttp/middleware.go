package interlockhttp

import (
	"context"
	"errors"
	"net/http"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// A Middleware guards the handlers that it wraps. It is safe for concurrent use;
// make one for each kind of operation.
type Middleware struct {
	settings *settings
	policy   guard.Policy
	guard    *guard.Guard[*Response]
	expires  []string // for how long answers are kept
	latency  latencyAverage
}

// Once returns a middleware that answers a request which comes again, with the same
// key, with the answer to the first. The policy's After must be [guard.Keep], which
// is the default.
//
// An answer is kept if its status is 2xx or 3xx. One that is 4xx says that nothing
// was done: the next request runs; unless the policy's OnError is [guard.Keep], and
// the answer is not only about the sender, as 401, 403 and 429 are. One that is 5xx
// leaves open what was done, as a panic does: the policy's OnUnknown says what
// happens. A handler that knows better says so with [Settle].
//
// The handler does not notice if its client goes away. It has read the body before,
// and its context ends when the claim is lost, or after the policy's MaxHold. One that
// runs unguarded is as it would be without a middleware.
func Once(client *interlock.Client, p guard.Policy, opts ...Option) (*Middleware, error) {
	s := newSettings(opts)
	if p.After != "" && p.After != guard.Keep {
		s.reject("Once keeps answers: leave out After %q, or use Submit", p.After)
	}
	if s.source == nil {
		source := Header()
		s.source = &source
	}
	return newMiddleware(client, p, s)
}

// Submit returns a middleware that refuses a request which comes again: while the
// first one runs and, if the policy's After is [guard.Window], until the window is
// over (L9). Unless [Key] says otherwise, two requests are the same if they say the
// same.
func Submit(client *interlock.Client, p guard.Policy, opts ...Option) (*Middleware, error) {
	s := newSettings(opts)
	switch p.After {
	case "", guard.Keep:
		s.reject("Submit keeps no answers: give the policy After %q or %q, or use Once", guard.Free, guard.Window)
	}
	if s.source == nil {
		source := Content()
		s.source = &source
	}
	if s.tokens != nil {
		s.reject("WithTokens: tokens remember the answer, so they need Once")
	}
	return newMiddleware(client, p, s)
}

// Must returns m, or panics. It is for middleware that is made when a program starts.
func Must(m *Middleware, err error) *Middleware {
	if err != nil {
		panic(err)
	}
	return m
}

func newMiddleware(client *interlock.Client, p guard.Policy, s *settings) (*Middleware, error) {
	if s.user == nil && p.Scope != guard.Global {
		s.reject("whose requests are they? Pass User(…), or give the policy the scope %q if a key is the same whoever sends it", guard.Global)
	}
	if s.tokens != nil && s.user == nil {
		s.reject("WithTokens: a token is somebody's: pass User(…)")
	}
	if s.lockOptions != nil {
		s.reject("Locking: it is for Lock")
	}
	if p.Scope == guard.Global && s.minKey == 0 && s.tokens == nil {
		s.minClientKey = minSharedKey
	}
	s.checkSource(*s.source)
	if s.methods == nil {
		s.methods = []string{http.MethodPost, http.MethodPatch}
	}
	if s.shadow != nil {
		s.tee = true
		if p.OnDuplicate == guard.Wait {
			p.OnDuplicate = guard.Replay // nobody waits for what is not enforced
		}
	}
	if err := errors.Join(s.err(), p.Check()); err != nil {
		return nil, err
	}
	m := &Middleware{settings: s}
	opts := []guard.Option{guard.WithCodec(wire{}), guard.MaxResult(s.maxResponse + maxHeaderBytes), guard.Detached(), guard.WithTrace(m.trace())}
	g, err := guard.New[*Response](client, p, append(opts, s.guardOptions...)...)
	if err != nil {
		return nil, err
	}
	m.guard, m.policy = g, g.Policy()
	if m.keeps() {
		m.expires = []string{seconds(m.policy.Retain)}
	}
	return m, nil
}

// trace tells the middleware how long handlers take: the guard has looked at the
// clock already.
func (m *Middleware) trace() *guard.Trace {
	return &guard.Trace{Settled: func(e guard.Settled) {
		again, unbegun := e.Ending == guard.StoredLate, e.Ending == guard.Freed && e.Err != nil
		if !again && !unbegun {
			m.latency.record(e.Took)
		}
	}}
}

// keeps tells whether answers are kept at all.
func (m *Middleware) keeps() bool { return m.policy.After == guard.Keep }

// Wrap returns next, guarded. If there is none it panics.
func (m *Middleware) Wrap(next http.Handler) http.Handler {
	mustWrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !m.settings.guards(r.Method) || m.within(r.Context()) {
			next.ServeHTTP(w, r)
			return
		}
		q := &request{Request: r, w: w, middleware: m, settings: m.settings, next: next}
		q.serve()
	})
}

// mustWrap refuses a handler that is missing before a request has begun that it should
// answer.
func mustWrap(next http.Handler) {
	if next == nil {
		panic(errors.New("interlockhttp: there is no handler to wrap"))
	}
}

// Guard returns the guard behind the middleware, for those who look a key up, or
// decide about an outcome that nobody knows. What it calls a key is in the problems
// that it returns, hashed.
func (m *Middleware) Guard() *guard.Guard[*Response] { return m.guard }

// Close refuses new requests, and waits until those that run are settled or ctx is
// done. Call it after the server's Shutdown, and before the client's Close.
func (m *Middleware) Close(ctx context.Context) error { return m.guard.Close(ctx) }

// within tells whether a request is in this middleware's hands already: it may have
// been put in two places.
func (m *Middleware) within(ctx context.Context) bool {
	d, _ := ctx.Value(outcomeKey{}).(*outcomeContext)
	for ; d != nil; d = d.outer {
		if d.middleware == m {
			return true
		}
	}
	return false
}
