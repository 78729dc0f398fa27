package config

import "time"

// The defaults of a [Config].
const (
	DefaultListen      = "127.0.0.1:8080"
	DefaultAdminListen = "127.0.0.1:7070"

	exampleMetrics   = "127.0.0.1:9464" // in messages; metrics has no default
	DefaultTokenPath = "/idempotent-token"
	DefaultTokenLife = 10 * time.Minute
	DefaultClaim     = "sub"

	// TokenHeader is the header that {token} in a key stands for. The token endpoint
	// names it in its response.
	TokenHeader = "Idempotent-Token"
)

// defaultAlgs are asymmetric: a service that can verify a signature cannot make one.
var defaultAlgs = []string{"RS256", "ES256", "EdDSA"}

// Default returns the configuration of an empty file: a loopback listener, the memory
// engine, no rules and no upstream.
func Default() *Config {
	return &Config{
		Engine:   Engine{URL: "memory"},
		Listen:   DefaultListen,
		Upstream: *newUpstream(),
		Limits:   Limits{Body: 1 << 20, Bodies: 256 << 20, Response: 256 << 10, Header: 16 << 10, Conns: 10_000},
		Timeouts: Timeouts{Header: 5 * time.Second, Body: 30 * time.Second, Idle: time.Minute},
		Shutdown: Shutdown{Timeout: 30 * time.Second},
	}
}

// newUpstream returns an upstream with the default timeouts, for the file and for rules
// with their own upstream.
func newUpstream() *Upstream {
	return &Upstream{Connect: 3 * time.Second, Answer: time.Minute, Idle: 90 * time.Second}
}

// newTokens returns the default values of the section tokens.
func newTokens() *Tokens { return &Tokens{Path: DefaultTokenPath, Life: DefaultTokenLife} }

// newAdmin returns the default values of the section admin. The address is loopback, so
// checkAdmin requires no tokens.
func newAdmin() *Admin { return &Admin{Listen: DefaultAdminListen} }
