package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/rule"
)

// defaulted gives a field a default.
func defaulted[T any](f field[T], def string) field[T] {
	f.def = def
	return f
}

// An expandedLine is a line in which ${NAME} is replaced.
func expandedLine[T any](name, about, example string, of func(*T) *string) field[T] {
	f := line(name, about, example, of)
	f.read = func(r *reader, to *T, n *node) {
		if s, ok := r.expanded(n, name, example); ok {
			*of(to) = s
		}
	}
	return f
}

// A listenField is an address to listen on.
func listenField[T any](name, about, def string, of func(*T) *string) field[T] {
	f := defaulted(line(name, about, def, of), def)
	f.read = func(r *reader, to *T, n *node) {
		if n.kind == number {
			r.say(n.at, BadValue, fmt.Sprintf("write 127.0.0.1:%s, or :%[1]s for every address", n.text), "%s: %s lacks a host and a colon", name, n.text)
			return
		}
		s, ok := r.expanded(n, name, def)
		if !ok {
			return
		}
		_, port, err := net.SplitHostPort(s)
		number, bad := strconv.Atoi(port)
		switch {
		case err != nil && strings.Contains(s, "://"):
			r.say(n.at, BadValue, "write "+def, "%s: %s is a URL, and should be host:port", name, show(s))
		case err != nil:
			r.say(n.at, BadValue, "write "+def, "%s: %s is not host:port", name, show(s))
		case bad != nil || number < 0 || number > 65535:
			r.say(n.at, BadValue, "use one from 1 to 65535, or 0 for any that is free", "%s: %s is not a port", name, show(port))
		default:
			*of(to) = s
		}
	}
	return f
}

// engineURL is what an address looks like that an engine may understand.
var engineURL = regexp.MustCompile(`^rediss?(\+sentinel|\+cluster)?://[^\s/]\S*$`)

var engineField = field[Config]{
	name: "engine", about: "Where locks and records are: memory, a redis URL, or quorum or standby with a list of them.",
	read: func(r *reader, c *Config, n *node) {
		if n.kind == mapping {
			c.Engine = Engine{}
			engineShape.read(r, &c.Engine, n)
			r.checkEngine(&c.Engine, n)
			return
		}
		if s, ok := r.engine(n, true); ok {
			c.Engine = Engine{URL: s}
		}
	},
	show: func(c *Config) *node {
		if c.Engine.URL != "" {
			return textNode(redact(c.Engine.URL))
		}
		return engineShape.print(&c.Engine)
	},
	schema: func() *jsonschema.Schema { return either(textSchema("memory"), engineShape.schemaOf()) },
}

var engineShape = shape[Engine]{what: "engine", fields: []field[Engine]{
	enginesField("quorum", "Three or more URLs of independent servers; most of them decide.", func(e *Engine) *[]string { return &e.Quorum }),
	enginesField("standby", "Two URLs; the first is used until an operator switches.", func(e *Engine) *[]string { return &e.Standby }),
}}

func enginesField(name, about string, of func(*Engine) *[]string) field[Engine] {
	return field[Engine]{
		name: name, about: about,
		read: func(r *reader, e *Engine, n *node) {
			if n.kind != list {
				r.wrongType(n, name, "be a list", "write "+name+": [redis://a:6379, redis://b:6379, …]")
				return
			}
			for _, item := range n.items {
				s, ok := r.engine(item, false)
				if ok && slices.Contains(*of(e), s) {
					r.say(item.at, Duplicate, "name each server once", "%s is there twice", show(redact(s)))
				}
				*of(e) = append(*of(e), s)
			}
		},
		show: func(e *Engine) *node {
			shown := slices.Clone(*of(e))
			for i := range shown {
				shown[i] = redact(shown[i])
			}
			return textList(shown)
		},
		schema: func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "array", Items: textSchema(), MinItems: new(2), Examples: []any{"[redis://a:6379, redis://b:6379]"}}
		},
	}
}

// engine reads the address of one engine.
func (r *reader) engine(n *node, memory bool) (string, bool) {
	s, ok := r.expanded(n, "engine", "redis://127.0.0.1:6379")
	switch {
	case !ok:
		return "", false
	case s == "memory" && memory, engineURL.MatchString(s):
		return s, true
	case s == "memory":
		r.say(n.at, Conflict, "use redis URLs, or engine: memory by itself", "memory is in one process, and cannot be one of several")
	case rule.Meant(s, []string{"memory"}) != "":
		r.say(n.at, BadValue, "did you mean memory?", "engine: %s is not known", show(s))
	case s == "redis":
		r.say(n.at, BadValue, "write redis://127.0.0.1:6379", "engine: redis does not say where")
	case !memory:
		r.say(n.at, BadValue, "write redis://host:6379, and in quotes if there are commas in it", "engine: %s is not known", show(redact(s)))
	default:
		r.say(n.at, BadValue, "write memory, redis://host:6379, redis+sentinel://a,b,c/mymaster or redis+cluster://a,b", "engine: %s is not known", show(redact(s)))
	}
	return "", false
}

func (r *reader) checkEngine(e *Engine, n *node) {
	quorum, standby := n.field("quorum"), n.field("standby")
	switch {
	case quorum != nil && standby != nil:
		r.say(standby.at, Conflict, "keep one", "engine has both quorum and standby")
	case quorum == nil && standby == nil:
		r.say(n.at, Missing, "add quorum: [a, b, c] or standby: [a, b], or write one URL instead", "engine says neither quorum nor standby")
	case quorum != nil && quorum.kind == list && len(e.Quorum) < 3:
		r.say(quorum.at, BadValue, "name three or five; for two, use standby", "a quorum of %d has no majority without all of them", len(e.Quorum))
	case standby != nil && standby.kind == list && len(e.Standby) != 2:
		r.say(standby.at, BadValue, "name two: the one in use, and the one to switch to", "standby has %d engines", len(e.Standby))
	}
}

// password is in a URL what is not to be shown.
var password = regexp.MustCompile(`(://[^/@\s]*?:)[^/@\s]+@`)

// redact hides the password of a URL.
func redact(s string) string { return password.ReplaceAllString(s, "${1}***@") }

func upstreamField[T any](of func(*T) *Upstream) field[T] {
	return field[T]{
		name: "to", about: "Who does the work: a URL, a list of them that take turns, or fields.",
		read: func(r *reader, t *T, n *node) { r.upstream(of(t), n) },
		show: func(t *T) *node { return upstreamShape.print(of(t)) },
		schema: func() *jsonschema.Schema {
			s := oneOrMore(textSchema("http://127.0.0.1:9000"))
			s.AnyOf = append(s.AnyOf, upstreamShape.schemaOf())
			return s
		},
	}
}

func (r *reader) upstream(u *Upstream, n *node) {
	*u = *newUpstream()
	if n.kind == mapping {
		upstreamShape.read(r, u, n)
		for _, to := range u.To {
			if u.H2C && to.Scheme == "https" {
				r.say(n.field("h2c").at, Conflict, "leave it out: with https HTTP/2 is agreed on by itself", "h2c does not go with %s", show(to.Redacted()))
				break
			}
		}
		return
	}
	urlField.read(r, u, n)
}

var urlField = field[Upstream]{
	name: "url", about: "Where it is, http or https; a list takes turns.",
	read: func(r *reader, u *Upstream, n *node) {
		for _, item := range r.each(n, "to") {
			if to := r.url(item); to != nil {
				if slices.ContainsFunc(u.To, func(o *url.URL) bool { return o.String() == to.String() }) {
					r.say(item.at, Duplicate, "name each once", "%s is there twice", show(to.Redacted()))
				}
				u.To = append(u.To, to)
			}
		}
	},
	show: func(u *Upstream) *node {
		all := make([]string, len(u.To))
		for i, to := range u.To {
			all[i] = redact(to.String())
		}
		return textList(all)
	},
	schema: func() *jsonschema.Schema { return oneOrMore(textSchema("http://127.0.0.1:9000")) },
}

// url reads where a service is.
func (r *reader) url(n *node) *url.URL {
	s, ok := r.expanded(n, "to", "http://127.0.0.1:9000")
	if !ok {
		return nil
	}
	u, err := url.Parse(s)
	switch {
	case !strings.Contains(s, "://"):
		r.say(n.at, BadValue, "write http://"+shorten(s), "to: %s has no scheme", show(s))
	case err != nil || u.Host == "" || u.Hostname() == "":
		r.say(n.at, BadValue, "write http://127.0.0.1:9000", "to: %s is not a URL", show(redact(s)))
	case u.Scheme != "http" && u.Scheme != "https":
		r.say(n.at, BadValue, "use http or https", "to: there is no way to speak %s", show(u.Scheme))
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		r.say(n.at, BadValue, "leave out what follows the ? or #", "to: %s has more than a path", show(redact(s)))
	case u.User != nil:
		r.say(n.at, BadValue, "let the clients authenticate, or put it behind a network of its own", "to: user and password in a URL are not sent on")
	default:
		if u, err = url.Parse(u.String()); err == nil { // in the one form it is printed in
			return u
		}
		r.say(n.at, BadValue, "write http://127.0.0.1:9000", "to: %s is not a URL", show(redact(s)))
	}
	return nil
}

var trustedField = field[Config]{
	name: "trusted-proxies", about: "Addresses of proxies whose X-Forwarded-* and principal header are believed.",
	read: func(r *reader, c *Config, n *node) {
		for _, item := range r.each(n, "trusted-proxies") {
			s, ok := r.text(item, "trusted-proxies", "[10.0.0.0/8]")
			if !ok {
				continue
			}
			p, err := netip.ParsePrefix(s)
			if a, bad := netip.ParseAddr(s); bad == nil && a.Zone() == "" {
				p, err = netip.PrefixFrom(a, a.BitLen()), nil
			}
			switch {
			case err != nil:
				r.say(item.at, BadValue, "write 10.0.0.0/8, or one address", "trusted-proxies: %s is not an address", show(s))
			case p.Bits() == 0:
				r.say(item.at, BadValue, "name the network your proxies are in", "trusted-proxies: %s is everybody, and anybody could say who they are", s)
			case p != p.Masked():
				r.say(item.at, BadValue, fmt.Sprintf("write %s", p.Masked()), "trusted-proxies: %s has bits behind its mask", s)
			default:
				c.Trusted = append(c.Trusted, p)
			}
		}
	},
	show: func(c *Config) *node {
		all := make([]string, len(c.Trusted))
		for i, p := range c.Trusted {
			all[i] = p.String()
		}
		return textList(all)
	},
	schema: func() *jsonschema.Schema { return oneOrMore(textSchema("10.0.0.0/8")) },
}

var headerField = field[Principal]{
	name: "header", about: "A header that a proxy in trusted-proxies sets; anybody else's is refused.",
	read: func(r *reader, p *Principal, n *node) {
		if s, ok := r.text(n, "header", "X-User"); ok {
			p.Header = r.headerName(s, n)
		}
	},
	show:   func(p *Principal) *node { return textNode(p.Header) },
	schema: func() *jsonschema.Schema { return textSchema("X-User") },
}

// fieldName is what the name of a header looks like (RFC 9110).
var fieldName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// headerName returns the name of a header in its one form.
func (r *reader) headerName(s string, n *node) string {
	if !fieldName.MatchString(s) {
		r.say(n.at, BadValue, "use letters, digits and dashes, as in X-User", "%s is not the name of a header", show(s))
		return ""
	}
	return textproto.CanonicalMIMEHeaderKey(s)
}

func principalField[T any](about string, of func(*T) *Principal) field[T] {
	return field[T]{
		name: "principal", about: about,
		read: func(r *reader, t *T, n *node) { r.principal(of(t), n) },
		show: func(t *T) *node {
			switch p := of(t); {
			case p.None:
				return textNode("none")
			case p.MTLS:
				return textNode("mtls")
			case p.Header != "" || p.JWT != nil:
				return principalShape.print(p)
			}
			return nil
		},
		schema: func() *jsonschema.Schema { return either(words("none", "mtls"), principalShape.schemaOf()) },
	}
}

func (r *reader) principal(p *Principal, n *node) {
	*p = Principal{}
	if n.kind == mapping {
		principalShape.read(r, p, n)
		r.checkPrincipal(p, n)
		return
	}
	s, ok := r.text(n, "principal", "none")
	switch {
	case !ok:
	case s == "none":
		p.None = true
	case s == "mtls":
		p.MTLS = true
	case s == "header":
		r.say(n.at, BadValue, "write principal: {header: X-User}", "principal: header does not say which")
	case s == "jwt":
		r.say(n.at, BadValue, "write principal: {jwt: {jwks: https://…}}", "principal: jwt does not say how it is verified")
	default:
		r.say(n.at, BadValue, "write none, mtls, {header: X-User} or {jwt: {jwks: https://…}}", "principal: %s is not known", show(s))
	}
}

func (r *reader) checkPrincipal(p *Principal, n *node) {
	header, jwt := n.field("header"), n.field("jwt")
	switch {
	case header != nil && jwt != nil:
		r.say(jwt.at, Conflict, "keep one", "principal has both header and jwt: which of them counts?")
	case header == nil && jwt == nil:
		r.say(n.at, Missing, "add header: X-User or jwt: …, or write principal: none", "principal says nothing")
	case jwt != nil && jwt.kind == mapping:
		r.checkJWT(p.JWT, jwt)
	}
}
