package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// A middleware is the interlockhttp middleware of a rule, around runInner. It outlives a
// reload if its reuse key stays the same, with the state of its guard.
type middleware struct {
	handler http.Handler
	name    string                      // the rule's name
	close   func(context.Context) error // nil for a lock or a limit, which keep no state
	stats   func() guard.Stats          // nil for a lock or a limit

	// outcome returns the outcome that a status implies; nil for a lock or a limit.
	outcome func(status int) interlockhttp.Outcome
}

// newMiddleware returns the middleware of a rule. It may only depend on what reuseKey
// contains.
func newMiddleware(h *ruleHandler, client *interlock.Client, s *settings) (*middleware, error) {
	opts := []interlockhttp.Option{
		interlockhttp.MaxBody(s.limits.Body),
		interlockhttp.BodyTimeout(s.timeouts.Body),
		interlockhttp.WriteProblem(answer),
	}
	if h.Optional {
		opts = append(opts, interlockhttp.Optional())
	}
	if h.Shadow {
		opts = append(opts, interlockhttp.Shadow(shadowed))
	}
	source, err := h.keySource()
	if err != nil {
		return nil, err
	}
	// Package interlockhttp has a lock, which stores nothing, a limit, which counts, and a
	// guard, which keeps records.
	switch h.Do.Verb {
	case rule.Lock:
		return newLock(h, client, source, opts)
	case rule.Limit:
		return newLimit(h, client, source, opts)
	}
	return newGuard(h, client, s, append(opts, interlockhttp.Key(source)))
}

// newLock returns the middleware of a lock rule. All its locks share one waitLimit, which
// bounds the memory that waiting clients can use.
func newLock(h *ruleHandler, client *interlock.Client, source interlockhttp.Source, opts []interlockhttp.Option) (*middleware, error) {
	if h.Message != nil {
		opts = append(opts, interlockhttp.Message(interlockhttp.Locked, h.Message))
	}
	client, kind, waiting := client.With(h.Do.LockOptions()...), h.Do.Kind, newWaitLimit(maxWaitersPerKey, maxWaiters)
	wrap, err := interlockhttp.LockWith(func(key string) interlock.Locker {
		return detachedLock{kind.Locker(client, key), key, waiting}
	}, source, opts...)
	if err != nil {
		return nil, err
	}
	return &middleware{handler: wrap(http.HandlerFunc(runInner)), name: h.Do.Name}, nil
}

// newLimit returns the middleware of a limit rule. With on-error: free, a response of 400 or
// more gives the unit back.
func newLimit(h *ruleHandler, client *interlock.Client, source interlockhttp.Source, opts []interlockhttp.Option) (*middleware, error) {
	if h.Message != nil {
		opts = append(opts, interlockhttp.Message(interlockhttp.QuotaExceeded, h.Message))
	}
	window, err := h.Do.QuotaWindow()
	if err != nil {
		return nil, err
	}
	do, free := h.Do, h.Do.OnError == guard.Free
	done, cancel := context.WithCancel(context.Background())
	cancel() // the quota is checked before the context is
	if _, err := do.Quota(client, do.Name, window).Usage(done); errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("gateway: the limit %q needs another engine: %w", do.Name, err)
	}
	if h.Shadow {
		do.Wait = 0 // a request that would have waited is reported, and not delayed
	}
	if do.Wait > 0 {
		source = counted(source, newWaitLimit(maxWaitersPerKey, maxWaiters))
	}
	wrap, err := interlockhttp.LimitWith(do.Name, window, func(key string) *interlock.Quota { return do.Quota(client, key, window) }, source, opts...)
	if err != nil {
		return nil, err
	}
	run := func(w http.ResponseWriter, r *http.Request) {
		stepOf(r.Context()).endWait()
		response := &recorder{ResponseWriter: w}
		runInner(response, r)
		if free && response.status >= http.StatusBadRequest {
			interlockhttp.GiveBack(r.Context())
		}
	}
	limited := wrap(http.HandlerFunc(run))
	return &middleware{name: do.Name, handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer stepOf(r.Context()).endWait()
		limited.ServeHTTP(w, r)
	})}, nil
}

// counted returns a source that counts each request with a key as a waiter, or refuses it.
func counted(source interlockhttp.Source, waiting *waitLimit) interlockhttp.Source {
	return interlockhttp.Join(func(r *http.Request, key []string) (string, error) {
		return key[0], stepOf(r.Context()).beginWait(waiting, key[0])
	}, source)
}

// changing are the methods that a once or submit rule guards if it names none. GET, HEAD,
// OPTIONS and TRACE change nothing; unknown methods are refused.
var changing = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// newGuard returns the middleware of a once or submit rule.
func newGuard(h *ruleHandler, client *interlock.Client, s *settings, opts []interlockhttp.Option) (*middleware, error) {
	methods := h.Methods
	if len(methods) == 0 {
		methods = changing
	}
	opts = append(opts, interlockhttp.MaxResponse(s.limits.Response), interlockhttp.Methods(methods...), interlockhttp.OnKey(setRecord),
		interlockhttp.Guarding(guard.Replacing())) // during a reload, two guards may have one name
	// With the scope user+key, the user is a part of the record's key, so one user cannot
	// replay the response of another.
	if h.auth != nil {
		opts = append(opts, interlockhttp.User(userOf))
	}
	if h.FingerprintHeaders != nil {
		opts = append(opts, interlockhttp.FingerprintHeaders(h.FingerprintHeaders...))
	}
	if h.Tee {
		opts = append(opts, interlockhttp.Tee())
	}
	if len(h.NotExecuted) > 0 {
		opts = append(opts, interlockhttp.NotExecutedOn(h.NotExecuted...))
	}
	if h.KeepRedirects {
		opts = append(opts, interlockhttp.KeepRedirects())
	}
	if len(s.secrets) > 0 {
		opts = append(opts, interlockhttp.Secrets(s.secrets[0], s.secrets[1:]...))
	}
	if h.Form != "" {
		if s.tokens == nil {
			return nil, fmt.Errorf("gateway: the rule needs tokens for form %q, and the file has no tokens: section; add one", h.Form)
		}
		opts = append(opts, interlockhttp.WithTokens(s.tokens, h.Form))
	}
	kind := interlockhttp.Once
	if h.Do.Verb == rule.Submit {
		kind = interlockhttp.Submit
	}
	m, err := kind(client, h.Policy, opts...)
	if err != nil {
		return nil, err
	}
	return &middleware{handler: m.Wrap(http.HandlerFunc(runInner)), name: h.Do.Name, close: m.Close, stats: m.Guard().Stats, outcome: m.Outcome}, nil
}

// reuseKey contains everything that a middleware is made of. Rules with equal keys share
// one middleware, within a snapshot and across a reload.
func (h *ruleHandler) reuseKey(namespace string, s *settings) string {
	r := h.Rule
	// The order of methods in the file has no meaning; the clone keeps the file's order
	// for Print.
	methods := slices.Clone(r.Match.Methods)
	slices.Sort(methods)
	// %#v prints an empty list of fields and no list differently; no list means the default.
	return fmt.Sprintf("%q %+v %q %+v %v %q %v %v %v %v %v %v %v %#v %d %d %v %s", namespace, r.Do, r.Key, r.Policy, r.Message, r.Form,
		r.Optional, r.Shadow, r.Tee, r.NotExecuted, r.KeepRedirects, h.auth != nil, methods, r.FingerprintHeaders, s.limits.Body, s.limits.Response, s.timeouts.Body, s.secretsHash)
}
