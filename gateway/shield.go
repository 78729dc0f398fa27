package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// A shield is what keeps state from one reload to the next: a middleware, and what it
// was made of.
type shield struct {
	wrap  func(http.Handler) http.Handler
	close func(context.Context) error // nil for a lock, of which nothing is left
	stats func() guard.Stats          // likewise
	name  string                      // of the guard
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
	own, kind, crowd := client.With(l.Do.LockOptions()...), l.Do.Kind, newCrowd(mostForKey, mostInAll)
	wrap, err := interlockhttp.LockWith(func(key string) interlock.Locker { return detached{kind.Locker(own, key), key, crowd} }, source, opts...)
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
	kind := interlockhttp.Once
	if l.Do.Verb == rule.Submit {
		kind = interlockhttp.Submit
	}
	m, err := kind(client, l.Policy, opts...)
	if err != nil {
		return nil, err
	}
	return &shield{name: l.Do.Name, wrap: m.Wrap, close: m.Close, stats: m.Guard().Stats}, nil
}

// sign returns what tells two shields apart: rules with the same sign may share one.
func (l *layer) sign(namespace string, s *settings) string {
	r := l.Rule
	methods := slices.Clone(r.Match.Methods)
	slices.Sort(methods)
	return fmt.Sprintf("%q %+v %q %+v %v %q %v %v %v %v %v %d %d %v %s", namespace, r.Do, r.Key, r.Policy, r.Message, r.Form,
		r.Optional, r.Shadow, r.Tee, l.who != nil, methods, s.limits.Body, s.limits.Response, s.timeouts.Body, s.mark)
}
