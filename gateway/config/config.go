// Package config is what a gateway is told: a file in YAML, read strictly.
//
//	listen: 127.0.0.1:8080
//	to: http://127.0.0.1:9000
//	engine: redis://127.0.0.1:6379
//	principal:
//	  header: X-User
//	rules:
//	  - match: POST /orders/{id}/pay
//	    lock: pay:{path.id}
//	    kind: fair
//	    wait: 3s
//	  - match: POST /orders
//	    once: order:{header.Idempotency-Key}
//	    retain: 24h
//
// [Parse] tells every mistake at once, with file, line, column, the line itself
// and what to write instead. What it returns is whole: defaults are filled in,
// presets are resolved, and every rule has been checked as package rule does.
package config

import (
	"net/netip"
	"net/url"
	"time"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// A Config is what a gateway does. It is not changed once it is made: a reload
// makes another.
type Config struct {
	File string // where it was read, for messages

	Engine    Engine
	Namespace string // in front of every key, so that several gateways share an engine

	Listen    string // host:port; the default is 127.0.0.1:8080
	TLS       *TLS   // nil: no TLS
	Upstream  Upstream
	Trusted   []netip.Prefix // of proxies whose X-Forwarded-* and principal header are believed
	Principal Principal      // of rules that name none
	Secrets   []Secret       // of fingerprints and tokens, newest first; without one fingerprints have no key, and tokens are good until a restart
	Tokens    *Tokens        // nil: no token endpoint
	Limits    Limits
	Timeouts  Timeouts
	Shutdown  Shutdown
	Admin     *Admin // nil: no admin API
	Rules     []Rule // in the order of the file; see Rule.Continue

	origins map[string]string // of values, for Print
}

// An Engine is where locks and records are.
type Engine struct {
	URL     string   // "memory" or a URL of engine/redisengine
	Quorum  []string // or three and more URLs, for a quorum
	Standby []string // or two: the first is used until an operator switches
}

// TLS is a server's certificate.
type TLS struct {
	Cert, Key string // files
	ClientCA  string // file; with it, clients must show a certificate signed by one of these
}

// An Upstream is who does the work.
type Upstream struct {
	To         []*url.URL // http or https; requests are spread over them by turns
	HostHeader string     // what they are called; empty: as the client called us
	CA         string     // file with certificates to believe, besides the system's
	Insecure   bool       // believe any certificate; doctor and the log complain
	H2C        bool       // HTTP/2 without TLS

	Connect time.Duration // the default is 3 s
	Answer  time.Duration // until the header of the answer is there; the default is 60 s
	Idle    time.Duration // of a connection that is kept; the default is 90 s
}

// A Principal is who it is that sent a request, found by authentication. At most
// one of the fields is set; None says in words that there is nobody.
type Principal struct {
	None   bool
	MTLS   bool   // the subject of a verified client certificate
	Header string // set by a proxy in Trusted; anybody else's is refused
	JWT    *JWT
}

// A JWT is a bearer token that is verified before anything in it is believed.
type JWT struct {
	KeyFile  string   // PEM public key, or a secret for HS256 of at least 32 bytes
	JWKS     string   // file or https URL; loaded again every hour and when a key is unknown
	Issuer   string   // required in the token if set
	Audience string   // likewise
	Claim    string   // who it is; the default is sub
	Algs     []string // the default is RS256, ES256, EdDSA; HS256 only with KeyFile and if named
}

// A Secret keys fingerprints and signs tokens. It is never printed.
type Secret struct {
	File string
	Env  string
}

// Tokens is the endpoint that hands out tokens of forms.
type Tokens struct {
	Path string        // the default is /idempotent-token
	Life time.Duration // the default is 10 minutes
	Form string        // what they are for; the default is the name of the rule in ?form=
}

// Limits bound what one client can cost.
type Limits struct {
	Body     int64 // of a guarded request; the default is 1 MiB
	Response int   // that is kept; the default is 256 KiB
	Header   int   // bytes of a request's header; the default is 16 KiB
	Conns    int   // at a time; the default is 10,000
}

// Timeouts bound how long a client may take.
type Timeouts struct {
	Header time.Duration // the default is 5 s
	Body   time.Duration // of a guarded request; the default is 30 s
	Idle   time.Duration // the default is 60 s
}

// Shutdown is how a gateway ends.
type Shutdown struct {
	Delay   time.Duration // after /readyz says no, before nobody is let in any more; the default is 0
	Timeout time.Duration // for those who are in; the default is 30 s
}

// An Admin is the admin API's own listener.
type Admin struct {
	Listen   string // the default is 127.0.0.1:7070
	TLS      *TLS
	Tokens   []AdminToken
	ReadOnly bool
	Hosts    []string // by which it may be called, besides loopback names and its own address
	Audit    string   // file, a JSON line each; empty: the log only
	Insecure bool     // listen where others can reach it, although there are no tokens or there is no TLS
}

// An AdminToken lets somebody in. The token itself is not in the file: its
// SHA-256 is, or the name of a file or an environment variable.
type AdminToken struct {
	Name   string // who it is, in the audit trail
	Role   Role
	SHA256 string // hex
	File   string
	Env    string
}

// A Role is what somebody may do.
type Role string

// The roles.
const (
	View    Role = "view"    // look
	Operate Role = "operate" // and change
)

// A Rule is what happens to the requests that it matches.
type Rule struct {
	At    rule.Pos // in the file
	Match Match

	// Do is the lock or guard: its verb, name and every option by its one name.
	// Its Key is the text of Key below.
	Do  rule.Rule
	Key *rule.Template

	// Policy is that of once and submit, with the preset and what the rule says
	// beyond it.
	Policy guard.Policy

	// Message is what a person is told who was refused, by language; nil has the
	// default. Policy has it, too.
	Message guard.Message

	Preset    string    // as written: charge, click, form, …, or one of the file's own
	Principal Principal // of the rule, or else of the file
	Form      string    // of tokens, if the key is {token}: what they were issued for
	Optional  bool      // a request without a key passes unguarded
	Continue  bool      // rules that follow and match, too, apply inside; see Last
	Shadow    bool      // say what would have been done, and do nothing
	Tee       bool      // send the answer while it is captured
	Upstream  *Upstream // nil: the gateway's
}

// A Match says which requests a rule is about. Everything it names must hold.
type Match struct {
	Methods []string          // empty: any
	Path    string            // a pattern as http.ServeMux has them: /orders/{id}, /files/{rest...}, /shop/
	Host    string            // without port; a leading *. stands for any labels
	Header  map[string]string // name to value, * for any value; names in canonical form
}

// Last tells whether rules that follow do not apply to what r matches. A shadow
// does nothing, and so keeps no other rule from what it does.
func (r *Rule) Last() bool { return !r.Continue && !r.Shadow }
