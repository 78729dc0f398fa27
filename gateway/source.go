package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// source returns where the rule's key is found. Each part of the template is looked
// for as package interlockhttp does, so that what it promises about keys holds: a
// field that is there twice, or that proxies are told to remove, is refused.
func (l *layer) source() (interlockhttp.Source, error) {
	if l.Key == nil {
		return interlockhttp.Content(), nil // submit: two requests that say the same
	}
	parts := l.Key.Parts()
	if len(parts) == 0 {
		key, err := l.Key.Key(nil)
		return interlockhttp.Func(func(r *http.Request) (string, error) { return l.note(r, key), err }), nil
	}
	if l.Form != "" && !bare(l.Key) {
		return interlockhttp.Source{}, fmt.Errorf("gateway: the key %q is not a token alone: write {header.Idempotent-Token}", l.Key)
	}
	sources := make([]interlockhttp.Source, len(parts))
	for i, p := range parts {
		sources[i] = sourceOf(p)
	}
	return interlockhttp.Join(func(r *http.Request, values []string) (string, error) {
		if bare(l.Key) && l.Do.Verb != rule.Lock {
			return l.note(r, values[0]), nil
		}
		key, err := l.Key.Key(found{parts, values})
		return l.note(r, key), err
	}, sources...), nil
}

// bare tells whether a template is one part, and nothing else.
func bare(t *rule.Template) bool {
	parts := t.Parts()
	return len(parts) == 1 && t.String() == fmt.Sprintf("{%s.%s}", parts[0].Place, parts[0].Name)
}

// note returns the key as the engine is told it, and notes it for those who watch.
// That of a lock has the rule's name in front, as directives have it, so that both
// exclude each other.
func (l *layer) note(r *http.Request, key string) string {
	constant := l.Key != nil && l.Key.Constant() && l.Key.String() == l.Do.Name // one for all
	if l.Do.Verb == rule.Lock && l.Do.Name != "" && !constant {
		key = interlock.Key(l.Do.Name) + ":" + key
	}
	v := visitOf(r.Context())
	v.step.key = key
	if key != "" {
		v.keys = append(v.keys, key)
	}
	return key
}

// sourceOf returns where a part of a key is found.
func sourceOf(p rule.Part) interlockhttp.Source {
	switch p.Place {
	case rule.Path:
		return interlockhttp.PathValue(p.Name)
	case rule.Header:
		return interlockhttp.Header(p.Name)
	case rule.Query:
		return interlockhttp.Query(p.Name)
	case rule.Cookie:
		return interlockhttp.Cookie(p.Name)
	case rule.Body:
		return interlockhttp.JSONField(p.Name)
	case rule.JWT:
		return interlockhttp.Func(func(r *http.Request) (string, error) {
			return visitOf(r.Context()).step.id.claim(p.Name), nil
		})
	}
	return interlockhttp.Source{}
}

// found are the parts of a key, as they were found.
type found struct {
	parts  []rule.Part
	values []string
}

// Part implements [rule.Source].
func (f found) Part(place rule.Location, name string) (string, bool) {
	for i, p := range f.parts {
		if p == (rule.Part{Place: place, Name: name}) {
			return f.values[i], true
		}
	}
	return "", false
}

// claim returns a claim of a token that was verified: a text, or a number. Dots lead
// into objects.
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
