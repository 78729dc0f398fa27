package config_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

const shop = `listen: 127.0.0.1:8080
to: http://127.0.0.1:9000
engine: redis://127.0.0.1:6379
trusted-proxies: [127.0.0.1]
principal:
  header: x-user
rules:
  - match: POST /orders/{id}/pay
    lock: pay:{path.id}
    kind: fair
    wait: 3s
  - match: POST /orders
    once: order:{header.Idempotency-Key}
    retain: 24h
`

// mustParse parses a file, and fails the test if the file has mistakes.
func mustParse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, errs := config.Parse("interlock.yaml", []byte(text))
	for _, m := range errs {
		t.Errorf("\n%s", m.Show())
	}
	if c == nil {
		t.FailNow()
	}
	return c
}

func TestParse(t *testing.T) {
	c := mustParse(t, shop)
	if c.Listen != "127.0.0.1:8080" || len(c.Upstream.To) != 1 || c.Upstream.To[0].Host != "127.0.0.1:9000" || c.Engine.URL != "redis://127.0.0.1:6379" {
		t.Errorf("the top level is %+v, want the address, upstream and engine of the file", c)
	}
	if c.Principal.Header != "X-User" || len(c.Rules) != 2 {
		t.Fatalf("the principal is %+v with %d rules, want the header X-User and 2 rules", c.Principal, len(c.Rules))
	}
	pay, order := c.Rules[0], c.Rules[1]
	if pay.Do.Verb != rule.Lock || pay.Do.Name != "pay" || pay.Key.String() != "{path.id}" || pay.Do.Kind != rule.Fair || pay.Do.Wait != 3*time.Second || pay.At.Line != 8 {
		t.Errorf("the lock is %+v at %v, want the fair lock pay on {path.id} with wait=3s at line 8", pay.Do, pay.At)
	}
	if p := order.Policy; p.Name != "order" || p.Retain != 24*time.Hour || p.Scope != guard.PerUser || p.After != guard.Keep || p.OnDuplicate != guard.Replay {
		t.Errorf("the policy is %+v, want order: 24h, per user, keep, replay", p)
	}
	if got := order.Match; strings.Join(got.Methods, ",") != "POST" || got.Path != "/orders" {
		t.Errorf("the match is %+v, want POST /orders", got)
	}
	if err := order.Policy.Check(); err != nil {
		t.Error(err)
	}
}

func TestWindowsFiles(t *testing.T) {
	mustParse(t, "\uFEFF"+strings.ReplaceAll(shop, "\n", "\r\n"))
}

// TestHostileFiles: hostile files are refused quickly, and do not crash the process.
func TestHostileFiles(t *testing.T) {
	deep := ""
	for i := range 300 {
		deep += strings.Repeat(" ", i) + "a:\n"
	}
	for name, text := range map[string]string{
		"brackets":     strings.Repeat("[", 1<<20),
		"braces":       strings.Repeat("{a: ", 1<<18),
		"dashes":       strings.Repeat("- ", 1<<19),
		"questions":    strings.Repeat("? ", 1<<19),
		"colons":       strings.Repeat("a: ", 1<<18),
		"deep nesting": deep,
		"lines":        strings.Repeat("[\n", 1<<18),
		"too large":    strings.Repeat("#\n", 1<<20),
		"one text":     "engine: " + strings.Repeat("x", 1<<19),
		"quotes":       "engine: '" + strings.Repeat("'", 1<<19),
		"anchors":      "a: &a [x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nd: [*c, *c, *c]\n",
		"bare CR":      "engine: memory\rto: http://a\r",
		"NUL bytes":    "\x00\x00",
		"two BOMs":     "\uFEFF\uFEFFengine: x",
		"many rules":   "engine: memory\nto: http://a\nrules:\n" + strings.Repeat("  - match: POST /a\n    lock: a\n", 5_000),
	} {
		began := time.Now()
		c, errs := config.Parse("x", []byte(text))
		if c != nil || len(errs) == 0 {
			t.Errorf("%s: Parse accepted the file, want mistakes", name)
		}
		if took := time.Since(began); took > 2*time.Minute { // it takes one or two seconds; the rest is for a busy machine
			t.Errorf("%s: Parse took %v, want at most 2m", name, took)
		} else {
			t.Logf("%s took %v: %.100s", name, took, errs[0].Error())
		}
		if shown := errs[0].Show(); len(shown) > 1000 {
			t.Errorf("%s: the message has %d bytes, want at most 1000", name, len(shown))
		}
	}
}

// TestColonsInBraces: a colon without a space does not make a field, although the YAML
// library reads it as one.
func TestColonsInBraces(t *testing.T) {
	c := mustParse(t, "engine: {quorum: [redis://a:6379, 'redis://b:6379',  redis://c:6379 ]}\nto: {url: [http://a:9000]}\nrules: []\n")
	if got := strings.Join(c.Engine.Quorum, " "); got != "redis://a:6379 redis://b:6379 redis://c:6379" {
		t.Errorf("the quorum is %s, want the three URLs of the file", got)
	}
	if got := c.Upstream.To[0].String(); got != "http://a:9000" {
		t.Errorf("the upstream is %s, want http://a:9000", got)
	}
}

// TestPresets: a rule adds options to its preset, and overrides others.
func TestPresets(t *testing.T) {
	const head = "engine: memory\nto: http://a\nprincipal: none\npresets:\n  mine: {preset: payment, lease: 1m}\nrules:\n  - match: POST /a\n    submit: a:{query.x}\n"
	for more, want := range map[string]guard.Policy{
		"preset: payment":                        {After: guard.Window, Window: 30 * time.Second, OnUnknown: guard.Hold, Retain: 24 * time.Hour, OnDown: guard.Closed},
		"preset: payment\n    after: free":       {After: guard.Free, OnUnknown: guard.Hold, Retain: 24 * time.Hour, OnDown: guard.Closed},
		"preset: payment\n    on-unknown: rerun": {After: guard.Window, Window: 30 * time.Second, OnUnknown: guard.Rerun, OnDown: guard.Closed},
		"preset: payment\n    window: 1m":        {After: guard.Window, Window: time.Minute, OnUnknown: guard.Hold, Retain: 24 * time.Hour, OnDown: guard.Closed},
		"preset: mine\n    on-down: open":        {After: guard.Window, Window: 30 * time.Second, OnUnknown: guard.Hold, Retain: 24 * time.Hour, OnDown: guard.Open, Lease: time.Minute},
		"lease: 5m":                              {After: guard.Window, Window: 5 * time.Second, OnUnknown: guard.Rerun, OnDown: guard.Open, Lease: 5 * time.Minute},
	} {
		p := mustParse(t, head+"    "+more+"\n").Rules[0].Policy
		got := guard.Policy{After: p.After, Window: p.Window, OnUnknown: p.OnUnknown, Retain: p.Retain, OnDown: p.OnDown}
		if want.Lease != 0 {
			got.Lease = p.Lease
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the policy is %+v, want %+v", more, got, want)
		}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestContinue: with continue, two rules may match the same requests.
func TestContinue(t *testing.T) {
	c := mustParse(t, "engine: memory\nto: http://a\nrules:\n  - {match: POST /a, lock: a, continue: true}\n  - {match: POST /a, lock: b}\n")
	if !c.Rules[0].Continue || c.Rules[1].Continue {
		t.Errorf("the rules are %+v, want continue in the first only", c.Rules)
	}
}

// A file with warnings is valid; each warning has a position and a hint.
func TestWarnings(t *testing.T) {
	const file = `engine: memory
to: http://a
principal: none
rules:
  - match: POST /orders/{id}/pay
    lock: pay:{path.id}
  - match: POST /orders
    once: order:{header.Idempotency-Key}
    scope: key
    retain: 10ms
  - match: POST /orders/{id}/ship
    lock: ship:{path.id:int}
`
	cfg, errs := config.Parse("interlock.yaml", []byte(file))
	if errs != nil {
		t.Fatal(errs)
	}
	want := []string{"interlock.yaml:6:11: {path.id} has no type: ", "interlock.yaml:10:13: retain: 10ms is so short"}
	got := cfg.Warnings()
	if len(got) != len(want) {
		t.Fatalf("the warnings are %v, want %d", got, len(want))
	}
	for i, w := range got {
		if !strings.HasPrefix(w.Error(), want[i]) || w.Hint == "" || w.Excerpt == "" {
			t.Errorf("warning %d is %q, want %q", i, w.Show(), want[i])
		}
	}
}

// TestRulesThatAreReached: a later rule is valid if an earlier rule does not match all of
// its requests, or continues.
func TestRulesThatAreReached(t *testing.T) {
	for _, pair := range [][2]string{
		{"match: POST /orders", "match: /orders"}, {"match: POST /orders/{id}", "match: POST /orders/"}, {"match: POST /orders/{$}", "match: POST /orders/"},
		{"match: /orders/", "match: /orders"}, {"match: /orders/{id}", "match: /orders/{id}/pay"}, {"match: POST /orders", "match: POST,PUT /orders"},
		{"match: {path: /a, host: a.example}", "match: {path: /a, host: '*.example'}"}, {"match: {path: /a, header: {X-A: '1'}}", "match: /a"},
		{"continue: true\n    match: /", "match: /a"}, {"shadow: true\n    match: /", "match: /a"},
	} {
		file := "engine: memory\nto: http://a\nprincipal: none\nrules:\n  - " + pair[0] + "\n    lock: first\n  - " + pair[1] + "\n    lock: second\n"
		if _, errs := config.Parse("interlock.yaml", []byte(file)); errs != nil {
			t.Errorf("the rule %q after %q is refused: %v", pair[1], pair[0], errs)
		}
	}
}

func TestEveryEngineIsAccepted(t *testing.T) {
	for _, url := range []string{
		"memory", "rediss://a", "redis+cluster://a,b", "postgres://me@a:5432/shop?sslmode=disable", "postgresql://a,b:5433/shop", "postgres://[::1]:5432/shop",
		"etcd://a:2379,b:2379,c", "etcds://a/?prefix=shop/", "zk://a:2181,b:2181,c:2181/locks/shop", "zks://a",
	} {
		if c := mustParse(t, "engine: '"+url+"'\nto: http://a\nrules: []\n"); c.Engine.URL != url {
			t.Errorf("the engine is %q, want %q", c.Engine.URL, url)
		}
	}
	c := mustParse(t, "engine: {standby: ['postgres://a/shop', 'etcd://b,c,d']}\nto: http://a\nrules: []\n")
	if got := strings.Join(c.Engine.Standby, " "); got != "postgres://a/shop etcd://b,c,d" {
		t.Errorf("the sides are %q, want both engines", got)
	}
	c = mustParse(t, "engine: {quorum: [redis://a, 'postgres://b/shop', 'zk://c,d,e']}\nto: http://a\nrules: []\n")
	if len(c.Engine.Quorum) != 3 {
		t.Errorf("the nodes are %q, want three", c.Engine.Quorum)
	}
}
