// Package config reads the configuration file of a gateway, which is strict YAML.
//
//	listen: 127.0.0.1:8080
//	to: http://127.0.0.1:9000
//	engine: redis://127.0.0.1:6379
//	principal:
//	  header: X-User
//	rules:
//	  - match: POST /orders/{id}/pay
//	    lock: pay:{path.id:int}
//	    kind: fair
//	    wait: 3s
//	  - match: POST /orders
//	    once: order:{header.Idempotency-Key}
//	    retain: 24h
//
// [Parse] reports all mistakes at once, each with its position, the line, and what to
// write instead. The [Config] that it returns is complete: defaults are filled in,
// presets are resolved, and package rule has checked every rule.
package config

import (
	"log/slog"
	"net/netip"
	"net/url"
	"time"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// A Config is the configuration of a gateway. It does not change: a reload makes a new
// one.
type Config struct {
	File string // its name, for messages

	Engine    Engine
	Namespace string // prefix of every key, so that several gateways can share an engine; see Prefix

	Listen    string // host:port. Default: 127.0.0.1:8080
	TLS       *TLS   // nil: plain HTTP
	Upstream  Upstream
	Trusted   []netip.Prefix // networks of proxies whose X-Forwarded-* and principal header are trusted
	Principal Principal      // for rules without their own
	Secrets   []Secret       // for computing fingerprints (HMAC) and signing tokens, newest first; without one, fingerprints are plain hashes, and tokens are valid until a restart
	Tokens    *Tokens        // nil: no token endpoint
	Limits    Limits
	Timeouts  Timeouts
	Shutdown  Shutdown
	Log       Log
	Admin     *Admin // nil: no admin API
	Metrics   string // host:port that serves only /metrics, without authentication; empty: none
	Rules     []Rule // in the order of the file; see Rule.Continue

	warnings Errors
	origins  map[string]string // where each value comes from, by path, for Print
}

// Prefix returns the prefix that the namespace gives every key.
func (c *Config) Prefix() string {
	if c.Namespace == "" {
		return ""
	}
	return c.Namespace + ":"
}

// An Engine stores locks and records. One of URL, Quorum and Standby is set.
type Engine struct {
	URL     string   // "memory" or the URL of an engine
	Quorum  []string // three or more URLs of independent servers
	Standby []string // two URLs; the first is in use until an operator switches

	// LongestLease is the longest lease of a quorum or standby. Default: 1m
	LongestLease time.Duration
}

// TLS is a server's certificate.
type TLS struct {
	Cert, Key string // files
	ClientCA  string // file of CA certificates; if set, clients must present a certificate signed by one of them
}

// An Upstream is the service behind the gateway.
type Upstream struct {
	To         []*url.URL // http or https; used in turn
	HostHeader string     // value of the Host field; empty: the client's
	CA         string     // file with CA certificates to trust besides the system's
	Insecure   bool       // do not verify the certificate; the gateway logs a warning
	H2C        bool       // HTTP/2 without TLS

	Connect time.Duration // timeout for a connection. Default: 3s
	Answer  time.Duration // timeout for the header of the response. Default: 60s
	Idle    time.Duration // how long an idle connection is kept. Default: 90s
}

// A Principal is how the sender of a request is authenticated. At most one field is set.
// None states that there is no authentication; the zero value states nothing.
type Principal struct {
	None   bool
	MTLS   bool   // the subject of a verified client certificate
	Header string // set by a proxy in Trusted; refused from other senders
	JWT    *JWT
}

// A JWT is how bearer tokens are verified.
type JWT struct {
	KeyFile  string   // PEM public key, or a secret for HS256 of at least 32 bytes
	JWKS     string   // file or https URL; a URL is loaded again every hour and for an unknown key
	Issuer   string   // required in the token, if set
	Audience string   // required in the token, if set
	Claim    string   // contains the user. Default: sub
	Algs     []string // HS256 only with KeyFile. Default: RS256, ES256, EdDSA
}

// A Secret is for computing fingerprints (HMAC) and signing tokens. Its value is never printed.
type Secret struct {
	File string
	Env  string
}

// Tokens is the endpoint that issues form tokens.
type Tokens struct {
	Path string        // Default: /idempotent-token
	Life time.Duration // how long a token is valid. Default: 10m
	Form string        // the form of the tokens; empty: the request names it in ?form=
}

// Limits bound what one client may use.
type Limits struct {
	Body     int64 // bytes of a guarded request's body. Default: 1 MiB
	Bodies   int64 // bytes of all guarded bodies in memory. Default: 256 MiB
	Response int   // bytes of a stored response. Default: 256 KiB
	Header   int   // bytes of a request's header. Default: 16 KiB
	Conns    int   // open connections. Default: 10,000
}

// Timeouts bound how long a client may take.
type Timeouts struct {
	Header time.Duration // for the header of a request. Default: 5s
	Body   time.Duration // for the body of a guarded request; other bodies get a second more for each 500 bytes. Default: 30s
	Idle   time.Duration // between two requests. Default: 60s
}

// Shutdown is how a gateway shuts down.
type Shutdown struct {
	Delay   time.Duration // between the first failing /readyz and the refusal of new requests. Default: 0
	Timeout time.Duration // for running requests to end. Default: 30s
}

// Log is what a gateway logs.
type Log struct {
	Level      slog.Level            // the lowest level that is written. Default: info
	Components map[string]slog.Level // levels of their own, by component of package logs
}

// An Admin is the listener of the admin API.
type Admin struct {
	Listen   string // Default: 127.0.0.1:7070
	TLS      *TLS   // nil: plain HTTP
	Tokens   []AdminToken
	ReadOnly bool
	Hosts    []string // accepted in the Host field, besides loopback names and the listen address
	Audit    string   // file with a JSON line per change; empty: the log only
	Insecure bool     // without tokens or TLS, still allow an address that is not loopback
	Open     bool     // without tokens, let every program on this machine do everything; for demos
}

// An AdminToken authenticates a user of the admin API. The file does not contain the
// token: it contains its SHA-256, or the name of a file or an environment variable.
type AdminToken struct {
	Name   string // the user's name in the audit log
	Role   Role
	SHA256 string // hex
	File   string
	Env    string
}

// A Role is what a user of the admin API may do.
type Role string

// The roles.
const (
	View    Role = "view"    // read
	Operate Role = "operate" // read and change
)

// A Rule is a lock or guard for the requests that it matches.
type Rule struct {
	At    rule.Pos // in the file
	Match Match

	// Do is the lock or guard, with its verb, name and options. Its Key is the text of
	// Key below.
	Do  rule.Rule
	Key *rule.Template

	// Policy is the policy of once or submit: the preset, overridden by the rule's options.
	Policy guard.Policy

	// Message is the text of a refusal, by language; nil: the default text. Policy
	// contains it as well.
	Message guard.Message

	Preset    string    // as written: charge, click, form, …, or one of the file's own
	Principal Principal // the rule's, or else the file's
	Form      string    // the form whose tokens are the keys; empty: keys are not tokens
	Optional  bool      // a request without a key passes unguarded
	Continue  bool      // later rules that match apply as well, inside this one; see Last
	Shadow    bool      // log what the rule would have done, and do nothing
	Tee       bool      // send the response while it is being stored

	// FingerprintHeaders are canonical names of fields that distinguish requests with one
	// key. nil: those that name an account; see interlockhttp.FingerprintHeaders.
	FingerprintHeaders []string

	// NotExecuted lists statuses of the upstream that mean that nothing was done, besides
	// 429 and 503. KeepRedirects stores 3xx responses.
	NotExecuted   []int
	KeepRedirects bool

	Upstream *Upstream // nil: the gateway's
}

// A Match is a condition on requests. All of its fields must hold.
type Match struct {
	Methods []string          // empty: any
	Path    string            // a pattern of http.ServeMux: /orders/{id}, /files/{rest...}, /shop/
	Also    []string          // further paths, with the same wildcards
	Host    string            // without port; a leading *. stands for any labels
	Header  map[string]string // canonical name to value; * is any value
}

// Last reports whether no later rule applies to a request that r matches. After a shadow
// rule, the next one that matches still applies: a shadow protects nothing.
func (r *Rule) Last() bool { return !r.Continue && !r.Shadow }
