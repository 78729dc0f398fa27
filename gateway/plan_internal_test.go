package gateway

import (
	"context"
	"log/slog"
	"net"
	"net/http/httptrace"
	"net/url"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// A rule that has not changed keeps its guard, with what that knows; so does a service
// its connections. What has changed gets others, and what is gone is closed.
func TestWhatAPlanTakesOver(t *testing.T) {
	key, err := rule.ParseTemplate("{header.Idempotency-Key}", rule.Pos{})
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	configured := func(changes ...func(*config.Config)) *config.Config {
		r := config.Rule{
			Match: config.Match{Methods: []string{"POST"}, Path: "/orders"}, Key: key,
			Do: rule.Rule{Verb: rule.Once, Name: "order"}, Policy: guard.Policy{Name: "order", Scope: guard.Global},
		}
		c := &config.Config{Upstream: config.Upstream{To: []*url.URL{to}}, Rules: []config.Rule{r}}
		for _, change := range changes {
			change(c)
		}
		return c
	}
	client, log := interlock.New(nil), slog.New(slog.DiscardHandler)
	first, err := newPlan(configured(), client, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change         func(*config.Config)
		shield, behind bool // is taken over
	}{
		"nothing":       {func(*config.Config) {}, true, true},
		"another path":  {func(c *config.Config) { c.Rules[0].Match.Path = "/buy" }, true, true},
		"the policy":    {func(c *config.Config) { c.Rules[0].Policy.Retain = time.Hour }, false, true},
		"the message":   {func(c *config.Config) { c.Rules[0].Policy.Message = guard.Message{"en": "x"} }, false, true},
		"the key":       {func(c *config.Config) { c.Rules[0].Key = nil }, false, true},
		"the namespace": {func(c *config.Config) { c.Namespace = "a" }, false, true},
		"a limit":       {func(c *config.Config) { c.Limits.Body = 5 }, false, true},
		"a secret":      {func(c *config.Config) { c.Secrets = []config.Secret{{Env: "GATEWAY_TEST_SECRET"}} }, false, true},
		"the service":   {func(c *config.Config) { c.Upstream.Answer = time.Second }, true, false},
		"the shadow":    {func(c *config.Config) { c.Rules[0].Shadow = true }, false, true},
	} {
		t.Setenv("GATEWAY_TEST_SECRET", "0123456789abcdef0123456789abcdef")
		next, err := newPlan(configured(c.change), client, log, first)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if kept := next.layers[0].shield == first.layers[0].shield; kept != c.shield {
			t.Errorf("%s changes: that the guard is kept is %v", name, kept)
		}
		if kept := next.backend == first.backend; kept != c.behind {
			t.Errorf("%s changes: that the connections are kept is %v", name, kept)
		}
		if err := next.parts.end(t.Context(), first.parts); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	closed := 0
	first.layers[0].shield.close = func(context.Context) error { closed++; return nil }
	if err := first.parts.end(t.Context(), first.parts); err != nil || closed != 0 {
		t.Errorf("what is taken over was closed: %d, %v", closed, err)
	}
	if err := first.parts.end(t.Context(), parts{}); err != nil || closed != 1 {
		t.Errorf("what is gone was closed %d times, %v", closed, err)
	}
}

// A byte that was sent makes the difference.
func TestWire(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	go func() { b.Read(make([]byte, 10)) }()
	conn := &counter{Conn: a}
	conn.sent.Store(100) // by others, before
	w := &wire{}
	if w.wrote() {
		t.Error("without a connection")
	}
	w.gotConn(httptrace.GotConnInfo{Conn: conn})
	if w.wrote() {
		t.Error("with a connection, and nothing sent")
	}
	conn.Write([]byte("x"))
	if !w.wrote() {
		t.Error("a byte was sent")
	}
	w.gotConn(httptrace.GotConnInfo{Conn: conn})
	if !w.wrote() {
		t.Error("it is forgotten with the next connection")
	}
	other := &wire{}
	other.gotConn(httptrace.GotConnInfo{Conn: a})
	if !other.wrote() {
		t.Error("who does not count cannot know")
	}
}
