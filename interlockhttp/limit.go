package interlockhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
)

// Limit returns a middleware that runs at most n requests per key in each window, and
// refuses the others with 429 and Retry-After. The quota's key consists of name and the key
// that source finds.
//
//	orders, err := interlockhttp.Limit(client, "orders", 3, interlock.PerDay(shanghai), interlockhttp.Func(signedIn))
//
// Every response says how many units are left, in the header fields RateLimit and
// RateLimit-Policy. A request without a key is refused. So is every request while the
// engine is down, with 503.
//
// A request takes its unit whether it succeeds or fails. A handler that has done nothing
// gives the unit back with [Settle] and [NotExecuted]. So does an inner Limit or [Lock] that
// refuses the request. Put the limit inside of [Once], so that a replayed response takes no
// unit.
func Limit(client *interlock.Client, name string, n int, w interlock.Window, source Source, opts ...Option) (func(http.Handler) http.Handler, error) {
	s := newSettings(opts)
	switch {
	case client == nil:
		s.reject("the client is nil: use interlock.New(nil) for an engine in this process")
	case name == "":
		s.reject("Limit: give it a name, such as %q", "orders")
	default:
		s.checkQuota(client.Quota(name, n, w))
	}
	return s.limit(name, w, source, func(id string) *interlock.Quota {
		return client.Quota(interlock.Key(name, id), n, w, interlock.WithName(name))
	})
}

// LimitWith is [Limit] for quotas that the caller makes: quota returns the one for the ID
// that source finds. The header fields show them under name, with window w.
func LimitWith(name string, w interlock.Window, quota func(id string) *interlock.Quota, source Source, opts ...Option) (func(http.Handler) http.Handler, error) {
	s := newSettings(opts)
	if quota == nil {
		s.reject("LimitWith(nil): pass a function that returns a quota")
	}
	return s.limit(name, w, source, quota)
}

// checkQuota refuses an invalid quota at set-up. Otherwise every request would fail.
func (s *settings) checkQuota(q *interlock.Quota) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel() // the quota checks its options first, and the engine refuses a canceled context
	if _, err := q.Usage(canceled); errors.Is(err, interlock.ErrOption) || errors.Is(err, errors.ErrUnsupported) {
		s.reject("Limit: %w", err)
	}
}

// limit builds the middleware of Limit and LimitWith.
func (s *settings) limit(name string, w interlock.Window, source Source, quotaFor func(id string) *interlock.Quota) (func(http.Handler) http.Handler, error) {
	s.checkSource(source)
	s.rejectGuardOptions()
	if s.lockOptions != nil {
		s.reject("Locking: the option is only for Lock")
	}
	if err := s.err(); err != nil {
		return nil, err
	}
	l := &limit{name: quoted(name), window: w, quotaFor: quotaFor, source: source}
	return func(next http.Handler) http.Handler {
		mustWrap(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if s.methods != nil && !s.guards(r.Method) {
				next.ServeHTTP(w, r)
				return
			}
			q := &request{Request: r, w: w, settings: s, next: next}
			q.limit(l)
		})
	}, nil
}

// A limit is the quotas of one middleware.
type limit struct {
	name     string // quoted, as in RateLimit
	window   interlock.Window
	quotaFor func(id string) *interlock.Quota
	source   Source
}

// limit runs the handler if a unit is left.
func (q *request) limit(l *limit) {
	id, ok := q.findID(l.source, q.refuseLimit)
	if !ok {
		return
	}
	unit, err := l.quotaFor(id).Take(q.Context())
	if err != nil {
		q.refuseLimit(l.problem(err, q.w.Header()))
		return
	}
	q.runUnit(l, unit)
}

// refuseLimit sends a problem. In shadow mode it reports the problem and runs the handler.
func (q *request) refuseLimit(p *Problem) {
	if q.settings.shadow == nil {
		q.refuseUnexecuted(p)
		return
	}
	q.report(Shadowed{Problem: q.settings.applyOptions(p)})
	q.restoreBody()
	q.next.ServeHTTP(q.w, q.Request)
}

// refuseUnexecuted sends a problem, and states for the middleware around this one that nothing
// was executed: limits give their units back, and a guard does not keep the problem. The guard
// finds that in the response: a handler that has done work may have asked this one in passing,
// and then answers with a response of its own.
func (q *request) refuseUnexecuted(p *Problem) {
	settleUnits(q.Context(), NotExecuted)
	if q.Context().Value(outcomeKey{}) != nil {
		q.w.Header().Set(fieldOutcome, "not-executed")
	}
	q.settings.sendProblem(q.w, q.Request, p)
}

// runUnit runs the handler, and gives its unit back if it has done nothing.
func (q *request) runUnit(l *limit, unit *interlock.QuotaUnit) {
	use := unit.Usage()
	l.describe(q.w.Header(), use.Limit, use.Left(), use.Next)
	q.restoreBody()
	outer, _ := q.Context().Value(unitKey{}).(*unitContext)
	ctx := &unitContext{Context: q.Context(), outer: outer}
	r := q.Request.WithContext(ctx)
	defer q.copyBack(r)
	defer func() { // also if the handler panics
		ctx.returned.Store(true)
		if ctx.notExecuted.Load() || ctx.giveBack.Load() {
			_ = unit.GiveBack(ctx) // if it fails, the unit counts until its window ends
		}
	}()
	q.next.ServeHTTP(q.w, r)
}

// describe sets the header fields of a quota, as in draft-ietf-httpapi-ratelimit-headers.
func (l *limit) describe(h http.Header, limit, left int, next time.Duration) {
	policy := fmt.Sprintf("%s;q=%d", l.name, limit)
	if d := l.window.Length(); d > 0 {
		policy += ";w=" + seconds(d)
	}
	h.Add(fieldRateLimitPolicy, policy)
	h.Add(fieldRateLimit, fmt.Sprintf("%s;r=%d;t=%s", l.name, left, seconds(next)))
}

// quoted returns a name as a string of a structured field (RFC 9651), which has only
// printable ASCII characters. Other bytes are escaped as in URLs.
func quoted(name string) string {
	b := []byte{'"'}
	for _, c := range []byte(name) {
		switch {
		case c < ' ' || c > '~':
			b = fmt.Appendf(b, "%%%02X", c)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

// problem turns an error of a quota into a problem.
func (l *limit) problem(err error, h http.Header) *Problem {
	var exceeded *interlock.QuotaError
	if !errors.As(err, &exceeded) {
		return problemOf(codeOf(err), err)
	}
	l.describe(h, exceeded.Limit, 0, exceeded.RetryAfter)
	p := problemOf(QuotaExceeded, err)
	p.RetryAfter = exceeded.RetryAfter
	return p
}

// A unitContext is the context of a handler that has taken a unit.
type unitContext struct {
	context.Context
	outer       *unitContext // of an outer limit, or nil
	notExecuted atomic.Bool  // the outcome of the handler
	giveBack    atomic.Bool  // see GiveBack
	returned    atomic.Bool  // the handler has returned, so its unit stays as it is
}

type unitKey struct{}

// Value returns the context itself for this package's own key.
func (u *unitContext) Value(key any) any {
	if _, ok := key.(unitKey); ok {
		return u
	}
	return u.Context.Value(key)
}

// GiveBack makes the innermost [Limit] around a handler give its unit back, whatever the
// outcome of the request is. It reports false if there is no limit, or if the handler has
// returned.
func GiveBack(ctx context.Context) bool {
	u, _ := ctx.Value(unitKey{}).(*unitContext)
	if u == nil || u.returned.Load() {
		return false
	}
	u.giveBack.Store(true)
	return true
}

// settleUnits tells all limits around a handler what it did, and reports whether there are
// any whose handler has not returned.
func settleUnits(ctx context.Context, o Outcome) (told bool) {
	u, _ := ctx.Value(unitKey{}).(*unitContext)
	for ; u != nil; u = u.outer {
		if !u.returned.Load() {
			u.notExecuted.Store(o == NotExecuted)
			told = true
		}
	}
	return told
}
