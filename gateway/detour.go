package gateway

import (
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
)

// A service may read a path in more ways than one: many take /orders/ and //orders
// for /orders, some /a/../orders, /ORDERS or /orders;x=1. Who guards /orders must not
// be passed by such a detour. So a request that is not plainly on a guarded path, but
// could be read so, is refused; other paths go on as they came.

// crooked tells whether a path, split and decoded, has something in it that others
// may read as another path.
func crooked(segments []string) bool {
	for i, s := range segments {
		switch {
		case s == "" && i < len(segments)-1, s == ".", s == "..":
			return true
		case strings.ContainsAny(s, `/\`) || strings.ContainsFunc(s, unicode.IsControl):
			return true
		}
	}
	return false
}

// unclear tells whether a part of a path, which is somebody's key, may be another to
// others: without parameters, or decoded again.
func unclear(segment string) bool {
	again, err := url.PathUnescape(segment)
	return strings.Contains(segment, ";") || err == nil && again != segment
}

// A way is how a path may be read.
type way struct {
	segments []string
	slash    bool // it ends with one
}

const (
	mostDecoded = 3       // how often something behind us may decode a path
	mostCrooked = 4 << 10 // how long one may be that can be read in many ways: each takes time
)

var errCrooked = errors.New("the path is too long for the many ways in which it could be read")

// waysOf returns the ways in which a path may be read besides the plain one: decoded
// again, with backslashes for slashes, cut off, without parameters, and without dots and
// empty parts, in all that services do of it; with a slash at its end, and without.
func waysOf(escaped string, segments []string, plain bool) ([]way, error) {
	if plain && !strings.ContainsAny(escaped, `%;`) {
		return both(trimmed(segments)), nil
	}
	texts := decodings(escaped)
	texts = varied(texts, func(p string) string { return strings.ReplaceAll(p, `\`, "/") })
	texts = varied(texts, func(p string) string {
		if end := strings.IndexAny(p, "\x00?#"); end >= 0 { // where C ends a text, and a URL its path
			return p[:end]
		}
		return p
	})
	texts = varied(texts, bared)
	if len(texts) > mostDecoded && len(escaped) > mostCrooked {
		return nil, errCrooked
	}
	all := ways{seen: make(map[string]bool)}
	all.add(segments)
	for _, p := range texts {
		parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
		all.add(parts)
		all.add(slices.DeleteFunc(slices.Clone(parts), func(s string) bool { return s == "" }))
		all.add(undotted(parts))
		all.add(strings.Split(path.Clean("/" + p)[1:], "/"))
	}
	return all.list, nil
}

// decodings returns a path decoded once, and again for as long as that changes it.
func decodings(escaped string) (texts []string) {
	for range mostDecoded {
		plain, err := url.PathUnescape(escaped)
		if err != nil || plain == escaped && texts != nil {
			break
		}
		escaped = plain
		texts = append(texts, plain)
	}
	return texts
}

// varied returns texts, and what becomes of those that change changes.
func varied(texts []string, change func(string) string) []string {
	for _, p := range texts {
		if other := change(p); other != p {
			texts = append(texts, other)
		}
	}
	return texts
}

// bared returns a path without the parameters of its parts, and spaces around them.
func bared(p string) string {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		part, _, _ = strings.Cut(part, ";")
		parts[i] = strings.TrimSpace(part)
	}
	return strings.Join(parts, "/")
}

// undotted removes dots as RFC 3986 and browsers do, to whom an empty part is a part:
// in /orders//../7 it is what the dots remove.
func undotted(parts []string) (out []string) {
	for i, part := range parts {
		switch last := i == len(parts)-1; {
		case part == "..":
			out = out[:max(0, len(out)-1)]
			fallthrough
		case part == ".":
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, part)
		}
	}
	return out
}

// ways are several, each once.
type ways struct {
	list []way
	seen map[string]bool
}

func (w *ways) add(segments []string) {
	segments = trimmed(segments)
	text := strings.Join(segments, "/")
	if !w.seen[text] {
		w.seen[text] = true
		w.list = append(w.list, both(segments)...)
	}
}

// trimmed returns a path without the slash at its end.
func trimmed(segments []string) []string {
	if n := len(segments); n > 0 && segments[n-1] == "" {
		return segments[:n-1]
	}
	return segments
}

// both returns a path with a slash at its end, and without.
func both(segments []string) []way {
	slashed := way{append(slices.Clone(segments), ""), true}
	if len(segments) == 0 {
		return []way{slashed}
	}
	return []way{{segments, false}, slashed}
}
