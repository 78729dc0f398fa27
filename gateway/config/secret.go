package config

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/rule"
)

// signatures are the known signature algorithms of tokens.
var signatures = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "HS256", "HS384", "HS512"}

// checkJWT reports settings that contradict each other, and fills in defaults.
func (r *reader) checkJWT(j *JWT, n *node) {
	file, jwks := n.field("key-file"), n.field("jwks")
	switch {
	case file == nil && jwks == nil:
		r.errorf(n.at, Missing, "add key-file: jwt.pem, or jwks: https://…", "jwt has no key to verify tokens with")
	case file != nil && jwks != nil:
		r.errorf(jwks.at, Conflict, "keep one", "jwt has both key-file and jwks")
	case jwks != nil && j.JWKS != "":
		r.checkJWKS(j.JWKS, jwks)
	}
	if j.Claim == "" {
		j.Claim = DefaultClaim
	}
	if algs := n.field("algs"); algs != nil {
		r.checkAlgs(j, algs)
	} else {
		// A clone, so that a program that edits its Config does not change the defaults.
		j.Algs = slices.Clone(defaultAlgs)
	}
}

// checkJWKS refuses a URL without TLS, except on this machine.
func (r *reader) checkJWKS(s string, n *node) {
	if !strings.Contains(s, "://") {
		return // a file
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		r.errorf(n.at, BadValue, "write https://login.example.com/jwks.json, or a file", "jwks: %s is not a URL", quote(redact(s)))
	case u.Scheme == "http" && !loopback(u.Hostname()):
		r.errorf(n.at, BadValue, "use https: an attacker who replaces the keys could sign in as any user", "jwks: %s is not encrypted", quote(redact(s)))
	}
}

// checkAlgs refuses unsigned tokens, and HS algorithms together with public keys.
func (r *reader) checkAlgs(j *JWT, n *node) {
	for _, item := range r.each(n, "algs") {
		a := item.text
		switch {
		case item.kind != text:
		// Libraries that accept the algorithm "none" let any client sign in as any user.
		case strings.EqualFold(a, "none"):
			r.errorf(item.at, BadValue, "use RS256, ES256 or EdDSA", `algs: with "none", unsigned tokens would be accepted`)
		case !slices.Contains(signatures, a):
			hint := "choose from " + strings.Join(signatures, ", ")
			if i := slices.IndexFunc(signatures, func(s string) bool { return strings.EqualFold(s, a) }); i >= 0 {
				hint = "write " + signatures[i]
			} else if meant := rule.Meant(a, signatures); meant != "" {
				hint = "did you mean " + meant + "?"
			}
			r.errorf(item.at, BadValue, hint, "algs: %s is not a signature algorithm", quote(a))
		case strings.HasPrefix(a, "HS") && j.JWKS != "":
			r.errorf(item.at, Conflict, "use key-file with the secret, or RS256 with jwks", "%s needs a secret, and the keys of jwks are public", a)
		// With both kinds allowed, a client could sign with the public key as if it were
		// the secret.
		case strings.HasPrefix(a, "HS") && slices.ContainsFunc(j.Algs, func(s string) bool { return !strings.HasPrefix(s, "HS") }):
			r.errorf(item.at, Conflict, "keep either the HS algorithms or the others", "%s needs a secret, and the others a public key, which a client could pass off as the secret", a)
		}
	}
}

// loopback reports whether a host is this machine.
// A name other than localhost is not resolved: DNS could change after the check.
func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// secretsField names where the secrets are. A secret in the file itself is refused, and not
// shown in the message.
var secretsField = field[Config]{
	name: "secrets", description: "Secrets for computing fingerprints (HMAC) and signing tokens, newest first; without one, fingerprints are plain hashes, and tokens are valid until a restart.",
	read: func(r *reader, c *Config, n *node) {
		for _, item := range r.each(n, "secrets") {
			if item.kind == text {
				r.secretError(item, "put it in a file or an environment variable, and write file: or env:", "the file contains a secret")
				continue
			}
			var s Secret
			secretShape.read(r, &s, item)
			r.oneOf(item, "a secret", "file", "env")
			// An empty secret has been reported by oneOf.
			if slices.Contains(c.Secrets, s) && s != (Secret{}) {
				r.errorf(item.at, Duplicate, "keep one", "the same secret occurs twice")
			}
			c.Secrets = append(c.Secrets, s)
		}
	},
	print: func(c *Config) *node { return shapeList(secretShape, c.Secrets) },
	schema: func() *jsonschema.Schema {
		return oneOrMore(secretShape.schemaOf())
	},
}

// oneOf reports a mapping that does not have exactly one of some fields.
func (r *reader) oneOf(n *node, what string, names ...string) {
	if n.kind != mapping {
		return
	}
	var found []pair
	for _, p := range n.pairs {
		if slices.Contains(names, p.name) {
			found = append(found, p)
		}
	}
	switch list := strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]; {
	case len(found) == 0:
		r.errorf(n.at, Missing, "add "+list, "%s has no source", what)
	case len(found) > 1:
		r.errorf(found[1].at, Conflict, "keep one", "%s has both %s and %s", what, found[0].name, found[1].name)
	}
}

// shapeList prints a list of mappings.
func shapeList[T any](s shape[T], all []T) *node {
	if len(all) == 0 {
		return nil
	}
	l := &node{kind: list}
	for i := range all {
		l.items = append(l.items, s.print(&all[i]))
	}
	return l
}

// adminField is an address, or a mapping. An empty value is a mistake: it could mean the
// defaults, or that the API is off.
var adminField = func() field[Config] {
	f := optionalSection("admin", "The listener of the admin API: an address, or fields; without it, there is no admin API.", adminShape, newAdmin, func(c *Config) **Admin { return &c.Admin })
	readFields := f.read
	f.read = func(r *reader, c *Config, n *node) {
		switch {
		case n.kind == null && !n.flow:
			r.errorf(n.at, Missing, "write admin: {} for the defaults, or leave it out", "admin has no value")
		// A number is passed on, because the field listen explains a port without an
		// address.
		case n.kind == text || n.kind == number:
			c.Admin = newAdmin()
			adminShape.fields[0].read(r, c.Admin, n)
		default:
			readFields(r, c, n)
		}
	}
	f.schema = func() *jsonschema.Schema { return anyOf(textSchema(DefaultAdminListen), adminShape.schemaOf()) }
	return f
}()

// adminTokensField has the hashes or sources of tokens, never the tokens.
var adminTokensField = field[Admin]{
	name: "tokens", description: "Tokens of the API's users.",
	read: func(r *reader, a *Admin, n *node) {
		for _, item := range r.each(n, "tokens") {
			if item.kind == text {
				r.secretError(item, "write name:, role: and sha256: of the token", "the file contains a token")
				continue
			}
			// A token in place of its hash is an easy mistake, and messages end up in logs.
			if h := item.field("sha256"); h != nil {
				r.hide(h)
			}
			var t AdminToken
			adminTokenShape.read(r, &t, item)
			r.oneOf(item, "a token", "sha256", "file", "env")
			if h := item.field("sha256"); h != nil && t.SHA256 != "" && !hash.MatchString(t.SHA256) {
				r.errorf(h.at, BadValue, "write the output of sha256sum: 64 hex digits", "sha256: the value is not a SHA-256")
			}
			if slices.ContainsFunc(a.Tokens, func(o AdminToken) bool { return o.Name == t.Name }) && t.Name != "" {
				r.errorf(item.at, Duplicate, "give each its own name, which the audit log records", "two tokens have the name %s", quote(t.Name))
			}
			a.Tokens = append(a.Tokens, t)
		}
	},
	print: func(a *Admin) *node {
		redacted := slices.Clone(a.Tokens)
		for i := range redacted {
			if redacted[i].SHA256 != "" {
				redacted[i].SHA256 = zeroHash
			}
		}
		return shapeList(adminTokenShape, redacted)
	},
	schema: func() *jsonschema.Schema { return oneOrMore(adminTokenShape.schemaOf()) },
}

// zeroHash is printed in place of a token's hash, from which a short token could be
// guessed. It is a valid hash, so that the printed file can be parsed.
var zeroHash = strings.Repeat("0", 64)

// hash matches a SHA-256 in hex, in either case: tools differ.
var hash = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// roleField has no default: a token must not get a role by omission.
var roleField = field[AdminToken]{
	name: "role", description: "Permissions: view, or operate.",
	read: func(r *reader, t *AdminToken, n *node) {
		s, ok := r.text(n, "role", "view")
		switch {
		case !ok:
		case s != string(View) && s != string(Operate):
			r.errorf(n.at, BadValue, "write view or operate", "role: %s is not a role", quote(s))
		default:
			t.Role = Role(s)
		}
	},
	print:  func(t *AdminToken) *node { return textNode(string(t.Role)) },
	schema: func() *jsonschema.Schema { return enumSchema("view", "operate") },
}
