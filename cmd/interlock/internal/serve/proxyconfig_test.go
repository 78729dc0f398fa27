package serve

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
)

var plainProxy = ProxyConfig{To: []string{"http://127.0.0.1:9000"}, Listen: "127.0.0.1:8080", Principal: "none", Admin: Off}

// read parses the file that a ProxyConfig produces.
func read(t *testing.T, l ProxyConfig) *config.Config {
	t.Helper()
	text, err := l.YAML()
	if err != nil {
		t.Fatal(err)
	}
	cfg, errs := config.Parse("proxy", text)
	if len(errs) > 0 {
		t.Fatalf("the produced file has mistakes: %v\n%s", errs, text)
	}
	return cfg
}

// Requirement P8: flags are equivalent to a file, so that users can start with flags and
// continue with a file.
func TestProxyConfig(t *testing.T) {
	t.Run("by default, requests that carry a key are guarded", func(t *testing.T) {
		cfg := read(t, plainProxy)
		r := cfg.Rules[0]
		if len(cfg.Rules) != 1 || !r.Optional || r.Do.Verb != "once" || !slices.Equal(r.Match.Methods, []string{"POST", "PATCH"}) || r.Match.Path != "/" ||
			r.Key.String() != "{header.Idempotency-Key|X-Idempotency-Key|Idempotent-Token}" || r.Policy.Scope != guard.Global || cfg.Admin != nil || cfg.Engine.URL != "memory" {
			t.Errorf("got %+v, want one optional rule for POST and PATCH on the embedded engine", cfg)
		}
		if got := Warnings(cfg); !slices.Equal(got, []Warning{Memory, NoPrincipal, OptionalKey}) {
			t.Errorf("the warnings are %v, want memory, no-principal and optional-key", got)
		}
	})
	t.Run("rules of --once require a key, and their names differ", func(t *testing.T) {
		l := plainProxy
		l.Once = []string{"POST /orders=header.Idempotency-Key", "PUT /orders/{id}=o:{path.id}:{query.v}"}
		l.To = []string{"http://a:1", "http://b:2"}
		l.Engine, l.Admin = "redis://:p%40ss@h:1/0?timeout=1s", "127.0.0.1:0"
		cfg := read(t, l)
		if len(cfg.Rules) != 2 || cfg.Rules[0].Optional || cfg.Rules[0].Do.Name != "post-orders" || cfg.Rules[1].Do.Name != "put-orders-id" ||
			cfg.Rules[1].Key.String() != "o:{path.id}:{query.v}" || len(cfg.Upstream.To) != 2 || cfg.Engine.URL != l.Engine || cfg.Admin == nil {
			t.Errorf("got %+v, want the two rules of --once, two upstreams, the Redis and the admin API", cfg)
		}
		if got := EngineName(cfg.Engine); got != "redis://h:1" {
			t.Errorf("the engine's name is %s, want redis://h:1", got)
		}
	})
	t.Run("the principal can be a header or a JWT", func(t *testing.T) {
		l := plainProxy
		l.Principal, l.Trust = "header:X-User", []string{"10.0.0.0/8", "127.0.0.1/32"}
		cfg := read(t, l)
		if cfg.Principal.Header != "X-User" || len(cfg.Trusted) != 2 || cfg.Rules[0].Policy.Scope == guard.Global {
			t.Errorf("got %+v, want the principal X-User, two trusted proxies and keys per user", cfg)
		}
		if slices.Contains(Warnings(cfg), NoPrincipal) {
			t.Error("got a warning about the principal, want none")
		}
		l.Principal = "jwks:keys.json"
		if cfg := read(t, l); cfg.Principal.JWT == nil || cfg.Principal.JWT.JWKS != "keys.json" {
			t.Errorf("the principal is %+v, want a JWT with keys.json", cfg.Principal)
		}
	})
	t.Run("rules from a file keep their line numbers", func(t *testing.T) {
		l := plainProxy
		l.RulesFile = filepath.Join(t.TempDir(), "rules.yaml")
		rules := "principal: none\nrules:\n  - match: POST /orders\n    once: order:{header.Idempotency-Key}\n    scope: key"
		if err := os.WriteFile(l.RulesFile, []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
		if cfg := read(t, l); cfg.Rules[0].At.Line != 3 || cfg.Rules[0].Do.Name != "order" {
			t.Errorf("the rules are %+v, want order on line 3", cfg.Rules)
		}
	})
	t.Run("strings that YAML would read as something else are quoted", func(t *testing.T) {
		for _, s := range []string{"true", "12", "a: b", "# x", "- x", "{x}", "", "null", "a #b", "x\ny", "[", "*a", "&a", "!t", "1e3", "0x1f", "memory:", "a:"} {
			if got := quote(s); !strings.HasPrefix(got, `"`) {
				t.Errorf("quote(%q) = %s, want quotes", s, got)
			}
		}
	})
	t.Run("incomplete values of --once and --principal are invalid", func(t *testing.T) {
		for text, valid := range map[string]bool{"POST /o=header.K": true, "POST /o": false, "POST /o=": false, "=header.K": false, "": false} {
			if ValidOnce(text) != valid {
				t.Errorf("ValidOnce(%q) = %v, want %v", text, !valid, valid)
			}
		}
		for text, good := range map[string]bool{"none": true, "header:X": true, "jwks:f": true, "header:": false, "header": false, "mtls": false, "": false, "none:x": false} {
			if ValidPrincipal(text) != good {
				t.Errorf("ValidPrincipal(%q) = %v, want %v", text, !good, good)
			}
		}
	})
}

func TestNeedRestart(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"engine": func(c *config.Config) { c.Engine.URL = "redis://h" }, "listen": func(c *config.Config) { c.Listen = ":1" },
		"tls": func(c *config.Config) { c.TLS = new(config.TLS) }, "admin": func(c *config.Config) { c.Admin = new(config.Admin) },
		"limits.header": func(c *config.Config) { c.Limits.Header++ }, "limits.conns": func(c *config.Config) { c.Limits.Conns++ },
		"timeouts.header": func(c *config.Config) { c.Timeouts.Header++ }, "timeouts.idle": func(c *config.Config) { c.Timeouts.Idle++ },
	} {
		before, after := config.Default(), config.Default()
		change(after)
		if got := needRestart(before, after); !slices.Equal(got, []string{name}) {
			t.Errorf("a change of %s: needRestart returned %v", name, got)
		}
	}
	earlier, later := config.Default(), config.Default()
	later.Limits.Body, later.Timeouts.Body, later.Shutdown.Delay, later.Namespace = 1, 1, 1, "x"
	if got := needRestart(earlier, later); got != nil {
		t.Errorf("changes that need no restart: needRestart returned %v", got)
	}
}
