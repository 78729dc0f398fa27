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

var plainLine = Line{To: []string{"http://127.0.0.1:9000"}, Listen: "127.0.0.1:8080", Principal: "none", Admin: Off}

// read returns what a line means.
func read(t *testing.T, l Line) *config.Config {
	t.Helper()
	text, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	cfg, errs := config.Parse("line", text)
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, text)
	}
	return cfg
}

// P8: a line is a file, so that one can begin with the one and go on with the other.
func TestLine(t *testing.T) {
	t.Run("without a rule, what carries a key is guarded", func(t *testing.T) {
		cfg := read(t, plainLine)
		r := cfg.Rules[0]
		if len(cfg.Rules) != 1 || !r.Optional || r.Do.Verb != "once" || !slices.Equal(r.Match.Methods, []string{"POST", "PATCH"}) || r.Match.Path != "/" ||
			r.Key.String() != "{header.Idempotency-Key}" || r.Policy.Scope != guard.Global || cfg.Admin != nil || cfg.Engine.URL != "memory" {
			t.Errorf("%+v", cfg)
		}
		if got := Warnings(cfg); !slices.Equal(got, []Warning{Memory, NoPrincipal, OptionalKey}) {
			t.Errorf("it lacks %v", got)
		}
	})
	t.Run("its rules need a key, and have names of their own", func(t *testing.T) {
		l := plainLine
		l.Once = []string{"POST /orders=header.Idempotency-Key", "PUT /orders/{id}=o:{path.id}:{query.v}"}
		l.To = []string{"http://a:1", "http://b:2"}
		l.Redis, l.Admin = "redis://:p%40ss@h:1/0?timeout=1s", "127.0.0.1:0"
		cfg := read(t, l)
		if len(cfg.Rules) != 2 || cfg.Rules[0].Optional || cfg.Rules[0].Do.Name != "post-orders" || cfg.Rules[1].Do.Name != "put-orders-id" ||
			cfg.Rules[1].Key.String() != "o:{path.id}:{query.v}" || len(cfg.Upstream.To) != 2 || cfg.Engine.URL != l.Redis || cfg.Admin == nil {
			t.Errorf("%+v", cfg)
		}
		if got := EngineName(cfg.Engine); got != "redis://h:1" {
			t.Errorf("the engine is called %s", got)
		}
	})
	t.Run("who sends a request may be said", func(t *testing.T) {
		l := plainLine
		l.Principal, l.Trust = "header:X-User", []string{"10.0.0.0/8", "127.0.0.1/32"}
		cfg := read(t, l)
		if cfg.Principal.Header != "X-User" || len(cfg.Trusted) != 2 || cfg.Rules[0].Policy.Scope == guard.Global {
			t.Errorf("%+v", cfg)
		}
		if slices.Contains(Warnings(cfg), NoPrincipal) {
			t.Error("it lacks a principal")
		}
		l.Principal = "jwks:keys.json"
		if cfg := read(t, l); cfg.Principal.JWT == nil || cfg.Principal.JWT.JWKS != "keys.json" {
			t.Errorf("%+v", cfg.Principal)
		}
	})
	t.Run("rules from a file keep their lines", func(t *testing.T) {
		l := plainLine
		l.RulesFile = filepath.Join(t.TempDir(), "rules.yaml")
		rules := "principal: none\nrules:\n  - match: POST /orders\n    once: order:{header.Idempotency-Key}\n    scope: key"
		if err := os.WriteFile(l.RulesFile, []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
		if cfg := read(t, l); cfg.Rules[0].At.Line != 3 || cfg.Rules[0].Do.Name != "order" {
			t.Errorf("%+v", cfg.Rules)
		}
	})
	t.Run("what is no text in YAML is quoted", func(t *testing.T) {
		for _, s := range []string{"true", "12", "a: b", "# x", "- x", "{x}", "", "null", "a #b", "x\ny", "[", "*a", "&a", "!t", "1e3", "0x1f", "memory:", "a:"} {
			if got := word(s); !strings.HasPrefix(got, `"`) {
				t.Errorf("%q is written %s", s, got)
			}
		}
	})
	t.Run("pairs and principals that say too little are known", func(t *testing.T) {
		for text, good := range map[string]bool{"POST /o=header.K": true, "POST /o": false, "POST /o=": false, "=header.K": false, "": false} {
			if Pair(text) != good {
				t.Errorf("%q: %v", text, !good)
			}
		}
		for text, good := range map[string]bool{"none": true, "header:X": true, "jwks:f": true, "header:": false, "header": false, "mtls": false, "": false, "none:x": false} {
			if KnownPrincipal(text) != good {
				t.Errorf("%q: %v", text, !good)
			}
		}
	})
}

func TestUnchangeable(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"engine": func(c *config.Config) { c.Engine.URL = "redis://h" }, "listen": func(c *config.Config) { c.Listen = ":1" },
		"tls": func(c *config.Config) { c.TLS = new(config.TLS) }, "admin": func(c *config.Config) { c.Admin = new(config.Admin) },
		"limits.header": func(c *config.Config) { c.Limits.Header++ }, "limits.conns": func(c *config.Config) { c.Limits.Conns++ },
		"timeouts.header": func(c *config.Config) { c.Timeouts.Header++ }, "timeouts.idle": func(c *config.Config) { c.Timeouts.Idle++ },
	} {
		was, is := config.Default(), config.Default()
		change(is)
		if got := unchangeable(was, is); !slices.Equal(got, []string{name}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	was, is := config.Default(), config.Default()
	is.Limits.Body, is.Timeouts.Body, is.Shutdown.Delay, is.Namespace = 1, 1, 1, "x"
	if got := unchangeable(was, is); got != nil {
		t.Errorf("%v", got)
	}
}
