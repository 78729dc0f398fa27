package gateway

import (
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

// mostDecoded is how often something behind us may decode a path.
const mostDecoded = 3

// straightened returns the ways in which a path may be read besides the plain one:
// decoded again, with backslashes for slashes, without parameters, without dots and
// empty parts; with a slash at its end, and without.
func straightened(escaped string) [][]string {
	p := escaped
	for range mostDecoded {
		plain, err := url.PathUnescape(p)
		if err != nil || plain == p {
			break
		}
		p = plain
	}
	p = strings.ReplaceAll(p, `\`, "/")
	p, _, _ = strings.Cut(p, "\x00") // where C ends a text
	parts := strings.Split(p, "/")
	for i, part := range parts {
		part, _, _ = strings.Cut(part, ";")
		parts[i] = strings.TrimSpace(part)
	}
	p = path.Clean("/" + strings.Join(parts, "/"))
	segments := strings.Split(p[1:], "/")
	return [][]string{segments, append(slices.Clone(segments), "")}
}
