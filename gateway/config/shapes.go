package config

import (
	"log/slog"
	"time"

	"github.com/interlock-go/interlock/observe/logs"
)

// The shapes of a file, from the top down, in the order in which they are printed.

// fileShape is a function, because a variable would depend on itself: rules and presets
// refer back to the reader.
func fileShape() shape[Config] {
	return shape[Config]{name: "the file", fields: []field[Config]{
		required(engineField),
		stringField("namespace", "Prefix of every key, so that several gateways can share an engine.", "shop", func(c *Config) *string { return &c.Namespace }),
		listenField("listen", "Address to listen on, host:port; without a host, every address.", DefaultListen, func(c *Config) *string { return &c.Listen }),
		optionalSection("tls", "The server's certificate; without it, the gateway speaks plain HTTP.", tlsShape, newOf[TLS], func(c *Config) **TLS { return &c.TLS }),
		required(upstreamField(func(c *Config) *Upstream { return &c.Upstream })),
		trustedField,
		principalField("How to authenticate the sender, unless a rule says otherwise: none, mtls, or fields.", func(c *Config) *Principal { return &c.Principal }),
		secretsField,
		optionalSection("tokens", "The endpoint that issues form tokens; without it, no tokens are issued.", tokensShape, newTokens, func(c *Config) **Tokens { return &c.Tokens }),
		section("limits", "Limits on what one client may use.", limitsShape, func(c *Config) *Limits { return &c.Limits }),
		section("timeouts", "Limits on how long a client may take.", timeoutsShape, func(c *Config) *Timeouts { return &c.Timeouts }),
		section("shutdown", "How the gateway shuts down.", shutdownShape, func(c *Config) *Shutdown { return &c.Shutdown }),
		section("log", "What the gateway logs.", logShape, func(c *Config) *Log { return &c.Log }),
		adminField,
		addressField("metrics", "Address that serves only /metrics, without authentication; without it, the admin API serves them.", exampleMetrics, func(c *Config) *string { return &c.Metrics }),
		presetsField(),
		required(rulesField()),
	}, hints: map[string]string{
		"+engine":  "add engine: memory for one process, or engine: redis://127.0.0.1:6379, or the URL of another engine, for several",
		"+to":      "add to: with the URL of the service, such as http://127.0.0.1:9000",
		"+rules":   "add rules: with a - match: for each, or rules: [] to guard nothing",
		"upstream": "write to: http://…", "backend": "write to: http://…", "proxy": "write to: http://…", "url": "write to: http://…",
		"redis": "write engine: redis://…", "postgres": "write engine: postgres://…", "database": "write engine: postgres://…", "mysql": "write engine: mysql://…", "mariadb": "write engine: mysql://…", "etcd": "write engine: etcd://…", "zookeeper": "write engine: zk://…", "store": "write engine: redis://…", "port": "write listen: 127.0.0.1:8080", "address": "write listen: 127.0.0.1:8080",
		"routes": "write rules:", "auth": "write principal:", "version": "leave it out: the format has no versions",
	}}
}

// newOf makes a section without defaults.
func newOf[T any]() *T { return new(T) }

// tlsShape has names of files. The files are read at the start, not by Parse.
var tlsShape = shape[TLS]{name: "tls", fields: []field[TLS]{
	required(stringField("cert", "File of the certificate, PEM.", "server.crt", func(t *TLS) *string { return &t.Cert })),
	required(stringField("key", "File of its key, PEM.", "server.key", func(t *TLS) *string { return &t.Key })),
	stringField("client-ca", "File of CA certificates; clients must present a certificate signed by one of them.", "clients.crt", func(t *TLS) *string { return &t.ClientCA }),
}}

// upstreamShape has the same bounds for the file's upstream and for those of rules.
var upstreamShape = shape[Upstream]{name: "to", fields: []field[Upstream]{
	required(urlField),
	stringField("host-header", "Value of the Host field; without it, the client's.", "shop.internal", func(u *Upstream) *string { return &u.HostHeader }),
	stringField("ca", "File of CA certificates to trust besides the system's.", "upstream-ca.crt", func(u *Upstream) *string { return &u.CA }),
	boolField("insecure", "Do not verify the upstream's certificate.", func(u *Upstream) *bool { return &u.Insecure }),
	boolField("h2c", "Speak HTTP/2 without TLS.", func(u *Upstream) *bool { return &u.H2C }),
	durationField("connect", "Timeout for a connection.", 3*time.Second, time.Millisecond, time.Hour, func(u *Upstream) *time.Duration { return &u.Connect }),
	durationField("answer", "Timeout for the header of the response.", time.Minute, time.Millisecond, 24*time.Hour, func(u *Upstream) *time.Duration { return &u.Answer }),
	durationField("idle", "How long an idle connection is kept.", 90*time.Second, time.Millisecond, 24*time.Hour, func(u *Upstream) *time.Duration { return &u.Idle }),
}}

// principalShape has the two principals that need more than a word; see reader.principal.
var principalShape = shape[Principal]{name: "principal", fields: []field[Principal]{
	headerField,
	optionalSection("jwt", "A verified bearer token.", jwtShape, newOf[JWT], func(p *Principal) **JWT { return &p.JWT }),
}}

// jwtShape leaves the choice between key-file and jwks to checkJWT.
var jwtShape = shape[JWT]{name: "jwt", fields: []field[JWT]{
	stringField("key-file", "File of a PEM public key, or of a secret of at least 32 bytes for HS256.", "jwt.pem", func(j *JWT) *string { return &j.KeyFile }),
	stringField("jwks", "File or https URL of a key set; a URL is loaded again every hour and for an unknown key.", "https://login.example.com/jwks.json", func(j *JWT) *string { return &j.JWKS }),
	stringField("issuer", "Required issuer of the token.", "https://login.example.com", func(j *JWT) *string { return &j.Issuer }),
	stringField("audience", "Required audience of the token.", "shop", func(j *JWT) *string { return &j.Audience }),
	withDefault(stringField("claim", "The claim with the user.", DefaultClaim, func(j *JWT) *string { return &j.Claim }), DefaultClaim),
	withDefault(stringsField("algs", "The accepted algorithms; HS256 only with key-file.", "RS256", func(j *JWT) *[]string { return &j.Algs }), "[RS256, ES256, EdDSA]"),
}}

// secretShape names the source of a secret. It has no field for the secret itself.
var secretShape = shape[Secret]{name: "a secret", fields: []field[Secret]{
	expandedField("file", "File of the secret, at least 32 bytes.", "interlock.secret", func(s *Secret) *string { return &s.File }),
	stringField("env", "Environment variable with the secret.", "INTERLOCK_SECRET", func(s *Secret) *string { return &s.Env }),
}}

// tokensShape has the settings of the endpoint. checkTokens compares them with the rules.
var tokensShape = shape[Tokens]{name: "tokens", fields: []field[Tokens]{
	withDefault(stringField("path", "Path of the endpoint, for GET.", DefaultTokenPath, func(t *Tokens) *string { return &t.Path }), DefaultTokenPath),
	durationField("life", "How long a token is valid.", DefaultTokenLife, time.Second, 24*time.Hour, func(t *Tokens) *time.Duration { return &t.Life }),
	stringField("form", "The form of the tokens; without it, the request names it in ?form=.", "order", func(t *Tokens) *string { return &t.Form }),
}}

// limitsShape has upper bounds, too: guarded bodies and responses are held in memory.
var limitsShape = shape[Limits]{name: "limits", fields: []field[Limits]{
	sizeField("body", "Size of the body of a guarded request.", 1<<20, 1, 1<<30, func(l *Limits) *int64 { return &l.Body }),
	sizeField("bodies", "Size of the bodies of all guarded requests in memory; above it, requests get 503.", 256<<20, 1, 1<<40, func(l *Limits) *int64 { return &l.Bodies }),
	sizeField("response", "Size of a stored response.", 256<<10, 1, 256<<20, func(l *Limits) *int { return &l.Response }),
	sizeField("header", "Size of the header of a request.", 16<<10, 1<<10, 1<<20, func(l *Limits) *int { return &l.Header }),
	intField("conns", "Open connections.", 10_000, 1, 1_000_000, func(l *Limits) *int { return &l.Conns }),
}}

// timeoutsShape accepts no 0, which package gateway reads as the default.
var timeoutsShape = shape[Timeouts]{name: "timeouts", fields: []field[Timeouts]{
	durationField("header", "For the header of a request.", 5*time.Second, time.Millisecond, time.Hour, func(t *Timeouts) *time.Duration { return &t.Header }),
	durationField("body", "For the body of a guarded request. Other bodies get a second more for each 500 bytes.", 30*time.Second, time.Millisecond, 24*time.Hour, func(t *Timeouts) *time.Duration { return &t.Body }),
	durationField("idle", "For an idle connection between two requests.", time.Minute, time.Millisecond, 24*time.Hour, func(t *Timeouts) *time.Duration { return &t.Idle }),
}}

// shutdownShape accepts a delay of 0, for a gateway without a load balancer.
var shutdownShape = shape[Shutdown]{name: "shutdown", fields: []field[Shutdown]{
	durationField("delay", "Time between the first failing /readyz and the refusal of new requests.", 0, 0, time.Hour, func(s *Shutdown) *time.Duration { return &s.Delay }),
	durationField("timeout", "Time for running requests to end.", 30*time.Second, time.Millisecond, 24*time.Hour, func(s *Shutdown) *time.Duration { return &s.Timeout }),
}}

// logShape has no field for the form of the log, which is a flag of the command.
var logShape = shape[Log]{name: "log", fields: []field[Log]{
	withDefault(levelField("level", "The lowest level that is written: debug, info, warn or error.",
		func(l *Log) (slog.Level, bool) { return l.Level, true }, func(l *Log, level slog.Level) { l.Level = level }), "info"),
	componentsField,
}}

// componentsShape has a field for each component. The default of each is the level of log.
var componentsShape = shape[Log]{name: "components", fields: []field[Log]{
	componentField(logs.Locks, "Level of the life of locks."),
	componentField(logs.Guards, "Level of the checks and claims of guards."),
	componentField(logs.Engine, "Level of the requests to the engine's servers."),
	componentField(logs.Gateway, "Level of the requests through the gateway."),
}}

// adminShape has no insecure: only a program can set it.
var adminShape = shape[Admin]{name: "admin", fields: []field[Admin]{
	listenField("listen", "Address of the admin API; a loopback address, unless tokens and tls are set.", DefaultAdminListen, func(a *Admin) *string { return &a.Listen }),
	optionalSection("tls", "Certificate of the admin API.", tlsShape, newOf[TLS], func(a *Admin) **TLS { return &a.TLS }),
	adminTokensField,
	boolField("read-only", "Refuse every change.", func(a *Admin) *bool { return &a.ReadOnly }),
	stringsField("hosts", "Accepted values of the Host field, besides loopback names and the listen address.", "admin.example.com", func(a *Admin) *[]string { return &a.Hosts }),
	stringField("audit", "File of the audit log, a JSON line per change; without it, changes are in the log only.", "audit.jsonl", func(a *Admin) *string { return &a.Audit }),
}}

// adminTokenShape has no field for the token itself.
var adminTokenShape = shape[AdminToken]{name: "a token", fields: []field[AdminToken]{
	required(stringField("name", "Name of the user in the audit log.", "ops", func(t *AdminToken) *string { return &t.Name })),
	required(roleField),
	stringField("sha256", "SHA-256 of the token, in hex.", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", func(t *AdminToken) *string { return &t.SHA256 }),
	expandedField("file", "Or a file with the token.", "ops.token", func(t *AdminToken) *string { return &t.File }),
	stringField("env", "Or an environment variable with the token.", "OPS_TOKEN", func(t *AdminToken) *string { return &t.Env }),
}}

// matchShape is the long form of match.
var matchShape = shape[Match]{name: "match", fields: []field[Match]{
	methodsField,
	required(pathField),
	alsoField,
	hostField,
	headersField,
}}
