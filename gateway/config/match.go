package config

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/rule"
)

// match reads the requests of a rule: "POST,PUT /orders/{id}", or fields.
func (r *reader) match(m *Match, n *node) {
	// YAML reads an unquoted {method} as a mapping with an empty value; r.text reports it.
	unquoted := n.flow && len(n.pairs) == 1 && n.pairs[0].value.kind == null // such as {method}
	if n.kind == mapping && !unquoted {
		matchShape.read(r, m, n)
		return
	}
	s, ok := r.text(n, "match", "POST /orders/{id}/pay")
	if !ok {
		return
	}
	at := n.inside()
	first, rest, hasMethod := strings.Cut(s, " ")
	if hasMethod {
		// Positions move along with the text, so that a caret points at the word with the
		// mistake.
		m.Methods = r.methods(first, at)
		at.Col += len(first) + 1
		s = rest
	} else if !strings.HasPrefix(s, "/") {
		r.errorf(at, BadValue, "write POST "+examplePath(s)+", or "+examplePath(s)+" for any method", "match: %s has no path", quote(s))
		return
	}
	m.Path = r.pattern(s, at)
}

// examplePath suggests a path for a match without one: POST becomes /orders, orders becomes
// /orders.
func examplePath(s string) string {
	if s == strings.ToUpper(s) {
		return "/orders"
	}
	return "/" + truncate(s)
}

// methods reads a list of methods such as POST,PUT.
func (r *reader) methods(s string, at rule.Pos) (all []string) {
	for m := range strings.SplitSeq(s, ",") {
		switch upper := strings.ToUpper(m); {
		case m == "":
			r.errorf(at, BadValue, "write POST,PUT without spaces", "match: there is no method next to a comma")
		case !fieldName.MatchString(m):
			r.errorf(at, BadValue, "write POST /orders", "match: %s is not a method", quote(m))
		case m != upper:
			r.errorf(at, BadValue, "write "+upper, "match: the method %s is not in capitals", quote(m))
		case slices.Contains(all, m):
			r.errorf(at, Duplicate, "keep one", "match: the method %s occurs twice", m)
		// Unknown methods are allowed, but POTS is more likely a mistake than a method.
		case !slices.Contains(knownMethods, m) && rule.Meant(strings.ToLower(m), lower(knownMethods)) != "":
			r.errorf(at, BadValue, "did you mean "+strings.ToUpper(rule.Meant(strings.ToLower(m), lower(knownMethods)))+"?", "match: %s is not a method", m)
		default:
			all = append(all, m)
		}
		at.Col += len(m) + 1
	}
	return all
}

// knownMethods are the methods that a misspelled one could mean. Other methods are allowed.
var knownMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"}

// lower is for rule.Meant, whose names are in lower case.
func lower(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = strings.ToLower(s)
	}
	return out
}

// pattern reads a path in the syntax of http.ServeMux.
func (r *reader) pattern(s string, at rule.Pos) string {
	// The first cases explain a mistake better than net/http, whose error comes last.
	switch why := badPattern(s); {
	case strings.Contains(s, "://"):
		r.errorf(at, BadValue, "write the path here, and the host in host:", "match: %s is a URL, not a path", quote(s))
	case !strings.HasPrefix(s, "/"):
		r.errorf(at, BadValue, "write /"+truncate(s), "match: the path %s does not begin with a slash", quote(s))
	case strings.ContainsAny(s, "?#"):
		r.errorf(at, BadValue, "leave it out: any query matches; for a part of a key, write {query.name}", "match: %s contains more than a path", quote(s))
	case strings.Contains(s, "*"):
		r.errorf(at, BadValue, "write {name} for one part, or {rest...} for all that follow", "match: a path has no wildcard *")
	case why != "":
		r.errorf(at, BadValue, "write /orders/{id}, /files/{rest...} or /shop/", "match: %s: %s", quote(s), why)
	default:
		return s
	}
	return ""
}

// badPattern returns what net/http rejects in a pattern, or "". ServeMux panics with that
// text, and has no function that returns an error.
func badPattern(s string) (why string) {
	defer func() {
		if p := recover(); p != nil {
			why = fmt.Sprint(p)
			// The text before the last colon repeats the pattern.
			if i := strings.LastIndex(why, ": "); i >= 0 {
				why = why[i+2:]
			}
		}
	}()
	// ServeMux would read the text before a space as a method.
	if strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return "the path contains a space"
	}
	http.NewServeMux().Handle(s, http.NotFoundHandler())
	return ""
}

// wildcard matches a wildcard of a pattern.
var wildcard = regexp.MustCompile(`\{([^{}.$]+)(\.\.\.)?\}`)

// wildcards returns the names of the path's wildcards.
func (m *Match) wildcards() []string {
	return wildcardsIn(m.Path)
}

func wildcardsIn(path string) (names []string) {
	for _, w := range wildcard.FindAllStringSubmatch(path, -1) {
		names = append(names, w[1])
	}
	return names
}

// methodsField is one method or a list.
var methodsField = field[Match]{
	name: "method", description: "The method, or a list; without it, any.",
	read: func(r *reader, m *Match, n *node) {
		var all []string
		for _, item := range r.each(n, "method") {
			if s, ok := r.text(item, "method", "POST"); ok {
				all = append(all, s)
			}
		}
		// Both forms have the same checks.
		m.Methods = r.methods(strings.Join(all, ","), n.at)
	},
	print:  func(m *Match) *node { return textList(m.Methods) },
	schema: func() *jsonschema.Schema { return oneOrMore(textSchema("POST")) },
}

// pathField is required: a rule for every path is written as path: /.
var pathField = field[Match]{
	name: "path", description: "The path, in the syntax of http.ServeMux: /orders/{id}, /files/{rest...}, /shop/.",
	read: func(r *reader, m *Match, n *node) {
		if s, ok := r.text(n, "path", "/orders/{id}"); ok {
			m.Path = r.pattern(s, n.inside())
		}
	},
	print: func(m *Match) *node { return textNode(m.Path) },
	schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Pattern: "^/", Examples: []any{"/orders"}}
	},
}

// alsoField has further paths, for frameworks that route several paths to one action.
var alsoField = field[Match]{
	name: "also", description: "Further paths of the rule, with the same wildcards, such as /orders.json.",
	read: func(r *reader, m *Match, n *node) {
		for _, item := range r.each(n, "also") {
			if s, ok := r.text(item, "also", "/orders.json"); ok {
				if s = r.pattern(s, item.inside()); s != "" {
					m.Also = append(m.Also, s)
				}
			}
		}
	},
	print:  func(m *Match) *node { return textList(m.Also) },
	schema: func() *jsonschema.Schema { return oneOrMore(textSchema("/orders.json")) },
}

// hostName matches a host name with an optional *. before it.
var hostName = regexp.MustCompile(`^(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$`)

// hostField is compared without case and port.
var hostField = field[Match]{
	name: "host", description: "The host, without a port; a leading *. stands for any labels.",
	read: func(r *reader, m *Match, n *node) {
		s, ok := r.text(n, "host", "shop.example.com")
		switch plain := strings.ToLower(s); {
		case !ok:
		// The second form is an IPv6 address.
		case hostName.MatchString(plain), strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]"):
			m.Host = plain
		case strings.Contains(s, ":"):
			r.errorf(n.at, BadValue, "leave the port out: any port matches", "host: %s has a port", quote(s))
		default:
			r.errorf(n.at, BadValue, "write shop.example.com or *.example.com", "host: %s is not a host name", quote(s))
		}
	},
	print:  func(m *Match) *node { return textNode(m.Host) },
	schema: func() *jsonschema.Schema { return textSchema("shop.example.com") },
}

// headersField has the headers of a request, each with a value or *.
var headersField = field[Match]{
	name: "header", description: "Required headers, each a name with a value; * is any value.",
	read: func(r *reader, m *Match, n *node) {
		if n.kind != mapping {
			r.wrongType(n, "header", "have fields", "write header: {X-Api: v2}")
			return
		}
		// Keys are canonical, as in http.Header: X-API and x-api are the same field.
		m.Header = map[string]string{}
		for _, p := range n.pairs {
			if name := r.headerName(p.name, &node{at: p.at}); name != "" {
				if _, twice := m.Header[name]; twice {
					r.errorf(p.at, Duplicate, "keep one: case does not matter", "header: %s occurs twice", name)
				}
				if s, ok := r.text(p.value, p.name, "v2"); ok {
					m.Header[name] = s
				}
			}
		}
	},
	print: func(m *Match) *node {
		if len(m.Header) == 0 {
			return nil
		}
		h := &node{kind: mapping}
		for _, name := range sorted(m.Header) {
			h.pairs = append(h.pairs, pair{name: name, value: textNode(m.Header[name])})
		}
		return h
	},
	schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: textSchema(), MinProperties: new(1)}
	},
}

// sorted returns the keys of a map in a stable order, for messages and printing.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
