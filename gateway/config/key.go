package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/rule"
)

// tokenPart stands for the header in which tokens come.
const tokenPart = "{token}"

// template reads the key of a rule, and its name if it has none of its own: what
// stands before the first colon, if it is constant. The key on the engine is
// name:key, so that it is what was written.
func (r *reader) template(d *ruleDraft, n *node) bool {
	s, ok := r.text(n, d.verbs[0].name, "pay:{path.id}")
	if !ok {
		return false
	}
	if strings.Contains(s, tokenPart) {
		s = strings.ReplaceAll(s, tokenPart, "{header."+TokenHeader+"}")
		d.hasToken = true
	}
	if _, err := rule.ParseTemplate(s, n.inside()); err != nil {
		r.badTemplate(n, err)
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
	d.options = append(d.options, rule.Option{Name: rule.Word{Text: "name", At: at}, Value: rule.Word{Text: quoteOption(name), At: at}})
	return r.setKey(d, key, n)
}

// keep notes the key.
func (r *reader) setKey(d *ruleDraft, s string, n *node) bool {
	t, err := rule.ParseTemplate(s, n.inside())
	if err != nil {
		r.badTemplate(n, err)
		return false
	}
	d.Key = t
	return true
}

func (r *reader) badTemplate(n *node, err error) {
	at, what := n.at, err.Error()
	if p, ok := errors.AsType[*rule.ParseError](err); ok {
		at, what = p.At, p.Text
	}
	what, hint := splitHint(what)
	r.errorf(at, BadKey, hint, "%s", what)
}

// named tells whether a rule says how it is called.
func (d *ruleDraft) hasName() bool { return d.node.has("name") }

// splitKey takes the name off a template.
func splitKey(s string) (name, key string) {
	before, after, parted := strings.Cut(s, ":")
	switch {
	case strings.ContainsAny(before, "{}"):
		return "", s
	case !parted:
		return s, s // one for all
	}
	return before, after
}

// nameFor makes a name of what a path calls things.
func nameFor(m *Match) string {
	for _, step := range slices.Backward(strings.Split(m.Path, "/")) {
		if step != "" && !strings.ContainsAny(step, "{}") {
			return step
		}
	}
	return "order"
}

var bodyless = []string{"GET", "HEAD", "DELETE", "OPTIONS", "TRACE"}

// checkKey finds parts of a key that no request of the rule has.
func (r *reader) checkKey(d *ruleDraft, verb pair) {
	names := d.Match.wildcards()
	for _, part := range d.Key.Parts() {
		switch meant := rule.Meant(part.Name, names); {
		case part.Place != rule.Path || d.Match.Path == "" || slices.Contains(names, part.Name):
		case meant != "":
			r.errorf(verb.at, BadKey, fmt.Sprintf("did you mean {path.%s}?", meant), "the path has no {%s}", part.Name)
		default:
			r.errorf(verb.at, BadKey, fmt.Sprintf("write {%s} in match, where the part is", part.Name), "the path has no {%s}", part.Name)
		}
	}
	if d.Key.Uses(rule.JWT) && d.Principal.JWT == nil {
		r.errorf(verb.at, BadKey, "add principal: {jwt: …}, which says how it is verified", "the key has a claim of a token that nobody verifies")
	}
	if d.Key.Uses(rule.Body) && len(d.Match.Methods) > 0 && !slices.ContainsFunc(d.Match.Methods, func(m string) bool { return !slices.Contains(bodyless, m) }) {
		r.errorf(verb.at, BadKey, "use {query.name} or {path.name}", "a %s has no body to take a part of the key from", d.Match.Methods[0])
	}
}
