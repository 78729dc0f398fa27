package config_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/config"
)

// validFiles have no mistakes, and together contain every field.
var validFiles = []string{
	shop,
	config.Init(),
	tidy,
	"engine: memory\nto: http://127.0.0.1:9000\nrules: []\n",
	`engine:
  quorum: [redis://a:6379, rediss://b:6379, 'redis://:secret@c:6379']
namespace: shop
listen: ':8443'
tls: {cert: server.crt, key: server.key, client-ca: clients.crt}
to:
  url: [https://a.internal, https://b.internal/api]
  host-header: shop.internal
  ca: ca.crt
  insecure: true
  connect: 1s
  answer: 5m
  idle: 2m
trusted-proxies: 10.0.0.0/8
principal: mtls
secrets: [{file: new.secret}, {env: OLD_SECRET}]
tokens: {path: /token, life: 5m, form: spend}
limits: {body: 2MiB, bodies: 8MiB, response: 64KiB, header: 8192, conns: 100}
timeouts: {header: 3s, body: 1m, idle: 10s}
shutdown: {delay: 5s, timeout: 1m}
log: {level: warn, components: {locks: debug, engine: error}}
admin:
  listen: 0.0.0.0:7070
  tls: {cert: admin.crt, key: admin.key}
  tokens:
    - {name: ops, role: operate, env: OPS_TOKEN}
    - {name: screen, role: view, file: screen.token}
  read-only: true
  hosts: [admin.example.com]
  audit: audit.jsonl
presets:
  cautious:
    preset: charge
    max-hold: 1h
    lease: 1m
    local-cache: 1s
    message: {en: hold on, zh: 请稍候}
  quick: {window: 2s, status: 425}
rules:
  - match: POST,PUT /orders/{id}
    host: '*.example.com'
    header: {X-Api: v2, x-any: '*'}
    once: order:{path.id}:{header.Idempotency-Key}
    preset: cautious
    on-error: keep
    tee: true
  - match: {method: [GET, POST], path: '/files/{rest...}', host: files.example.com}
    lock: file:{path.rest}
    kind: read
    wait: 0
    lease: 10s
    continue: true
    to: http://files.internal
  - match: /forms/
    submit: form:{body.a.b}:{cookie.c}:{query.d}
    name: forms
    preset: quick
    scope: user+route+key
    on-duplicate: wait
    wait: 2s
    on-unknown: hold
    retain: 48h
    on-down: local
    principal:
      jwt: {key-file: jwt.pem, issuer: me, audience: shop, claim: uid, algs: [RS256, PS256]}
    optional: true
    shadow: true
  - match: POST /spend
    once: spend:{token}
    message: once is enough
  - match: POST /nightly
    lock: nightly
    max-hold: 1h
    principal: none
    message: '"not" now: # later'
  - match: POST /odd
    lock: odd
    principal: none
    message: {en: "a\u200Bb \U0001F600 \uE000 \\ \"", zh: "yes"}
`,
	"engine: {standby: [redis://a, 'redis+sentinel://b1,b2/main']}\nto: {url: http://a, h2c: true}\nprincipal: none\nadmin: {}\nrules:\n  - {match: POST /a, submit: 'a:{query.x}', after: free, on-error: keep, retain: 5m}\n",
}

// TestPrint: a printed file parses to the same configuration.
func TestPrint(t *testing.T) {
	for i, text := range validFiles {
		c := mustParse(t, text)
		printed := string(c.Print(false))
		again := mustParse(t, printed)
		if reprinted := string(again.Print(false)); withoutComments(reprinted) != withoutComments(printed) {
			t.Errorf("file %d is printed as\n%s\nand, parsed again, as\n%s\nwant the same twice", i, printed, reprinted)
		}
		if strings.Contains(printed, "secret@") {
			t.Errorf("file %d: a password is printed", i)
		}
		if strings.ContainsFunc(printed, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }) {
			t.Errorf("file %d: %q contains control characters", i, printed)
		}
		checkEqual(t, c, again)
	}
}

// withoutComments removes the comments that name presets.
func withoutComments(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i], _, _ = strings.Cut(l, "  # preset")
	}
	return strings.Join(lines, "\n")
}

// checkEqual compares everything that a gateway uses.
func checkEqual(t *testing.T, a, b *config.Config) {
	t.Helper()
	for i := range a.Rules {
		x, y := a.Rules[i], b.Rules[i]
		if x.Key.String() != y.Key.String() {
			t.Errorf("the key was %s, and is %s after printing and parsing", x.Key, y.Key)
		}
		x.At, x.Preset, x.Key = y.At, y.Preset, y.Key
		if !reflect.DeepEqual(x, y) {
			t.Errorf("rule %d was\n%+v\nand is after printing and parsing\n%+v", i, x, y)
		}
	}
	for name, pair := range map[string][2]any{
		"listen": {a.Listen, b.Listen}, "tls": {a.TLS, b.TLS}, "upstream": {a.Upstream, b.Upstream}, "trusted": {a.Trusted, b.Trusted},
		"principal": {a.Principal, b.Principal}, "secrets": {a.Secrets, b.Secrets}, "tokens": {a.Tokens, b.Tokens}, "limits": {a.Limits, b.Limits},
		"timeouts": {a.Timeouts, b.Timeouts}, "shutdown": {a.Shutdown, b.Shutdown}, "log": {a.Log, b.Log}, "namespace": {a.Namespace, b.Namespace}, "rules": {len(a.Rules), len(b.Rules)},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s was %+v, and is %+v after printing and parsing", name, pair[0], pair[1])
		}
	}
}

func TestOrigins(t *testing.T) {
	printed := string(mustParse(t, validFiles[4]).Print(true))
	for _, want := range []string{
		"namespace: shop  # file", "    max-hold: 1h  # preset cautious", "    on-error: keep  # file", "    on-down: closed  # preset cautious",
		"      zh: 请稍候  # preset cautious", "    local-cache: 500ms  # default", "    name: order  # file", "      X-Api: v2  # file", "    host: files.example.com  # file",
		"      url: [http://files.internal]  # file", "      connect: 3s  # default", "    scope: user+route+key  # file", "        claim: uid  # file",
	} {
		if !strings.Contains(printed, want+"\n") {
			t.Errorf("the line %q is not in\n%s", want, printed)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	c := mustParse(t, "engine: redis://me:hunter2@a\nto: http://b\nadmin: {tokens: [{name: ops, role: view, sha256: "+hash+"}]}\nrules: []\n")
	printed := string(c.Print(true))
	if strings.Contains(printed, "hunter2") || strings.Contains(printed, hash) {
		t.Errorf("a secret is printed:\n%s", printed)
	}
	_, errs := config.Parse("x", []byte("engine: redis://me:hunter2@a b\nto: [http://me:hunter2@a]\nsecrets: [hunter2hunter2]\nrules: []\n"))
	for _, m := range errs {
		if strings.Contains(m.Show(), "hunter2") {
			t.Errorf("a message contains a secret:\n%s", m.Show())
		}
	}
	if len(errs) != 3 {
		t.Errorf("%d mistakes, want 3: %v", len(errs), errs)
	}
	// If a file has a token in place of its hash, no message shows the token.
	for _, tokens := range []string{
		"{name: ops, role: view, sha256: hunter2hunter2hunter2}", "{name: ops, role: root, sha256: hunter2hunter2hunter2}",
		"{role: view, sha256: 'hunter2hunter2hunter2', more: x}", "{name: ops, role: view, sha256: [hunter2hunter2hunter2]}",
	} {
		_, errs := config.Parse("x", []byte("engine: memory\nto: http://b\nadmin: {tokens: ["+tokens+"]}\nrules: []\n"))
		if len(errs) == 0 {
			t.Errorf("Parse accepts the tokens %s, want a mistake", tokens)
		}
		for _, m := range errs {
			if strings.Contains(m.Show(), "hunter2") {
				t.Errorf("a message contains a token:\n%s", m.Show())
			}
		}
	}
}

// Passwords are hidden in every part of a URL, even if they are not percent-encoded.
func TestPasswordsOfAllKindsAreNotShown(t *testing.T) {
	for _, url := range []string{
		"redis://:hunter2@a:6379/0", "redis://me:hun@hunter2@a:6379/0", "redis+sentinel://a,b,c/main?sentinel_password=hunter2&timeout=2s",
		"redis+sentinel://me:hunter2@a,b,c/main?SENTINEL_PASSWORD=hunter2", "postgres://me:hunter2@a:5432,b:5432/shop?schema=locks",
		"postgresql://a/shop?password=hunter2&timeout=2s", "postgres://pooler:6432/shop?listen=postgres%3A%2F%2Fme%3Ahunter2%40a%2Fshop&timeout=2s",
		"postgres://a/shop?user=me&sslpassword=hunter2", "etcds://root:hunter2@a:2379,b,c?prefix=shop/", "zk://me:hunter2@a:2181,b/locks?session=6s",
	} {
		c := mustParse(t, "engine: '"+url+"'\nto: http://b\nrules: []\n")
		if printed := string(c.Print(false)); strings.Contains(printed, "hunter2") || strings.Contains(url, "timeout") && !strings.Contains(printed, "timeout=2s") {
			t.Errorf("the password of %s is printed, or its timeout is not:\n%s", url, printed)
		}
	}
	for _, text := range []string{"engine: redis://:hun/hunter2@a b\n", "engine: ['redis://:hun@hunter2@a']\n", "engin: redis://a?sentinel_password=hunter2\n"} {
		_, errs := config.Parse("x", []byte(text+"to: http://b\nrules: []\n"))
		if len(errs) == 0 {
			t.Errorf("Parse accepts %q, want a mistake", text)
		}
		for _, m := range errs {
			if strings.Contains(m.Show(), "hunter2") {
				t.Errorf("a message contains a secret:\n%s", m.Show())
			}
		}
	}
	if c := mustParse(t, "engine: memory\nto: http://b:9000/@shop\nrules: []\n"); !strings.Contains(string(c.Print(false)), "http://b:9000/@shop") {
		t.Errorf("a path with an @ is hidden:\n%s", c.Print(false))
	}
}

func TestVariables(t *testing.T) {
	t.Setenv("SHOP_HOST", "shop.internal")
	t.Setenv("SHOP_EMPTY", "")
	t.Setenv("SHOP_DEEP", "${SHOP_HOST}")
	c := mustParse(t, "engine: redis://${SHOP_HOST}:6379\nto: 'http://${SHOP_HOST}:9000'\nlisten: ${SHOP_HOST}:80\ntls: {cert: '${SHOP_HOST}', key: b}\nrules: []\n")
	if c.Engine.URL != "redis://shop.internal:6379" || c.Upstream.To[0].Host != "shop.internal:9000" || c.Listen != "shop.internal:80" {
		t.Errorf("the engine, upstream and address are %q, %v and %q, want them on shop.internal", c.Engine.URL, c.Upstream.To[0], c.Listen)
	}
	if c.TLS.Cert != "${SHOP_HOST}" {
		t.Errorf("a variable is expanded in tls.cert: %q", c.TLS.Cert)
	}
	for _, name := range []string{"SHOP_EMPTY", "SHOP_DEEP", "SHOP_NONE"} {
		if _, errs := config.Parse("x", []byte("engine: redis://${"+name+"}\nto: http://b\nrules: []\n")); len(errs) != 1 || errs[0].At.Col != 17 {
			t.Errorf("%s: the mistakes are %v, want one at column 17", name, errs)
		}
	}
}
