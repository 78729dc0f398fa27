package gateway

import (
	"context"
	"net/http"
	"strings"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// A ruleHandler is a rule of the configuration, ready to run.
type ruleHandler struct {
	config.Rule
	*matcher
	auth       authenticator // nil if the rule has no principal
	fields     []string      // request fields that the rule reads, in canonical form
	usesQuery  bool
	usesPath   bool     // the key contains a part of the path
	slashed    bool     // another rule has the same path with, or without, a final slash
	backend    *backend // nil unless the rule has its own upstream
	middleware *middleware
}

// keeps reports whether the rule stores responses before it sends them.
func (h *ruleHandler) keeps() bool { return h.Do.Verb == rule.Once && !h.Tee && !h.Shadow }

// fence returns the fence of the rule's lock or claim, to which ctx belongs. A limit has
// none.
func (h *ruleHandler) fence(ctx context.Context) uint64 {
	var fence uint64
	switch {
	case h.Do.Verb == rule.Lock:
		fence, _ = ctx.Value(fenceKey{}).(uint64)
	case h.Do.Verb.Guards():
		fence, _ = guard.Fence(ctx)
	}
	return fence
}

// fieldsOf returns the request fields that a rule reads, and whether it reads the query.
// Besides those of the rule, these are the fields that interlockhttp reads for the key,
// the user and the fingerprint.
func fieldsOf(r *config.Rule, p config.Principal) (fields []string, query bool) {
	fields = []string{"Idempotency-Key", "X-Idempotency-Key", "Idempotent-Token", "Authorization", "Cookie", "Host", "Content-Type", "Content-Encoding"}
	add := func(name string) { fields = append(fields, http.CanonicalHeaderKey(name)) }
	if p.Header != "" {
		add(p.Header)
	}
	for name := range r.Match.Header {
		add(name)
	}
	if r.Do.Verb.Guards() {
		names := r.FingerprintHeaders
		if names == nil {
			names = interlockhttp.DefaultFingerprintHeaders()
		}
		fields = append(fields, names...)
	}
	if r.Key == nil {
		return fields, true // the whole request is the key
	}
	for _, part := range r.Key.Parts() {
		if part.Place == rule.Header {
			for name := range strings.SplitSeq(part.Name, "|") {
				add(name)
			}
		}
		query = query || part.Place == rule.Query
	}
	return fields, query
}
