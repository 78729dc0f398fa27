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
	expires  []string // the value of Idempotency-Expires
	latency  latencyAverage
}

// Once returns a middleware that replays the first response to a request that is
// repeated with the same key. The policy's After must be [guard.Keep], the default.
//
// A 2xx response is kept; see [KeepRedirects] for 3xx. A 4xx response means that nothing
// was done, so the next request runs. With the policy's OnError [guard.Keep] it is kept as
// well, unless it is about the sender, such as 401, 403 and 429. A 503 frees the key. A
// panic, a 502 or a 504 leaves the outcome unknown, and the policy's OnUnknown decides.
// Any other 5xx response is kept, as Stripe does; with OnUnknown [guard.Resolve] or
// [guard.Rerun] it is an unknown outcome, too. A handler overrides these rules with
// [Settle] or with the response header Interlock-Outcome. The option [NotExecutedOn] adds
// statuses that free the key.
//
// A guarded handler is not canceled when its client disconnects. The request body has
// been read before, and the handler's context ends when the claim is lost or after the
// policy's MaxHold. An unguarded handler runs as without the middleware.
func Once(client *interlock.Client, p guard.Policy, opts ...Option) (*Middleware, error) {
	s := newSettings(opts)
	if p.After != "" && p.After != guard.Keep {
		s.reject("Once keeps responses: leave out After %q, or use Submit", p.After)
	}
	if s.source == nil {
		source := Header()
		s.source = &source
	}
	return newMiddleware(client, p, s)
}

// Submit returns a middleware that refuses repeats: while the first request runs and,
// if the policy's After is [guard.Window], until the window ends. Unless [Key] is set,
// two requests with the same content are duplicates.
//
// A 5xx response other than 503, or a panic, leaves the outcome unknown, and the policy's
// OnUnknown decides. Its default here is [guard.Rerun].
func Submit(client *interlock.Client, p guard.Policy, opts ...Option) (*Middleware, error) {
	s := newSettings(opts)
	switch p.After {
	case "", guard.Keep:
		s.reject("Submit keeps no responses: give the policy After %q or %q, or use Once", guard.Free, guard.Window)
	}
	if s.source == nil {
		source := Content()
		s.source = &source
	}
	if p.OnUnknown == "" {
		p.OnUnknown = guard.Rerun
	}
	if s.tokens != nil {
		s.reject("WithTokens: a token replays its response, so it needs Once")
	}
	return newMiddleware(client, p, s)
}

// Must returns m, or panics if err is not nil. It is for middleware made at start-up.
func Must(m *Middleware, err error) *Middleware {
	if err != nil {
		panic(err)
	}
	return m
}

func newMiddleware(client *interlock.Client, p guard.Policy, s *settings) (*Middleware, error) {
	if s.user == nil && p.Scope != guard.Global {
		s.reject("the user of a request is unknown: pass User(…), or give the policy the scope %q if all users share keys", guard.Global)
	}
	if s.tokens != nil && s.user == nil {
		s.reject("WithTokens: a token belongs to a user: pass User(…)")
	}
	if s.lockOptions != nil {
		s.reject("Locking: the option is only for Lock")
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
			p.OnDuplicate = guard.Replay // an observed request must not wait
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
	if s.tokens != nil {
		s.tokens.ReportTo(client)
	}
	if p.Scope == guard.Global && m.keeps() && s.tokens == nil {
		client.Warn(p.Name, string(guard.WeakShared))
	}
	if m.keeps() {
		m.expires = []string{seconds(m.policy.Retain)}
	}
	return m, nil
}

// trace records how long handlers take. The guard has measured it already.
func (m *Middleware) trace() *guard.Trace {
	return &guard.Trace{Settled: func(e guard.Settled) {
		// A StoredLate event follows an earlier event of the same run.
		recorded, notRun := e.Ending == guard.StoredLate, e.Ending == guard.Freed && e.Err != nil
		if !recorded && !notRun {
			m.latency.record(e.Took)
		}
	}}
}

// keeps reports whether responses are kept at all.
func (m *Middleware) keeps() bool { return m.policy.After == guard.Keep }

// Wrap returns next, guarded. It panics if next is nil.
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

// mustWrap panics at set-up, rather than on the first request, if the handler is nil.
func mustWrap(next http.Handler) {
	if next == nil {
		panic(errors.New("interlockhttp: Wrap: the handler is nil"))
	}
}

// Guard returns the guard behind the middleware, to look up keys and settle unknown
// outcomes.
func (m *Middleware) Guard() *guard.Guard[*Response] { return m.guard }

// Close refuses new requests, and waits until the running ones are settled or ctx is
// done. Call it after the server's Shutdown and before the client's Close.
func (m *Middleware) Close(ctx context.Context) error { return m.guard.Close(ctx) }

// within reports whether this middleware already guards the request, because it wraps
// two handlers of one chain.
func (m *Middleware) within(ctx context.Context) bool {
	d, _ := ctx.Value(outcomeKey{}).(*outcomeContext)
	for ; d != nil; d = d.outer {
		if d.middleware == m {
			return true
		}
	}
	return false
}
