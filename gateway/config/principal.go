package config

import (
	"net/textproto"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"
)

// headerField is only safe behind trusted proxies; checkPrincipalSource requires them.
var headerField = field[Principal]{
	name: "header", description: "A header set by a proxy in trusted-proxies; from other senders it is refused.",
	read: func(r *reader, p *Principal, n *node) {
		if s, ok := r.text(n, "header", "X-User"); ok {
			p.Header = r.headerName(s, n)
		}
	},
	print:  func(p *Principal) *node { return textNode(p.Header) },
	schema: func() *jsonschema.Schema { return textSchema("X-User") },
}

// fieldName matches the name of a header (RFC 9110).
var fieldName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// headerName returns the canonical name of a header.
func (r *reader) headerName(s string, n *node) string {
	if !fieldName.MatchString(s) {
		r.errorf(n.at, BadValue, "use letters, digits and dashes, as in X-User", "%s is not the name of a header", quote(s))
		return ""
	}
	// net/http stores names in this form, and the gateway looks them up in its map.
	return textproto.CanonicalMIMEHeaderKey(s)
}

// principalField is shared by the file and its rules.
func principalField[T any](about string, ptr func(*T) *Principal) field[T] {
	return field[T]{
		name: "principal", description: about,
		read: func(r *reader, t *T, n *node) { r.principal(ptr(t), n) },
		print: func(t *T) *node {
			switch p := ptr(t); {
			case p.None:
				return textNode("none")
			case p.MTLS:
				return textNode("mtls")
			case p.Header != "" || p.JWT != nil:
				return principalShape.print(p)
			}
			return nil
		},
		schema: func() *jsonschema.Schema { return anyOf(enumSchema("none", "mtls"), principalShape.schemaOf()) },
	}
}

// principal reads none, mtls, or a mapping with header or jwt.
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
	// Users often write only the kind; the hint shows what is missing.
	case s == "header":
		r.errorf(n.at, BadValue, "write principal: {header: X-User}", "principal: header does not name the header")
	case s == "jwt":
		r.errorf(n.at, BadValue, "write principal: {jwt: {jwks: https://…}}", "principal: jwt does not name the key that verifies tokens")
	default:
		r.errorf(n.at, BadValue, "write none, mtls, {header: X-User} or {jwt: {jwks: https://…}}", "principal: %s is not a kind of authentication", quote(s))
	}
}

// checkPrincipal reports a principal with both sources or with neither.
func (r *reader) checkPrincipal(p *Principal, n *node) {
	header, jwt := n.field("header"), n.field("jwt")
	switch {
	case header != nil && jwt != nil:
		r.errorf(jwt.at, Conflict, "keep one", "principal has both header and jwt")
	case header == nil && jwt == nil:
		r.errorf(n.at, Missing, "add header: X-User or jwt: …, or write principal: none", "principal is empty")
	case jwt != nil && jwt.kind == mapping:
		r.checkJWT(p.JWT, jwt)
	}
}
