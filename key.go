package interlock

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	// maxKey is the longest key in bytes. Redis allows more, but a key this long
	// is usually data in the wrong place.
	maxKey = 1024

	// maxTidyKey is the length in characters above which a key causes a warning.
	maxTidyKey = 64
)

// Key joins a name and the identifiers of the locked object with colons:
// Key("pay", "order", "42") is "pay:order:42". It escapes the parts, so that two
// different lists of parts never make the same key.
//
// A key without an identifier locks everything of that name at once; see
// [Trace.Warned].
func Key(name string, ids ...string) string {
	if len(ids) == 0 {
		return escape(name)
	}
	var b strings.Builder
	b.WriteString(escape(name))
	for _, id := range ids {
		b.WriteByte(':')
		b.WriteString(escape(id))
	}
	return b.String()
}

// escapes replaces colons, which separate parts, and braces, which Redis Cluster
// interprets.
var escapes = strings.NewReplacer("%", "%25", ":", "%3A", "{", "%7B", "}", "%7D")

func escape(part string) string {
	if part == "" {
		return "%00" // a key must not end in a colon
	}
	return escapes.Replace(part)
}

// checkKey refuses a key that some engine cannot store.
func checkKey(key string) error {
	if !utf8.ValidString(key) {
		return fmt.Errorf("%w: %q is not UTF-8; encode binary identifiers, for example in hex", ErrKey, cut(key))
	}
	switch open := strings.IndexByte(key, '{'); {
	case key == "":
		return fmt.Errorf("%w: the key is empty; use one such as %q", ErrKey, "order:42")
	case len(key) > maxKey:
		return fmt.Errorf("%w: %q… has %d bytes, and the limit is %d; hash the long part", ErrKey, cut(key), len(key), maxKey)
	case strings.IndexFunc(key, unicode.IsControl) >= 0:
		return fmt.Errorf("%w: %q contains a control character", ErrKey, cut(key))
	case open < 0 && strings.IndexByte(key, '}') >= 0,
		open >= 0 && strings.IndexByte(key[open:], '}') < 2:
		return fmt.Errorf("%w: %q has a malformed hash tag; write it as in %q, or escape braces with Key", ErrKey, cut(key), "order:{42}")
	}
	return nil
}

// untidy returns a warning about a key that works but is probably a mistake, or
// "".
func untidy(key string) string {
	switch i := strings.LastIndexByte(key, ':'); {
	case utf8.RuneCountInString(key) > maxTidyKey:
		return fmt.Sprintf("key is longer than %d characters; it costs memory and traffic with every call", maxTidyKey)
	case i < 0:
		return "key has no identifier; it locks everything of that name at once"
	case i == len(key)-1:
		return "key ends in a colon; is an identifier missing?"
	}
	return ""
}

// cut shortens a key for a message.
func cut(key string) string {
	const limit = 40
	if len(key) <= limit {
		return key
	}
	return key[:limit]
}

// warned remembers which keys and settings were warned about, so that a log is not
// flooded.
type warned struct {
	mu       sync.Mutex
	subjects map[string]struct{} // first parts of keys, and names of settings with their problem
}

// maxWarned bounds the number of subjects. A program with more of them probably puts the
// identifier first in its keys.
const maxWarned = 1000

// warn traces an untidy key, unless it has traced one with the same first part.
func (c *core) warn(key string, t *Trace) {
	if t == nil || t.Warned == nil {
		return
	}
	problem := untidy(key)
	if problem == "" {
		return
	}
	part, _, _ := strings.Cut(key, ":")
	if c.warned.first(part) {
		t.Warned(Warned{Key: key, Problem: problem})
	}
}

// Warn reports a setting that works but is probably a mistake to [Trace.Warned], once per
// name and problem. Packages on top of this one call it.
func (c *Client) Warn(name, problem string) {
	if t := c.opts.trace; t != nil && t.Warned != nil && c.core.warned.first(name+": "+problem) {
		t.Warned(Warned{Key: name, Problem: problem})
	}
}

// first reports whether subject is new, and remembers it.
func (w *warned) first(subject string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, seen := w.subjects[subject]; seen || len(w.subjects) >= maxWarned {
		return false
	}
	if w.subjects == nil {
		w.subjects = make(map[string]struct{})
	}
	w.subjects[subject] = struct{}{}
	return true
}

// agreements are the settings with which each name is in use; see [Client.Agree].
type agreements struct {
	mu    sync.Mutex
	names map[string]*agreement
}

type agreement struct {
	terms string
	users int
}

// Agree registers the terms on which a name is used, until release is called. It fails
// if the name is in use on other terms; the error names them. Package guard calls it,
// so that two guards of one name do not treat the same records differently.
func (c *Client) Agree(name, terms string) (release func(), err error) {
	a := &c.core.agreements
	name = c.opts.prefix + name
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.names[name]
	switch {
	case u == nil:
		if a.names == nil {
			a.names = make(map[string]*agreement)
		}
		u = &agreement{terms: terms}
		a.names[name] = u
	case u.terms != terms:
		return nil, fmt.Errorf("interlock: %q is already in use with %s, not %s; use another name, or the same setting for both", name, u.terms, terms)
	}
	u.users++
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if u.users--; u.users == 0 {
			delete(a.names, name)
		}
	}), nil
}
