package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// keySource returns the source of the rule's key. Each part of the template is a source of
// interlockhttp, which refuses a field that occurs twice, or that Connection tells proxies
// to remove.
func (h *ruleHandler) keySource() (interlockhttp.Source, error) {
	if h.Key == nil {
		return interlockhttp.Content(), nil // submit: equal requests are duplicates
	}
	set := func(r *http.Request, key string) string { return stepOf(r.Context()).setKey(key) }
	parts := h.Key.Parts()
	if len(parts) == 0 {
		key, err := h.Key.Key(nil)
		return interlockhttp.Func(func(r *http.Request) (string, error) { return set(r, key), err }), nil
	}
	if h.Form != "" && !bare(h.Key) {
		return interlockhttp.Source{}, fmt.Errorf("gateway: the key %q is more than a token: write {header.Idempotent-Token}", h.Key)
	}
	sources := make([]interlockhttp.Source, len(parts))
	for i, p := range parts {
		sources[i] = partSource(p)
	}
	return interlockhttp.Join(func(r *http.Request, values []string) (string, error) {
		if bare(h.Key) && h.Do.Verb.Guards() {
			return set(r, values[0]), nil
		}
		key, err := h.Key.Key(partValues{parts, values})
		return set(r, key), err
	}, sources...), nil
}

// bare reports whether a template is one part and nothing else. Such a key is passed on
// verbatim: a template would escape it, and a token could not be verified any more.
func bare(t *rule.Template) bool {
	parts := t.Parts()
	return len(parts) == 1 && t.String() == fmt.Sprintf("{%s.%s}", parts[0].Place, parts[0].Name)
}

// partSource returns the source of a part of a key.
func partSource(p rule.Part) interlockhttp.Source {
	switch p.Place {
	case rule.Path:
		return interlockhttp.PathValue(p.Name)
	case rule.Header:
		return interlockhttp.Header(strings.Split(p.Name, "|")...)
	case rule.Query:
		return interlockhttp.Query(p.Name)
	case rule.Cookie:
		return interlockhttp.Cookie(p.Name)
	case rule.Body:
		return interlockhttp.BodyField(p.Name)
	case rule.JWT:
		return interlockhttp.Func(func(r *http.Request) (string, error) {
			return stepOf(r.Context()).identity.claim(p.Name), nil
		})
	}
	// rule.ParseTemplate accepts no other place.
	return interlockhttp.Source{}
}

// partValues are the parts of a template with the values that a request has for them.
type partValues struct {
	parts  []rule.Part
	values []string
}

// Part implements [rule.Source].
func (v partValues) Part(place rule.Location, name string) (string, bool) {
	for i, p := range v.parts {
		if p.Place == place && p.Name == name {
			return v.values[i], true
		}
	}
	return "", false
}

// claim returns a claim of the verified token, if it is a string or a number. A dot in
// the name leads into an object.
func (id *identity) claim(name string) string {
	if id == nil {
		return ""
	}
	var value any = id.claims
	for step := range strings.SplitSeq(name, ".") {
		object, _ := value.(map[string]any)
		value = object[step]
	}
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}
