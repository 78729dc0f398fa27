package gateway

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Upstreams read one path in different ways: many take /orders/ and //orders for
// /orders, some also /a/../orders, /ORDERS, /orders;x=1, /orders.json, /index.php/orders,
// /orders.php/x, //x/orders or /(S(x))/orders. None of these may bypass a rule for
// /orders. So the gateway refuses a path that does not match a rule, but would in another
// reading. It passes all other paths on unchanged.

// irregular reports whether a decoded path has parts that an upstream may read as another
// path: empty parts, dots, slashes or control characters.
func irregular(segments []string) bool {
	for i, s := range segments {
		switch {
		// A final slash is ordinary, and pathReadings covers it.
		case s == "" && i < len(segments)-1, s == ".", s == "..":
			return true
		case strings.ContainsAny(s, `/\`) || strings.ContainsFunc(s, unicode.IsControl):
			return true
		}
	}
	return false
}

// ambiguousSegment reports whether a part of a path changes if an upstream removes
// parameters or decodes it again. A key with such a part could name two things.
func ambiguousSegment(segment string) bool {
	again, err := url.PathUnescape(segment)
	return strings.Contains(segment, ";") || err == nil && again != segment
}

// A pathReading is one way to read a path.
type pathReading struct {
	segments  []string
	slash     bool // the path ends with a slash
	extension bool // an extension was removed from the last segment
}

// maxTexts and maxReadings bound the readings of one path, in number and in bytes. An
// ordinary path has a handful; a crafted one would have exponentially many, and cost the
// gateway more time than the client.
const (
	maxTexts    = 256
	maxReadings = 64 << 10
)

var errTooManyReadings = errors.New("the path can be read in too many ways")

// pathReadings returns the readings of a path besides the plain one. It applies all
// rewrites in every order, each with and without a final slash.
func pathReadings(escaped string, segments []string, plain bool) ([]pathReading, error) {
	readings := bothSlashes(segments)
	// The common case: no rewrite below changes such a path, except for its final slash.
	if plain && !strings.ContainsAny(escaped, `%;.(`) {
		return readings, nil
	}
	texts, err := rewriteAll(escaped)
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		both := bothSlashes(strings.Split(strings.TrimPrefix(text, "/"), "/"))
		readings = append(readings, both...)
		// Routers look at the extension last, when the path is otherwise final.
		for _, without := range removeExtension(both[0].segments) {
			for _, r := range bothSlashes(without) {
				r.extension = true
				readings = append(readings, r)
			}
		}
	}
	return readings, nil
}

// rewriteAll applies all rewrites to a path in every order. The first result is the path
// itself.
func rewriteAll(escaped string) ([]string, error) {
	texts, seen, size := []string{escaped}, map[string]bool{escaped: true}, len(escaped)
	for i := 0; i < len(texts); i++ { // texts grows meanwhile
		for _, rewrite := range rewrites {
			text := rewrite(texts[i])
			if seen[text] {
				continue
			}
			if size += len(text) + 1; size > maxReadings || len(texts) == maxTexts {
				return nil, errTooManyReadings
			}
			seen[text] = true
			texts = append(texts, text)
		}
	}
	return texts, nil
}

// rewrites are what upstreams do to a path before they route it. Their order differs:
// some decode first, others last.
var rewrites = []func(string) string{
	decode, truncate, removeParameters, removeHost, mergeSlashes, resolveDots, removeScripts, afterScript, untilScript, removeSessions, trimDots,
	strings.NewReplacer(`\`, "/").Replace, strings.NewReplacer("%2e", ".", "%2E", ".").Replace,
}

// decode decodes a path once. A path with an invalid escape stays unchanged.
func decode(p string) string {
	if plain, err := url.PathUnescape(p); err == nil {
		return plain
	}
	return p
}

// truncate ends a path at a NUL, as C does, or at a query or fragment.
func truncate(p string) string {
	if end := strings.IndexAny(p, "\x00?#"); end >= 0 {
		return p[:end]
	}
	return p
}

// removeParameters removes ;name=value from each part of a path, and spaces around it.
func removeParameters(p string) string {
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

// removeHost removes the first part of a path after two slashes, which parse_url of PHP
// and URL of Node.js read as a host: //x/orders is /orders.
func removeHost(p string) string {
	if !strings.HasPrefix(p, "//") {
		return p
	}
	_, rest, _ := strings.Cut(strings.TrimLeft(p, "/"), "/")
	return "/" + rest
}

// mergeSlashes replaces several slashes in a row by one, as nginx does by default.
func mergeSlashes(p string) string {
	for strings.Contains(p, "//") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	return p
}

// resolveDots removes . and .. as RFC 3986 and browsers do. Unlike path.Clean, they let ..
// remove an empty part: /orders//../7 is /orders/7.
func resolveDots(p string) string {
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

// script matches a file name that a server runs with the rest of the path.
var script = regexp.MustCompile(`(?i)^[^/]+\.(php\d?|phtml|py|wsgi|cgi|fcgi|pl|rb|asp|aspx|ashx|cfm|dll|exe|jsp)$`)

// removeScripts removes the name of a script, as a front controller of PHP does:
// /index.php/orders is /orders.
func removeScripts(p string) string { return removeSegments(p, ".", script.MatchString) }

// afterScript returns the path behind the name of a script, as PATH_INFO does:
// /shop/index.php/orders is /orders.
func afterScript(p string) string {
	parts := strings.Split(p, "/")
	i := slices.IndexFunc(parts, script.MatchString)
	if i < 0 || i == len(parts)-1 {
		return p
	}
	return "/" + strings.Join(parts[i+1:], "/")
}

// untilScript returns the path up to the name of a script, inclusive. The script gets the
// rest as PATH_INFO: /orders.php/x is /orders.php.
func untilScript(p string) string {
	parts := strings.Split(p, "/")
	if i := slices.IndexFunc(parts, script.MatchString); i >= 0 {
		parts = parts[:i+1]
	}
	return strings.Join(parts, "/")
}

// session matches a part that ASP.NET adds for clients without cookies: (S(x)), (A(x)F(y)).
var session = regexp.MustCompile(`^\(([A-Za-z]\([^()]*\))+\)$`)

// removeSessions removes the parts that match session.
func removeSessions(p string) string { return removeSegments(p, "(", session.MatchString) }

// removeSegments removes the segments that match, but not the last one. A path without
// mark has no such segments.
func removeSegments(p, mark string, match func(string) bool) string {
	if !strings.Contains(p, mark) {
		return p
	}
	parts := strings.Split(p, "/")
	last := len(parts) - 1
	return strings.Join(append(slices.DeleteFunc(slices.Clone(parts[:last]), match), parts[last]), "/")
}

// trimDots removes dots at the end of a segment, as Windows does with names of files.
func trimDots(p string) string {
	if !strings.Contains(p, ".") {
		return p
	}
	parts := strings.Split(p, "/")
	for i, part := range parts {
		if part != "." && part != ".." {
			parts[i] = strings.TrimRight(part, ".")
		}
	}
	return strings.Join(parts, "/")
}

// removeExtension removes the extension from the last segment: from its last dot, as the
// router of Rails does with any extension, and from its first dot, as Sinatra does.
func removeExtension(segments []string) (without [][]string) {
	if len(segments) == 0 {
		return nil
	}
	last := len(segments) - 1
	name := segments[last]
	for _, dot := range []int{strings.LastIndexByte(name, '.'), strings.IndexByte(name, '.')} {
		// A dot begins an extension only if it has a name before it and text after it.
		if stem := strings.TrimRight(name[:max(dot, 0)], "."); stem != "" && dot < len(name)-1 {
			without = append(without, append(slices.Clone(segments[:last]), stem))
		}
	}
	return without
}

// bothSlashes returns a path without and with a final slash.
func bothSlashes(segments []string) []pathReading {
	if n := len(segments); n > 0 && segments[n-1] == "" {
		segments = segments[:n-1]
	}
	// Without the clone, append could write into the caller's slice.
	slashed := pathReading{segments: append(slices.Clone(segments), ""), slash: true}
	if len(segments) == 0 {
		return []pathReading{slashed}
	}
	return []pathReading{{segments: segments}, slashed}
}
