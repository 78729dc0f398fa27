package gateway

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// defaultTokenPath is the path of the endpoint that issues tokens.
const defaultTokenPath = "/idempotent-token"

// A tokenIssuer issues the tokens of one form to the users that its rule authenticates.
type tokenIssuer struct {
	rule    *ruleHandler
	handler http.Handler
}

// setIssuers makes an issuer for each form. If several rules have the same form, the first
// one authenticates the users.
func (b *builder) setIssuers() error {
	b.issuers = make(map[string]tokenIssuer)
	t := b.config.Tokens
	if t == nil {
		return nil
	}
	for _, h := range b.rules {
		if _, ok := b.issuers[h.Form]; h.Form != "" && !ok {
			b.issuers[h.Form] = tokenIssuer{h, interlockhttp.TokenHandler(b.settings.tokens, h.Form, userOf, interlockhttp.WriteProblem(answer))}
		}
	}
	if _, ok := b.issuers[t.Form]; t.Form != "" && !ok {
		return fmt.Errorf("gateway: tokens: no rule has the form %q; name the form of a rule", t.Form)
	}
	return nil
}

// issueToken answers a request to the token endpoint. It returns false for any other.
func (x *exchange) issueToken(w http.ResponseWriter, r *http.Request) bool {
	t := x.snapshot.config.Tokens
	if t == nil || r.URL.Path != cmp.Or(t.Path, defaultTokenPath) {
		return false
	}
	form := cmp.Or(r.URL.Query().Get("form"), t.Form)
	// With a single form in the file, the request need not name it.
	if form == "" && len(x.snapshot.issuers) == 1 {
		for form = range x.snapshot.issuers {
		}
	}
	issuer, ok := x.snapshot.issuers[form]
	if !ok {
		x.snapshot.unknownForm(form).ServeHTTP(w, r)
		return true
	}
	s := &ruleStep{exchange: x, rule: issuer.rule}
	// The rule authenticates the sender in the same way as when the token is used, so that
	// both find the same user.
	if p := s.authenticate(w, r); p != nil {
		p.ServeHTTP(w, r)
		return true
	}
	issuer.handler.ServeHTTP(w, s.attach(r))
	return true
}

// FormUnknown is the code of a request for a token of a form that no rule has: 404.
const FormUnknown interlockhttp.Code = "form_unknown"

// unknownForm returns the problem of a request for a token of an unknown form. It lists
// the known forms, which are no secret: pages contain them.
func (s *snapshot) unknownForm(form string) *interlockhttp.Problem {
	p := interlockhttp.NewProblem(FormUnknown)
	p.Status = http.StatusNotFound
	known := strings.Join(slices.Sorted(maps.Keys(s.issuers)), ", ")
	p.Message = guard.Message{
		"en": fmt.Sprintf("No rule has the form %.40q. Add ?form= with one of: %s.", form, known),
		"zh": fmt.Sprintf("没有规则使用表单 %.40q。请用 ?form= 指定其中之一：%s。", form, known),
	}
	return p
}
