package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// upstreamField is a URL, a list of URLs, or a mapping with url and options.
func upstreamField[T any](ptr func(*T) *Upstream) field[T] {
	return field[T]{
		name: "to", description: "The upstream: a URL, a list of URLs used in turn, or fields.",
		read:  func(r *reader, t *T, n *node) { r.upstream(ptr(t), n) },
		print: func(t *T) *node { return upstreamShape.print(ptr(t)) },
		schema: func() *jsonschema.Schema {
			s := oneOrMore(textSchema("http://127.0.0.1:9000"))
			s.AnyOf = append(s.AnyOf, upstreamShape.schemaOf())
			return s
		},
	}
}

// upstream reads an upstream in any of its forms, starting from the defaults.
func (r *reader) upstream(u *Upstream, n *node) {
	// A rule's upstream inherits nothing from the file's.
	*u = *newUpstream()
	if n.kind == mapping {
		upstreamShape.read(r, u, n)
		for _, to := range u.To {
			if u.H2C && to.Scheme == "https" {
				r.errorf(n.field("h2c").at, Conflict, "leave it out: https negotiates HTTP/2 itself", "h2c is HTTP/2 without TLS, and %s uses TLS", quote(to.Redacted()))
				break
			}
		}
		return
	}
	urlField.read(r, u, n)
}

// urlField is both the field url and the short form of to:, which has no fields.
var urlField = field[Upstream]{
	name: "url", description: "URL of the upstream, http or https; the URLs of a list are used in turn.",
	read: func(r *reader, u *Upstream, n *node) {
		for _, item := range r.each(n, "to") {
			if to := r.url(item); to != nil {
				// A server that is listed twice would get twice the requests, probably by
				// mistake.
				if slices.ContainsFunc(u.To, func(o *url.URL) bool { return o.String() == to.String() }) {
					r.errorf(item.at, Duplicate, "name each once", "to: %s occurs twice", quote(to.Redacted()))
				}
				u.To = append(u.To, to)
			}
		}
	},
	print: func(u *Upstream) *node {
		all := make([]string, len(u.To))
		for i, to := range u.To {
			all[i] = redact(to.String())
		}
		return textList(all)
	},
	schema: func() *jsonschema.Schema { return oneOrMore(textSchema("http://127.0.0.1:9000")) },
}

// url reads the URL of a service.
func (r *reader) url(n *node) *url.URL {
	s, ok := r.expanded(n, "to", "http://127.0.0.1:9000")
	if !ok {
		return nil
	}
	u, err := url.Parse(s)
	switch {
	case !strings.Contains(s, "://"):
		r.errorf(n.at, BadValue, "write http://"+truncate(s), "to: %s has no scheme", quote(s))
	case err != nil || u.Host == "" || u.Hostname() == "":
		r.errorf(n.at, BadValue, "write http://127.0.0.1:9000", "to: %s is not a URL", quote(redact(s)))
	case u.Scheme != "http" && u.Scheme != "https":
		r.errorf(n.at, BadValue, "use http or https", "to: the scheme %s is not supported", quote(u.Scheme))
	// The gateway sends the client's query, so one in the URL would be mixed with it.
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		r.errorf(n.at, BadValue, "leave out what follows the ? or #", "to: %s has a query or fragment", quote(redact(s)))
	// ReverseProxy does not copy the user of a target's URL, so it would have no effect.
	case u.User != nil:
		r.errorf(n.at, BadValue, "leave them out; let clients authenticate, or put the service into a private network", "to: the gateway does not send user and password of a URL")
	default:
		if u, err = url.Parse(u.String()); err == nil { // in its canonical form
			return u
		}
		r.errorf(n.at, BadValue, "write http://127.0.0.1:9000", "to: %s is not a URL", quote(redact(s)))
	}
	return nil
}
