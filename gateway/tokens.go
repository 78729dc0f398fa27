package gateway

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/interlock-go/interlock/interlockhttp"
)

// defaultTokens is where tokens are handed out.
const defaultTokens = "/idempotent-token"

// noteForms makes who hands out the tokens of each form.
func (b *builder) noteForms() error {
	b.issuers = make(map[string]http.Handler)
	if b.config.Tokens == nil {
		return nil
	}
	for _, l := range b.layers {
		if l.Form == "" || b.issuers[l.Form] != nil {
			continue
		}
		b.issuers[l.Form] = b.issuer(l)
	}
	if f := b.config.Tokens.Form; f != "" && b.issuers[f] == nil {
		return errors.New("gateway: tokens are for the form " + f + ", and no rule has it")
	}
	return nil
}

// issuer hands out tokens for the form of a rule, to whom that finds out.
func (b *builder) issuer(l *layer) http.Handler {
	tokens := interlockhttp.TokenHandler(b.settings.tokens, l.Form, userOf, interlockhttp.Answer(answer))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitOf(r.Context())
		v.step = &step{layer: l}
		defer func() { v.step = nil }()
		if p := l.identify(w, r, v); p != nil {
			v.refuse(w, r, p)
			return
		}
		tokens.ServeHTTP(w, r)
	})
}

// tokensFor returns who answers a request for a token, or nil if it is none.
func (p *plan) tokensFor(r *http.Request) http.Handler {
	t := p.config.Tokens
	if t == nil || r.URL.Path != cmp.Or(t.Path, defaultTokens) {
		return nil
	}
	form := cmp.Or(r.URL.Query().Get("form"), t.Form)
	if form == "" && len(p.issuers) == 1 {
		for form = range p.issuers {
		}
	}
	if h := p.issuers[form]; h != nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := interlockhttp.NewProblem(interlockhttp.TokenForeign)
		p.Status, p.Err = http.StatusNotFound, errors.New("no rule has the form "+form)
		visitOf(r.Context()).refuse(w, r, p)
	})
}
