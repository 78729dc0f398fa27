package config_test

import (
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

// good parses a file that has no mistake.
func good(t *testing.T, text string) *config.Config {
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
	c := good(t, shop)
	if c.Listen != "127.0.0.1:8080" || len(c.Upstream.To) != 1 || c.Upstream.To[0].Host != "127.0.0.1:9000" || c.Engine.URL != "redis://127.0.0.1:6379" {
		t.Errorf("the top is %+v", c)
	}
	if c.Principal.Header != "X-User" || len(c.Rules) != 2 {
		t.Fatalf("principal %+v, %d rules", c.Principal, len(c.Rules))
	}
	pay, order := c.Rules[0], c.Rules[1]
	if pay.Do.Verb != rule.Lock || pay.Do.Name != "pay" || pay.Key.String() != "{path.id}" || pay.Do.Kind != rule.Fair || pay.Do.Wait != 3*time.Second || pay.At.Line != 8 {
		t.Errorf("the lock is %+v at %v", pay.Do, pay.At)
	}
	if p := order.Policy; p.Name != "order" || p.Retain != 24*time.Hour || p.Scope != guard.PerUser || p.After != guard.Keep || p.OnDuplicate != guard.Replay {
		t.Errorf("the policy is %+v", p)
	}
	if got := order.Match; strings.Join(got.Methods, ",") != "POST" || got.Path != "/orders" {
		t.Errorf("the match is %+v", got)
	}
	if err := order.Policy.Check(); err != nil {
		t.Error(err)
	}
}

// TestColonsInBraces has a colon without a space behind it where the YAML library
// sees a field.
func TestColonsInBraces(t *testing.T) {
	c := good(t, "engine: {quorum: [redis://a:6379, 'redis://b:6379',  redis://c:6379 ]}\nto: {url: [http://a:9000]}\nrules: []\n")
	if got := strings.Join(c.Engine.Quorum, " "); got != "redis://a:6379 redis://b:6379 redis://c:6379" {
		t.Errorf("the quorum is %s", got)
	}
	if got := c.Upstream.To[0].String(); got != "http://a:9000" {
		t.Errorf("the service is at %s", got)
	}
}
