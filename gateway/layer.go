package gateway

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// A layer is a rule at work: what it guards goes through it.
type layer struct {
	config.Rule
	*matcher
	who       authenticator
	fields    []string // of the request, that its sender must not ask proxies to remove
	usesQuery bool
	slashed   bool // another rule is about the path with, or without, the slash at its end
	backend   *backend
	shield    *shield
	handler   http.Handler // with the backend behind it, for the usual case of one rule
}

// A shield is what keeps state from one reload to the next: a middleware, and what it
// was made of.
type shield struct {
	wrap  func(http.Handler) http.Handler
	close func(context.Context) error // nil for a lock, of which nothing is left
}

// keeps tells whether the rule keeps answers and sends them when they are stored.
func (l *layer) keeps() bool { return l.Do.Verb == rule.Once && !l.Tee && !l.Shadow }

// guard returns next, guarded.
func (l *layer) guard(next http.Handler) http.Handler {
	wrapped := l.shield.wrap(l.work(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitOf(r.Context())
		outer := v.step
		v.step = &step{layer: l, began: time.Now()}
		defer func() {
			v.tell(w.Header())
			v.step = outer
		}()
		r.Pattern = cmp.Or(r.Method, "GET") + " " + l.name
		l.path.values(v.segments, r.SetPathValue)
		if p := l.admit(w, r, v); p != nil {
			v.refuse(w, r, p)
			return
		}
		wrapped.ServeHTTP(w, r)
	})
}

// work returns next as what the guard lets happen.
func (l *layer) work(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitOf(r.Context())
		s := v.step
		s.ran = time.Now()
		if fence := l.fence(r.Context()); fence != 0 {
			v.fence = fence
		}
		v.run(next, w, r)
		if v.fate != undecided {
			interlockhttp.Settle(r.Context(), v.fate)
		}
	})
}

// run has what is inside answer. A proxy panics if the answer cannot be passed on,
// which ends a request of which nobody knows what became. But if it is the client who
// has left, the service has answered, and its status tells.
func (v *visit) run(next http.Handler, w http.ResponseWriter, r *http.Request) {
	defer func() {
		if !v.answered || v.fate != undecided {
			return
		}
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // a panic is compared as it is
			panic(p)
		}
	}()
	next.ServeHTTP(w, r)
}

// admit tells why a request is not even looked at, or nil.
func (l *layer) admit(w http.ResponseWriter, r *http.Request, v *visit) *interlockhttp.Problem {
	if name := removed(r.Header, l.fields); name != "" {
		return ambiguous("the field Connection says to remove %s", name)
	}
	if l.Do.Verb != rule.Lock && len(l.Methods) == 0 && !slices.Contains(changing, r.Method) {
		return ambiguous("what the method %.20q does is not known", r.Method)
	}
	if r.Header["Upgrade"] != nil && !l.Shadow {
		return interlockhttp.NewProblem(interlockhttp.UpgradeRefused)
	}
	if l.who == nil {
		return nil
	}
	id, err := l.who.identify(r, v)
	if err != nil && !l.Shadow {
		l.who.challenge(w.Header())
		return unidentified(err)
	}
	v.step.id = id
	return nil
}

// newShield makes what guards a rule's requests. What it is made of must be in the
// sign of the rule: it lives for as long as that stays the same.
func newShield(l *layer, client *interlock.Client, s *settings) (*shield, error) {
	opts := []interlockhttp.Option{
		interlockhttp.MaxBody(s.limits.Body),
		interlockhttp.BodyWithin(s.timeouts.Body),
		interlockhttp.Answer(answer),
	}
	if l.Optional {
		opts = append(opts, interlockhttp.Optional())
	}
	if l.Shadow {
		opts = append(opts, interlockhttp.Shadow(shadowed))
	}
	source, err := l.source()
	if err != nil {
		return nil, err
	}
	if l.Do.Verb == rule.Lock {
		return newLock(l, client, source, opts)
	}
	return newGuard(l, client, s, append(opts, interlockhttp.Key(source)))
}

// newLock makes the shield of a lock.
func newLock(l *layer, client *interlock.Client, source interlockhttp.Source, opts []interlockhttp.Option) (*shield, error) {
	if l.Message != nil {
		opts = append(opts, interlockhttp.Message(interlockhttp.Locked, l.Message))
	}
	own, kind := client.With(l.Do.LockOptions()...), l.Do.Kind
	wrap, err := interlockhttp.LockWith(func(key string) interlock.Locker { return detached{kind.Locker(own, key)} }, source, opts...)
	return &shield{wrap: wrap}, err
}

// changing are the methods that are guarded if a rule names none. Some others change
// nothing; of the rest nobody knows.
var changing = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// newGuard makes the shield of once and submit.
func newGuard(l *layer, client *interlock.Client, s *settings, opts []interlockhttp.Option) (*shield, error) {
	methods := l.Methods
	if len(methods) == 0 {
		methods = changing
	}
	opts = append(opts, interlockhttp.MaxResponse(s.limits.Response), interlockhttp.Methods(methods...))
	if l.who != nil {
		opts = append(opts, interlockhttp.User(userOf))
	}
	if l.Tee {
		opts = append(opts, interlockhttp.Tee())
	}
	if len(s.secrets) > 0 {
		opts = append(opts, interlockhttp.Secrets(s.secrets[0], s.secrets[1:]...))
	}
	if l.Form != "" {
		if s.tokens == nil {
			return nil, fmt.Errorf("gateway: form %q: there are no tokens; say tokens: in the file", l.Form)
		}
		opts = append(opts, interlockhttp.WithTokens(s.tokens, l.Form))
	}
	make := interlockhttp.Once
	if l.Do.Verb == rule.Submit {
		make = interlockhttp.Submit
	}
	m, err := make(client, l.Policy, opts...)
	if err != nil {
		return nil, err
	}
	return &shield{wrap: m.Wrap, close: m.Close}, nil
}

// sign returns what tells two shields apart: rules with the same sign may share one.
func (l *layer) sign(namespace string, s *settings) string {
	r := l.Rule
	methods := slices.Clone(r.Match.Methods)
	slices.Sort(methods)
	return fmt.Sprintf("%q %+v %q %+v %v %q %v %v %v %v %v %d %d %v %s", namespace, r.Do, r.Key, r.Policy, r.Message, r.Form,
		r.Optional, r.Shadow, r.Tee, l.who != nil, methods, s.limits.Body, s.limits.Response, s.timeouts.Body, s.mark)
}

// userOf returns who sent a request, as authentication found out.
func userOf(r *http.Request) string {
	if id := visitOf(r.Context()).step.id; id != nil {
		return id.user
	}
	return ""
}

// removed returns which of the fields a request asks proxies to remove, if any.
func removed(h http.Header, fields []string) string {
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
