package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/rule"
)

// A builder makes a snapshot. If a part of it fails, the builder closes the resources it
// has made, and the gateway keeps its current snapshot.
type builder struct {
	*snapshot
	client *interlock.Client
	log    *slog.Logger
	send   http.RoundTripper // Options.Transport, or nil
	before resources         // the resources of the snapshot that this one replaces
}

// newSnapshot builds the snapshot of a configuration. It reuses the resources of before,
// the snapshot that it replaces, which is nil at the start.
func newSnapshot(cfg *config.Config, o Options, before *snapshot) (*snapshot, error) {
	settings, err := newSettings(cfg, o.Log, before)
	if err != nil {
		return nil, err
	}
	// A reused middleware keeps the Tokens of an earlier snapshot, so newSnapshot itself
	// connects the new Tokens to the client.
	if settings.tokens != nil {
		settings.tokens.ReportTo(o.Client)
	}
	s := &snapshot{
		config: cfg, settings: settings, drained: make(chan struct{}),
		resources: resources{make(map[string]*middleware), make(map[string]*backend), make(map[string]*keySet)},
	}
	b := &builder{snapshot: s, client: o.Client, log: o.Log, send: o.Transport}
	if before != nil {
		b.before = before.resources
	}
	// The caller's client may be shared with other gateways and programs; the namespace keeps
	// their keys apart.
	if prefix := cfg.Prefix(); prefix != "" {
		b.client = o.Client.With(interlock.Prefix(prefix))
	}
	if err := b.build(); err != nil {
		_ = s.resources.close(context.Background(), b.before) // nothing has used them yet
		return nil, err
	}
	return s, nil
}

// build builds all parts. It reports all mistakes at once, those in rules with their
// position in the file.
func (b *builder) build() error {
	var errs []error
	var err error
	if b.backend, err = b.newBackend(b.config.Upstream); err != nil {
		errs = append(errs, err)
	}
	for i := range b.config.Rules {
		r := &b.config.Rules[i]
		h, err := b.newRule(r)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%v: rule %q: %w", b.config.File, r.At, r.Do.Name, err))
			continue
		}
		b.rules = append(b.rules, h)
	}
	// These need all rules, so they run last.
	errs = append(errs, b.setIssuers())
	b.setStripped()
	b.setSlashed()
	return errors.Join(errs...)
}

// newRule returns the handler of a rule.
func (b *builder) newRule(r *config.Rule) (h *ruleHandler, err error) {
	h = &ruleHandler{Rule: *r}
	if h.matcher, err = newMatcher(r.Match, r.Do.Verb); err != nil {
		return nil, err
	}
	// config.Parse has copied the file's principal into each rule. A Config that a program
	// built may lack it.
	principal := r.Principal
	if principal == (config.Principal{}) {
		principal = b.config.Principal
	}
	if h.auth, err = b.newAuthenticator(principal); err != nil {
		return nil, err
	}
	// Computed once, so that header.go and rulestep.go need not look at templates for each
	// request.
	h.fields, h.usesQuery = fieldsOf(r, principal)
	h.usesPath = r.Key != nil && slices.ContainsFunc(r.Key.Parts(), func(p rule.Part) bool { return p.Place == rule.Path })
	switch {
	case r.Upstream != nil:
		if h.backend, err = b.newBackend(*r.Upstream); err != nil {
			return nil, err
		}
	case b.backend == nil:
		return nil, errNoUpstream
	}
	h.middleware, err = reuse(b.resources.middlewares, b.before.middlewares, h.reuseKey(b.config.Namespace, b.settings),
		func() (*middleware, error) { return newMiddleware(h, b.client, b.settings) })
	return h, err
}
