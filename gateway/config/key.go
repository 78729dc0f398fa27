package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/rule"
)

// tokenPart is short for the header in which clients send tokens.
const tokenPart = "{token}"

// template reads the key of a rule. Without a name: field, the constant text before the
// first colon is the rule's name. The engine's key is name:key, the same text as in the file.
func (r *reader) template(d *ruleDraft, n *node) bool {
	s, ok := r.text(n, d.verbs[0].name, "pay:{path.id}")
	if !ok {
		return false
	}
	if strings.Contains(s, tokenPart) {
		s = strings.ReplaceAll(s, tokenPart, "{header."+TokenHeader+"}")
		d.hasToken = true
	}
	// The whole text is parsed first: an error in it has a better position than one in a
	// part.
	if _, err := rule.ParseTemplate(s, n.inside()); err != nil {
		r.badTemplate(n, err)
		return false
	}
	if m := literalPart.FindStringSubmatch(s); m != nil {
		r.errorf(n.at, BadKey, "write {"+m[1]+"}", "%s is plain text, the same for every request", quote(m[0]))
		return false
	}
	if d.hasName() {
		return r.setKey(d, s, n)
	}
	name, key := splitKey(s)
	if name == "" {
		r.errorf(n.at, Missing, fmt.Sprintf("write %s: %s:%s, or add name: %[2]s", d.verbs[0].name, nameFor(&d.Match), truncate(n.text)), "the rule has no name")
		return r.setKey(d, s, n)
	}
	at := n.inside()
	r.setOrigin("name", "file")
	// The name becomes an option, as if the file had name:, so that package rule checks
	// it.
	d.options = append(d.options, rule.Option{Name: rule.Word{Text: "name", At: at}, Value: rule.Word{Text: quoteOption(name), At: at}})
	return r.setKey(d, key, n)
}

// literalPart matches a part in the syntax of other programs, which is plain text here.
var literalPart = regexp.MustCompile(`(?:\{\{\s*|\$\{?)((?:path|header|query|cookie|jwt|body)\.[\w.-]+)\s*\}{0,2}`)

// setKey parses the key without the name.
func (r *reader) setKey(d *ruleDraft, s string, n *node) bool {
	t, err := rule.ParseTemplate(s, n.inside())
	if err != nil {
		r.badTemplate(n, err)
		return false
	}
	d.Key = t
	return true
}

// badTemplate reports an error of package rule, at its position inside the key.
func (r *reader) badTemplate(n *node, err error) {
	at, what := n.at, err.Error()
	if p, ok := errors.AsType[*rule.ParseError](err); ok {
		at, what = p.At, p.Text
	}
	what, hint := splitHint(what)
	r.errorf(at, BadKey, hint, "%s", what)
}

// hasName reports whether the rule has a name: field.
func (d *ruleDraft) hasName() bool { return d.node.has("name") }

// splitKey splits a template into name and key.
// A text with a wildcard before the first colon has no name.
func splitKey(s string) (name, key string) {
	before, after, found := strings.Cut(s, ":")
	switch {
	case strings.ContainsAny(before, "{}"):
		return "", s
	case !found:
		return s, s // a constant: one key for all requests
	}
	return before, after
}

// nameFor suggests a name: the last constant part of the path.
func nameFor(m *Match) string {
	for _, step := range slices.Backward(strings.Split(m.Path, "/")) {
		if step != "" && !strings.ContainsAny(step, "{}") {
			return step
		}
	}
	// The path has wildcards only, and a hint needs some word.
	return "order"
}

// checkUntyped warns of parts of the path that a client can spell in several ways.
func (r *reader) checkUntyped(d *ruleDraft, verb pair) {
	for _, part := range d.Key.Parts() {
		if part.Place == rule.Path && part.Type == "" {
			r.warnf(verb.at, BadKey, fmt.Sprintf("write {path.%s:int}, {path.%[1]s:uuid} or {path.%[1]s:lower}", part.Name),
				"{path.%s} has no type: if the service reads 7 and 007 as one id, they get two %ss", part.Name, d.Do.Verb)
		}
	}
}

// sameNames compares two lists without regard to order.
func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// bodyless are methods whose requests have no body, or a body without meaning.
var bodyless = []string{"GET", "HEAD", "DELETE", "OPTIONS", "TRACE"}

// checkKey reports parts of the key that no request of the rule has.
func (r *reader) checkKey(d *ruleDraft, verb pair) {
	names := d.Match.wildcards()
	if d.Key.Constant() && d.Do.Verb.Guards() && d.Preset != "import" {
		r.errorf(verb.at, BadKey, fmt.Sprintf("write %s: %s:{header.Idempotency-Key}; if it runs once for all requests, use preset: import", verb.name, d.Do.Name),
			"the key is constant: every request would get the response to the first")
	}
	if !d.Do.Verb.Guards() {
		r.checkUntyped(d, verb)
	}
	for _, part := range d.Key.Parts() {
		switch meant := rule.Meant(part.Name, names); {
		// Without a path, match has reported its own mistake already.
		case part.Place != rule.Path || d.Match.Path == "" || slices.Contains(names, part.Name):
		case meant != "":
			r.errorf(verb.at, BadKey, fmt.Sprintf("did you mean {path.%s}?", meant), "the path has no {%s}", part.Name)
		default:
			r.errorf(verb.at, BadKey, fmt.Sprintf("write {%s} in the path of match", part.Name), "the path has no {%s}", part.Name)
		}
	}
	for _, also := range d.Match.Also {
		if !sameNames(names, wildcardsIn(also)) {
			r.errorf(verb.at, BadKey, "give it the wildcards of the path of match", "also: %s has other wildcards than %s", quote(also), quote(d.Match.Path))
		}
	}
	// Any client can write claims into a token that is not verified.
	if d.Key.Uses(rule.JWT) && d.Principal.JWT == nil {
		r.errorf(verb.at, BadKey, "add principal: {jwt: …} with the key that verifies tokens", "the key contains a claim of a token that is not verified")
	}
	if d.Key.Uses(rule.Body) && len(d.Match.Methods) > 0 && !slices.ContainsFunc(d.Match.Methods, func(m string) bool { return !slices.Contains(bodyless, m) }) {
		r.errorf(verb.at, BadKey, "use {query.name} or {path.name}", "the key contains a part of the body, and a %s request has none", d.Match.Methods[0])
	}
}
