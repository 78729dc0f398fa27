package gateway

import (
	"errors"
	"net/url"
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

// mostRead is how many bytes the ways may have in which a path can be read. They are
// few, unless somebody is out for many.
const mostRead = 64 << 10

var errCrooked = errors.New("the path could be read in too many ways")

// waysOf returns the ways in which a path may be read besides the plain one: by what
// services do to paths, in whatever order they do it; with a slash at its end, and without.
func waysOf(escaped string, segments []string, plain bool) ([]way, error) {
	ways := both(segments)
	if plain && !strings.ContainsAny(escaped, `%;`) {
		return ways, nil
	}
	texts, seen, size := []string{escaped}, map[string]bool{escaped: true}, len(escaped)
	for i := 0; i < len(texts); i++ {
		for _, change := range changes {
			text := change(texts[i])
			if seen[text] {
				continue
			}
			if size += len(text) + 1; size > mostRead {
				return nil, errCrooked
			}
			seen[text] = true
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		ways = append(ways, both(strings.Split(strings.TrimPrefix(text, "/"), "/"))...)
	}
	return ways, nil
}

// changes are what services do to a path before they look where it leads. Some do it to
// what was decoded, and others before they decode.
var changes = []func(string) string{decoded, shortened, bared, merged, undotted, strings.NewReplacer(`\`, "/").Replace, strings.NewReplacer("%2e", ".", "%2E", ".").Replace}

func decoded(p string) string {
	if plain, err := url.PathUnescape(p); err == nil {
		return plain
	}
	return p
}

// shortened ends a path where C ends a text, or a URL its path.
func shortened(p string) string {
	if end := strings.IndexAny(p, "\x00?#"); end >= 0 {
		return p[:end]
	}
	return p
}

// bared removes the parameters of the parts of a path, and spaces around them.
func bared(p string) string {
	if !strings.ContainsFunc(p, func(c rune) bool { return c == ';' || unicode.IsSpace(c) }) {
		return p
	}
	parts := strings.Split(p, "/")
	for i, part := range parts {
		part, _, _ = strings.Cut(part, ";")
		parts[i] = strings.TrimSpace(part)
	}
	return strings.Join(parts, "/")
}

// merged makes one of several slashes in a row.
func merged(p string) string {
	for strings.Contains(p, "//") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	return p
}

// undotted removes dots as RFC 3986 and browsers do, to whom an empty part is a part:
// in /orders//../7 it is what the dots remove.
func undotted(p string) string {
	if !strings.Contains(p, "/.") {
		return p
	}
	var out []string
	for part := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
		switch part {
		case ".":
		case "..":
			out = out[:max(0, len(out)-1)]
		default:
			out = append(out, part)
		}
	}
	return "/" + strings.Join(out, "/")
}

// both returns a path with a slash at its end, and without.
func both(segments []string) []way {
	if n := len(segments); n > 0 && segments[n-1] == "" {
		segments = segments[:n-1]
	}
	slashed := way{append(slices.Clone(segments), ""), true}
	if len(segments) == 0 {
		return []way{slashed}
	}
	return []way{{segments, false}, slashed}
}
