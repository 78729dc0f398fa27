package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/rule"
)

// A plan is a configuration at work. A reload makes another, and takes over from the
// one before what has not changed: guards with what they know, connections, keys.
type plan struct {
	config   *config.Config
	layers   []*layer
	backend  *backend // of what no rule matches
	settings *settings
	issuers  map[string]http.Handler // of tokens, by form
	stripped map[string]bool         // fields that only proxies which are believed may set
	parts    parts

	mu   sync.Mutex
	busy int           // requests in it
	done bool          // it was replaced: nobody comes in any more
	idle chan struct{} // closed when it is done and nobody is in it
}

// parts are what one plan may take over from another, by what they are made of.
type parts struct {
	shields  map[string]*shield
	backends map[string]*backend
	keys     map[string]*keySet
}

// newPlan makes a plan. What it cannot take over from the one before, which may be
// nil, it makes anew.
func newPlan(cfg *config.Config, client *interlock.Client, log *slog.Logger, before *plan) (*plan, error) {
	s, err := newSettings(cfg, log, before)
	if err != nil {
		return nil, err
	}
	p := &plan{
		config: cfg, settings: s, idle: make(chan struct{}), stripped: make(map[string]bool),
		parts: parts{make(map[string]*shield), make(map[string]*backend), make(map[string]*keySet)},
	}
	b := &builder{plan: p, client: client, log: log}
	if before != nil {
		b.before = before.parts
	}
	if cfg.Namespace != "" {
		b.client = client.With(interlock.Prefix(cfg.Namespace + ":"))
	}
	if err := b.build(); err != nil {
		b.undo()
		return nil, err
	}
	return p, nil
}

// A builder makes a plan.
type builder struct {
	*plan
	client *interlock.Client
	log    *slog.Logger
	before parts
}

func (b *builder) build() error {
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	var err error
	b.plan.backend, err = b.backendOf(b.config.Upstream)
	note(err)
	for i := range b.config.Rules {
		r := &b.config.Rules[i]
		l, err := b.layer(r)
		if err != nil {
			note(fmt.Errorf("%s:%v: rule %q: %w", b.config.File, r.At, r.Do.Name, err))
			continue
		}
		b.layers = append(b.layers, l)
	}
	note(b.noteForms())
	b.noteStripped()
	b.noteSlashes()
	return errors.Join(errs...)
}

// layer puts a rule to work.
func (b *builder) layer(r *config.Rule) (l *layer, err error) {
	l = &layer{Rule: *r, backend: b.plan.backend}
	if l.matcher, err = newMatcher(r.Match, r.Do.Verb); err != nil {
		return nil, err
	}
	principal := r.Principal
	if principal == (config.Principal{}) {
		principal = b.config.Principal
	}
	if l.who, err = b.authenticator(principal); err != nil {
		return nil, err
	}
	l.fields, l.usesQuery = fieldsOf(r, principal)
	l.usesPath = r.Key != nil && slices.ContainsFunc(r.Key.Parts(), func(p rule.Part) bool { return p.Place == rule.Path })
	if r.Upstream != nil {
		if l.backend, err = b.backendOf(*r.Upstream); err != nil {
			return nil, err
		}
	}
	if l.backend == nil {
		return nil, errNowhere
	}
	sign := l.sign(b.config.Namespace, b.settings)
	if l.shield, err = take(b.parts.shields, b.before.shields, sign, func() (*shield, error) { return newShield(l, b.client, b.settings) }); err != nil {
		return nil, err
	}
	l.handler = l.guard(l.backend)
	return l, nil
}

// take returns the part of the new plan with that sign: one it has, or one of the
// plan before, or else a new one.
func take[P any](now, before map[string]P, sign string, create func() (P, error)) (P, error) {
	if p, ok := now[sign]; ok {
		return p, nil
	}
	p, ok := before[sign]
	if !ok {
		var err error
		if p, err = create(); err != nil {
			return p, err
		}
	}
	now[sign] = p
	return p, nil
}

// undo ends what was made for a plan that came to nothing.
func (b *builder) undo() { _ = b.parts.end(context.Background(), b.before) } // nobody was in it

// end ends what is not taken over, after nobody uses it any more.
func (p *parts) end(ctx context.Context, kept parts) error {
	var errs []error
	for sign, s := range p.shields {
		if kept.shields[sign] != s && s.close != nil {
			errs = append(errs, s.close(ctx))
		}
	}
	for sign, b := range p.backends {
		if kept.backends[sign] != b {
			b.transport.CloseIdleConnections()
		}
	}
	for sign, k := range p.keys {
		if kept.keys[sign] != k {
			k.close()
		}
	}
	return errors.Join(errs...)
}

// enter lets a request in, unless the plan was replaced.
func (p *plan) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return false
	}
	p.busy++
	return true
}

// leave lets it out.
func (p *plan) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy--; p.busy == 0 && p.done {
		close(p.idle)
	}
}

// retire lets nobody in any more.
func (p *plan) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	if p.done = true; p.busy == 0 {
		close(p.idle)
	}
}

// noteStripped finds the fields that say who somebody is.
func (b *builder) noteStripped() {
	for _, p := range append([]config.Principal{b.config.Principal}, principals(b.config.Rules)...) {
		if p.Header != "" {
			b.stripped[http.CanonicalHeaderKey(p.Header)] = true
		}
	}
}

func principals(rules []config.Rule) (all []config.Principal) {
	for i := range rules {
		all = append(all, rules[i].Principal)
	}
	return all
}
