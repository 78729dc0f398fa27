package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// A ruleStep is one rule's work on one request. Package interlockhttp calls back with a
// request only, so the step travels in its context. Only this file writes to a step.
type ruleStep struct {
	exchange *exchange
	rule     *ruleHandler
	outer    *ruleStep // the rule around this one, or nil
	depth    int       // the index of rule in exchange.rules
	began    time.Time
	ran      time.Time // when the inner step began; zero if it did not
	identity *identity // nil if the rule has no principal
	key      string    // a lock's key as the engine gets it, or a guard's as the client sent it
	record   string    // the id of a guard's record, a hash
	fence    uint64
	refused  bool // this rule, not an inner one, refused the request
	shadow   bool // this shadow rule would have refused the request or replayed a response
	result   result
	waiting  *waitLimit // that counts the request as a waiter for a unit, or nil
}

// stepKey is the context key of a step. An inner rule's step hides the outer one.
type stepKey struct{}

// stepOf returns the innermost step of a context.
func stepOf(ctx context.Context) *ruleStep { return ctx.Value(stepKey{}).(*ruleStep) }

// attach returns the request with the step in its context.
func (s *ruleStep) attach(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), stepKey{}, s))
}

// run lets the rule's middleware answer the request, and reports the outcome.
func (s *ruleStep) run(w http.ResponseWriter, r *http.Request) {
	defer catchAbort(&s.result.aborted)
	// The report is deferred because a response that broke off, with a panic, is an event, too.
	defer func() { s.report(w.Header()) }()
	r = s.attach(r)
	// interlockhttp reads the route of a request here, as it would behind a ServeMux.
	r.Pattern = cmp.Or(r.Method, http.MethodGet) + " " + s.rule.nameAt(r.Host)
	s.rule.pathOf(s.exchange.segments, exactly).values(s.exchange.segments, r.SetPathValue)
	if p := s.admit(w, r); p != nil {
		s.refuse(w, r, p)
		return
	}
	s.rule.middleware.handler.ServeHTTP(w, r)
}

// runInner is the handler inside every middleware. It runs once the lock is held, or the
// claim granted. interlockhttp has no result of its own, so the outcome goes three ways:
// to the middleware with Settle or a panic, to the outer rule and the log in s.result, and
// to the client with the response.
func runInner(w http.ResponseWriter, r *http.Request) {
	s := stepOf(r.Context())
	s.ran = time.Now()
	s.fence = s.rule.fence(r.Context())
	inner := s.exchange.next(w, r, s)
	if inner.code == "" { // keep the problem that shadowed has recorded
		inner.code, inner.cause = s.result.code, s.result.cause
	}
	if inner.answered && inner.code != interlockhttp.UpstreamUnknown {
		// The upstream has answered, and the client disconnected. The status decides the
		// outcome.
		inner.aborted = false
	}
	s.result = inner
	if inner.aborted {
		panic(http.ErrAbortHandler) // the middleware records an unknown outcome
	}
	if inner.outcome != undecided {
		interlockhttp.Settle(r.Context(), inner.outcome)
	}
}

// admit returns the reason to refuse a request before the middleware runs, or nil.
func (s *ruleStep) admit(w http.ResponseWriter, r *http.Request) *interlockhttp.Problem {
	h := s.rule
	if h.Do.Verb.Guards() && len(h.Methods) == 0 && !slices.Contains(changing, r.Method) {
		return ambiguous("the method %.20q may or may not change something", r.Method)
	}
	// After an upgrade, requests would pass on the connection without their rules.
	if r.Header["Upgrade"] != nil && !h.Shadow {
		return interlockhttp.NewProblem(interlockhttp.UpgradeRefused)
	}
	return s.authenticate(w, r)
}

// authenticate finds the sender of a request, or returns the reason to refuse it.
func (s *ruleStep) authenticate(w http.ResponseWriter, r *http.Request) *interlockhttp.Problem {
	h := s.rule
	if name := hopByHop(r.Header, h.fields); name != "" {
		return ambiguous("the field Connection tells proxies to remove %s", name)
	}
	if h.auth == nil {
		return nil
	}
	id, err := h.auth.identify(r, s.exchange.trusted)
	if err != nil && !h.Shadow {
		h.auth.challenge(w.Header())
		return unidentified(err)
	}
	s.identity = id
	return nil
}

// hopByHop returns one of the fields that the Connection field tells proxies to remove.
// An upstream behind another proxy would miss that field, and read another request.
func hopByHop(h http.Header, fields []string) string {
	for _, value := range h["Connection"] {
		for option := range strings.SplitSeq(value, ",") {
			name := http.CanonicalHeaderKey(strings.TrimSpace(option))
			if slices.Contains(fields, name) || strings.HasPrefix(name, "Interlock-") {
				return name
			}
		}
	}
	return ""
}

// refuse answers with a problem. The inner steps did not run, so an outer rule can treat
// the request as not executed.
func (s *ruleStep) refuse(w http.ResponseWriter, r *http.Request, p *interlockhttp.Problem) {
	s.refused = true
	s.result.code, s.result.cause, s.result.outcome = p.Code, p.Err, interlockhttp.NotExecuted
	p.ServeHTTP(w, r)
}

// setKey records the key, and returns it as the engine gets it. The key of a lock or a quota
// starts with the rule's name, as with directives. So a rule and a directive with the same name
// exclude each other.
func (s *ruleStep) setKey(key string) string {
	h := s.rule
	constant := h.Key != nil && h.Key.Constant() && h.Key.String() == h.Do.Name // one lock for the whole rule
	if !h.Do.Verb.Guards() && h.Do.Name != "" && !constant {
		key = interlock.Key(h.Do.Name) + ":" + key
	}
	s.key = key
	return key
}

// beginWait counts the request as a waiter for a unit of a limit until endWait. Requests
// that wait for a lock are counted by detachedLock.
func (s *ruleStep) beginWait(l *waitLimit, key string) error {
	if !l.enter(key) {
		return errTooManyWaiters
	}
	s.waiting, s.key = l, key
	return nil
}

// endWait is called when the request has its unit, and again when it ends.
func (s *ruleStep) endWait() {
	if s.waiting != nil {
		s.waiting.leave(s.key)
		s.waiting = nil
	}
}

// id returns the lock or record of the request as the admin API lists it: the key of a
// lock or a quota, or the id of a record, which reveals neither the user nor the client's key.
func (s *ruleStep) id() string {
	if !s.rule.Do.Verb.Guards() {
		return s.key
	}
	return s.record
}

// setRecord is the callback that gets the key of a guarded request.
func setRecord(r *http.Request, key guard.Key) {
	s := stepOf(r.Context())
	// A key that cannot be stored is refused later, and has no record.
	s.record, _ = guard.StoredKey(s.rule.Policy.Name, s.rule.Policy.Scope, key)
}

// answer is the callback with which package interlockhttp refuses a request.
func answer(w http.ResponseWriter, r *http.Request, p *interlockhttp.Problem) {
	if errors.Is(p.Err, errTooManyWaiters) { // interlockhttp takes it for an engine failure, or an invalid key
		err := p.Err
		p = interlockhttp.NewProblem(interlockhttp.TooManyWaiters)
		p.Err, p.RetryAfter = err, time.Second
	}
	if errors.Is(p.Err, errTooManyBodies) { // interlockhttp takes it for a broken body
		p = tooManyBodies()
	}
	stepOf(r.Context()).refuse(w, r, p)
}

// shadowed is the callback for a request that a shadow rule would not have run.
func shadowed(observed interlockhttp.Shadowed) {
	s := stepOf(observed.Request.Context())
	s.shadow = true
	if p := observed.Problem; p != nil {
		s.result.code, s.result.cause = p.Code, p.Err
	}
}

// userOf is the callback that returns the authenticated user, or "".
func userOf(r *http.Request) string {
	if id := stepOf(r.Context()).identity; id != nil {
		return id.user
	}
	return ""
}

// currentFence returns the fence of the innermost lock or claim, or 0.
func (s *ruleStep) currentFence() uint64 {
	for ; s != nil; s = s.outer {
		if s.fence != 0 {
			return s.fence
		}
	}
	return 0
}
