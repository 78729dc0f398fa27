package config

import (
	"time"
)

// The shapes of a file, from the top down. The order is that in which they are
// printed.

// top is a function, since rules and presets refer back to the reader.
func fileShape() shape[Config] {
	return shape[Config]{name: "the file", fields: []field[Config]{
		required(engineField),
		stringField("namespace", "Stands in front of every key, so that several gateways share an engine.", "shop", func(c *Config) *string { return &c.Namespace }),
		listenField("listen", "Where requests come in, host:port; without a host, on every address.", DefaultListen, func(c *Config) *string { return &c.Listen }),
		optionalSection("tls", "The server's certificate; without it there is no TLS.", tlsShape, newOf[TLS], func(c *Config) **TLS { return &c.TLS }),
		required(upstreamField(func(c *Config) *Upstream { return &c.Upstream })),
		trustedField,
		principalField("Who sent a request, for rules that do not say: none, mtls, or fields.", func(c *Config) *Principal { return &c.Principal }),
		secretsField,
		optionalSection("tokens", "The endpoint that hands out tokens of forms; without it there is none.", tokensShape, newTokens, func(c *Config) **Tokens { return &c.Tokens }),
		section("limits", "What one client may cost.", limitsShape, func(c *Config) *Limits { return &c.Limits }),
		section("timeouts", "How long a client may take.", timeoutsShape, func(c *Config) *Timeouts { return &c.Timeouts }),
		section("shutdown", "How the gateway ends.", shutdownShape, func(c *Config) *Shutdown { return &c.Shutdown }),
		adminField,
		presetsField(),
		required(rulesField()),
	}, hints: map[string]string{
		"+engine":  "add engine: memory for one process, or engine: redis://127.0.0.1:6379 for several",
		"+to":      "add to: http://127.0.0.1:9000, or wherever the service is",
		"+rules":   "add rules: with a - match: for each, or rules: [] to guard nothing",
		"upstream": "the service is called to", "backend": "the service is called to", "proxy": "the service is called to", "url": "the service is called to",
		"redis": "write engine: redis://…", "store": "write engine: redis://…", "port": "write listen: 127.0.0.1:8080", "address": "write listen: 127.0.0.1:8080",
		"routes": "they are called rules", "auth": "who sends a request is called principal", "version": "leave it out: there is one",
	}}
}

func newOf[T any]() *T { return new(T) }

var tlsShape = shape[TLS]{name: "tls", fields: []field[TLS]{
	required(stringField("cert", "File of the certificate, PEM.", "server.crt", func(t *TLS) *string { return &t.Cert })),
	required(stringField("key", "File of its key, PEM.", "server.key", func(t *TLS) *string { return &t.Key })),
	stringField("client-ca", "File of certificates; clients must show one signed by them.", "clients.crt", func(t *TLS) *string { return &t.ClientCA }),
}}

var upstreamShape = shape[Upstream]{name: "to", fields: []field[Upstream]{
	required(urlField),
	stringField("host-header", "What the service is called in the Host field; without it, as the client called us.", "shop.internal", func(u *Upstream) *string { return &u.HostHeader }),
	stringField("ca", "File of certificates to believe, besides the system's.", "upstream-ca.crt", func(u *Upstream) *string { return &u.CA }),
	boolField("insecure", "Believe any certificate.", func(u *Upstream) *bool { return &u.Insecure }),
	boolField("h2c", "Speak HTTP/2 without TLS.", func(u *Upstream) *bool { return &u.H2C }),
	durationField("connect", "How long a connection may take.", 3*time.Second, time.Millisecond, time.Hour, func(u *Upstream) *time.Duration { return &u.Connect }),
	durationField("answer", "How long the header of the answer may take.", time.Minute, time.Millisecond, 24*time.Hour, func(u *Upstream) *time.Duration { return &u.Answer }),
	durationField("idle", "How long a connection is kept that nobody uses.", 90*time.Second, time.Millisecond, 24*time.Hour, func(u *Upstream) *time.Duration { return &u.Idle }),
}}

var principalShape = shape[Principal]{name: "principal", fields: []field[Principal]{
	headerField,
	optionalSection("jwt", "A bearer token that is verified.", jwtShape, newOf[JWT], func(p *Principal) **JWT { return &p.JWT }),
}}

var jwtShape = shape[JWT]{name: "jwt", fields: []field[JWT]{
	stringField("key-file", "File of a PEM public key, or of a secret of at least 32 bytes for HS256.", "jwt.pem", func(j *JWT) *string { return &j.KeyFile }),
	stringField("jwks", "File or https URL of a key set; it is loaded again every hour and when a key is unknown.", "https://login.example.com/jwks.json", func(j *JWT) *string { return &j.JWKS }),
	stringField("issuer", "Must be the token's issuer.", "https://login.example.com", func(j *JWT) *string { return &j.Issuer }),
	stringField("audience", "Must be among the token's audiences.", "shop", func(j *JWT) *string { return &j.Audience }),
	withDefault(stringField("claim", "The claim that says who it is.", DefaultClaim, func(j *JWT) *string { return &j.Claim }), DefaultClaim),
	withDefault(stringsField("algs", "The algorithms that are accepted; HS256 only with key-file.", "RS256", func(j *JWT) *[]string { return &j.Algs }), "[RS256, ES256, EdDSA]"),
}}

var secretShape = shape[Secret]{name: "a secret", fields: []field[Secret]{
	expandedField("file", "File of the secret, at least 32 bytes.", "interlock.secret", func(s *Secret) *string { return &s.File }),
	stringField("env", "Environment variable with the secret.", "INTERLOCK_SECRET", func(s *Secret) *string { return &s.Env }),
}}

var tokensShape = shape[Tokens]{name: "tokens", fields: []field[Tokens]{
	withDefault(stringField("path", "Where tokens are had, by GET.", DefaultTokenPath, func(t *Tokens) *string { return &t.Path }), DefaultTokenPath),
	durationField("life", "How long a token is good for.", DefaultTokenLife, time.Second, 24*time.Hour, func(t *Tokens) *time.Duration { return &t.Life }),
	stringField("form", "What they are for; without it, the rule's name in ?form=.", "order", func(t *Tokens) *string { return &t.Form }),
}}

var limitsShape = shape[Limits]{name: "limits", fields: []field[Limits]{
	sizeField("body", "Bytes of the body of a guarded request.", 1<<20, 1, 1<<30, func(l *Limits) *int64 { return &l.Body }),
	sizeField("response", "Bytes of an answer that is kept.", 256<<10, 1, 256<<20, func(l *Limits) *int { return &l.Response }),
	sizeField("header", "Bytes of the header of a request.", 16<<10, 1<<10, 1<<20, func(l *Limits) *int { return &l.Header }),
	intField("conns", "Connections at a time.", 10_000, 1, 1_000_000, func(l *Limits) *int { return &l.Conns }),
}}

var timeoutsShape = shape[Timeouts]{name: "timeouts", fields: []field[Timeouts]{
	durationField("header", "For the header of a request.", 5*time.Second, time.Millisecond, time.Hour, func(t *Timeouts) *time.Duration { return &t.Header }),
	durationField("body", "For the body of a guarded request.", 30*time.Second, time.Millisecond, 24*time.Hour, func(t *Timeouts) *time.Duration { return &t.Body }),
	durationField("idle", "Of a connection between two requests.", time.Minute, time.Millisecond, 24*time.Hour, func(t *Timeouts) *time.Duration { return &t.Idle }),
}}

var shutdownShape = shape[Shutdown]{name: "shutdown", fields: []field[Shutdown]{
	durationField("delay", "After /readyz says no, before nobody is let in any more.", 0, 0, time.Hour, func(s *Shutdown) *time.Duration { return &s.Delay }),
	durationField("timeout", "For those who are in.", 30*time.Second, time.Millisecond, 24*time.Hour, func(s *Shutdown) *time.Duration { return &s.Timeout }),
}}

var adminShape = shape[Admin]{name: "admin", fields: []field[Admin]{
	listenField("listen", "Where the admin API is; loopback, unless it has tokens and tls.", DefaultAdminListen, func(a *Admin) *string { return &a.Listen }),
	optionalSection("tls", "Its certificate.", tlsShape, newOf[TLS], func(a *Admin) **TLS { return &a.TLS }),
	adminTokensField,
	boolField("read-only", "Nobody may change anything.", func(a *Admin) *bool { return &a.ReadOnly }),
	stringsField("hosts", "Names by which it may be called, besides loopback ones and its own address.", "admin.example.com", func(a *Admin) *[]string { return &a.Hosts }),
	stringField("audit", "File for a JSON line each time something is changed; without it, the log only.", "audit.jsonl", func(a *Admin) *string { return &a.Audit }),
}}

var adminTokenShape = shape[AdminToken]{name: "a token", fields: []field[AdminToken]{
	required(stringField("name", "Who it is, in the audit trail.", "ops", func(t *AdminToken) *string { return &t.Name })),
	required(roleField),
	stringField("sha256", "SHA-256 of the token, in hex.", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", func(t *AdminToken) *string { return &t.SHA256 }),
	expandedField("file", "Or the file it is in.", "ops.token", func(t *AdminToken) *string { return &t.File }),
	stringField("env", "Or the environment variable it is in.", "OPS_TOKEN", func(t *AdminToken) *string { return &t.Env }),
}}

var matchShape = shape[Match]{name: "match", fields: []field[Match]{
	methodsField,
	required(pathField),
	hostField,
	headersField,
}}
