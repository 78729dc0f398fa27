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

// A reload keeps the guard of an unchanged rule and the connections of an unchanged
// upstream. It replaces resources that changed, and closes those that are no longer used.
func TestReloadReusesUnchangedResources(t *testing.T) {
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
	first, err := newSnapshot(configured(), Options{Client: client, Log: log}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change          func(*config.Config)
		guard, upstream bool // whether the reload keeps the guard and the connections
	}{
		"nothing":       {func(*config.Config) {}, true, true},
		"another path":  {func(c *config.Config) { c.Rules[0].Match.Path = "/buy" }, true, true},
		"the policy":    {func(c *config.Config) { c.Rules[0].Policy.Retain = time.Hour }, false, true},
		"the message":   {func(c *config.Config) { c.Rules[0].Policy.Message = guard.Message{"en": "x"} }, false, true},
		"the key":       {func(c *config.Config) { c.Rules[0].Key = nil }, false, true},
		"the namespace": {func(c *config.Config) { c.Namespace = "a" }, false, true},
		"a limit":       {func(c *config.Config) { c.Limits.Body = 5 }, false, true},
		"a secret":      {func(c *config.Config) { c.Secrets = []config.Secret{{Env: "GATEWAY_TEST_SECRET"}} }, false, true},
		"the upstream":  {func(c *config.Config) { c.Upstream.Answer = time.Second }, true, false},
		"the shadow":    {func(c *config.Config) { c.Rules[0].Shadow = true }, false, true},
	} {
		t.Setenv("GATEWAY_TEST_SECRET", "0123456789abcdef0123456789abcdef")
		next, err := newSnapshot(configured(c.change), Options{Client: client, Log: log}, first)
		if err != nil {
			t.Errorf("a change of %s is refused: %v", name, err)
			continue
		}
		if kept := next.rules[0].middleware == first.rules[0].middleware; kept != c.guard {
			t.Errorf("after a change of %s the guard is kept: %v, want %v", name, kept, c.guard)
		}
		if kept := next.backend == first.backend; kept != c.upstream {
			t.Errorf("after a change of %s the connections are kept: %v, want %v", name, kept, c.upstream)
		}
		if err := next.resources.close(t.Context(), first.resources); err != nil {
			t.Errorf("after a change of %s, closing the resources failed: %v", name, err)
		}
	}
	closed := 0
	first.rules[0].middleware.close = func(context.Context) error { closed++; return nil }
	if err := first.resources.close(t.Context(), first.resources); err != nil || closed != 0 {
		t.Errorf("a kept guard was closed %d times, error %v; want 0 times", closed, err)
	}
	if err := first.resources.close(t.Context(), resources{}); err != nil || closed != 1 {
		t.Errorf("an unused guard was closed %d times, error %v; want once", closed, err)
	}
}

// A round trip knows whether a byte of its request was sent.
func TestRoundTripCountsBytes(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	go func() { b.Read(make([]byte, 10)) }()
	conn := &countingConn{Conn: a}
	conn.sent.Store(100) // by earlier requests
	trip := &roundTrip{}
	if trip.wrote() {
		t.Error("wrote() = true without a connection")
	}
	trip.gotConn(httptrace.GotConnInfo{Conn: conn})
	if trip.wrote() {
		t.Error("wrote() = true before a byte was sent on the connection")
	}
	conn.Write([]byte("x"))
	if !trip.wrote() {
		t.Error("wrote() = false after a byte was sent")
	}
	trip.gotConn(httptrace.GotConnInfo{Conn: conn})
	if !trip.wrote() {
		t.Error("wrote() = false on the next connection, although a byte was sent on an earlier one")
	}
	otherTrip := &roundTrip{}
	otherTrip.gotConn(httptrace.GotConnInfo{Conn: a})
	if !otherTrip.wrote() {
		t.Error("wrote() = false on a connection that does not count bytes, want true to be safe")
	}
}
