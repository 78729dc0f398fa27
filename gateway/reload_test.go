package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

func TestReload(t *testing.T) {
	t.Run("a running request keeps its old rules, and a repeat after the reload is a duplicate of it", func(t *testing.T) {
		d := newGate()
		s := open(t, withRules(orders()), d)
		var first answer
		var wg sync.WaitGroup
		wg.Go(func() { first = s.send("POST", "/orders", "x", key("k")) })
		<-d.arrived
		otherRule := on("POST /other", rule.Submit, "{header.Idempotency-Key}", guard.Form("other"))
		if err := s.gateway.Reload(configFor(t, s, otherRule, orders())); err != nil {
			t.Fatal(err)
		}
		if got := s.send("POST", "/orders", "x", key("k")); got.code() != interlockhttp.InProgress {
			t.Errorf("a repeat gets %v, want in_progress", got)
		}
		close(d.open)
		wg.Wait()
		if got := s.send("POST", "/orders", "x", key("k")); first.text != "done" || got.text != "done" || got.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the first request gets %v and the next one %v, want done and its replay", first, got)
		}
	})
	t.Run("a removed rule no longer applies, and a new one does", func(t *testing.T) {
		s := open(t, withRules(orders()), nil)
		pay := on("POST /pay", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "pay"})
		if err := s.gateway.Reload(configFor(t, s, pay)); err != nil {
			t.Fatal(err)
		}
		if got := s.send("POST", "/orders", "x"); got.StatusCode != http.StatusCreated {
			t.Errorf("a request of the removed rule gets %v, want 201", got)
		}
		if got := s.send("POST", "/pay", "x"); got.code() != interlockhttp.KeyMissing {
			t.Errorf("a request of the new rule without a key gets %v, want key_missing", got)
		}
	})
	t.Run("an invalid configuration changes nothing", func(t *testing.T) {
		s := open(t, withRules(orders()), nil)
		before := s.gateway.Config()
		for name, change := range map[string]func(*config.Config){
			"no upstream":         func(c *config.Config) { c.Upstream.To = nil },
			"a file URL":          func(c *config.Config) { c.Upstream.To[0] = parse(t, "file:///etc") },
			"a path without /":    func(c *config.Config) { c.Rules[0].Match.Path = "orders" },
			"a wildcard first":    func(c *config.Config) { c.Rules[0].Match.Path = "/{rest...}/x" },
			"no user":             func(c *config.Config) { c.Principal = config.Principal{None: true} },
			"once for GET":        func(c *config.Config) { c.Rules[0].Match.Methods = []string{"GET"} },
			"no name":             func(c *config.Config) { c.Rules[0].Policy.Name = "" },
			"no token endpoint":   func(c *config.Config) { c.Rules[0].Form = "order" },
			"a secret of 3 bytes": func(c *config.Config) { c.Secrets = []config.Secret{{File: file(t, "s", []byte("abc"))}} },
			"no secret":           func(c *config.Config) { c.Secrets = []config.Secret{{File: "/nowhere"}} },
			"an invalid CA":       func(c *config.Config) { c.Upstream.CA = file(t, "ca", []byte("air")) },
		} {
			cfg := configFor(t, s, orders())
			change(cfg)
			if err := s.gateway.Reload(cfg); err == nil {
				t.Errorf("Reload accepts a configuration with %s, want an error", name)
			}
		}
		if err := s.gateway.Reload(nil); err == nil || s.gateway.Config() != before {
			t.Errorf("Reload(nil) = %v, want an error and the previous configuration in use", err)
		}
		if got := s.send("POST", "/orders", "x", key("k")); got.StatusCode != http.StatusCreated {
			t.Errorf("a request after the failed reloads gets %v, want 201", got)
		}
	})
	t.Run("no request fails during a reload", func(t *testing.T) {
		s := open(t, withRules(orders()), nil)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					got := s.send("POST", "/orders", "x", key(strings.Repeat("k", i+1)+time.Now().Format("150405.000000000")))
					if got.err != nil || got.StatusCode != http.StatusCreated {
						t.Errorf("a request gets %v, want 201", got)
						return
					}
				}
			})
		}
		go func() {
			for range s.events {
			}
		}()
		for n := range 30 {
			r := orders()
			if n%2 == 0 {
				r.Policy.Retain = time.Hour
			}
			if err := s.gateway.Reload(configFor(t, s, r)); err != nil {
				t.Fatal(err)
			}
		}
		close(stop)
		wg.Wait()
	})
}

func TestClose(t *testing.T) {
	d := newGate()
	service := httptest.NewServer(d)
	t.Cleanup(service.Close)
	cfg := withRules(orders())
	cfg.Upstream.To = append(cfg.Upstream.To, parse(t, service.URL))
	g, err := gateway.New(cfg, gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	post := func() *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader("x"))
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("X-User", "ann")
		r.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w
	}
	if err := g.Ready(); err != nil {
		t.Errorf("the gateway is not ready: %v", err)
	}
	var first *httptest.ResponseRecorder
	var wg sync.WaitGroup
	wg.Go(func() { first = post() })
	<-d.arrived
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	closed := make(chan error)
	go func() { closed <- g.Close(soon) }()
	<-soon.Done()
	close(d.open)
	if err := <-closed; err == nil {
		t.Error("Close returned nil although a request was running when its context ended")
	}
	wg.Wait()
	if first.Code != http.StatusOK && first.Code != http.StatusBadGateway {
		t.Errorf("the running request gets %d, want 200 or 502", first.Code)
	}
	if got := post(); got.Code != http.StatusServiceUnavailable {
		t.Errorf("a request after Close gets %d, want 503", got.Code)
	}
	if g.Ready() == nil || g.Reload(cfg) == nil {
		t.Error("a closed gateway is ready, or can be reloaded")
	}
	w := httptest.NewRecorder()
	g.HealthHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody))
	if w.Code != http.StatusServiceUnavailable || w.Body.String() != "failed\n" {
		t.Errorf("/readyz answers %d %q, want 503 failed", w.Code, w.Body)
	}
}

func TestNewRefusesMissingArguments(t *testing.T) {
	if _, err := gateway.New(nil, gateway.Options{Client: interlock.New(nil)}); err == nil {
		t.Error("New accepts a nil configuration")
	}
	if _, err := gateway.New(withRules(), gateway.Options{}); err == nil {
		t.Error("New accepts Options without a client")
	}
}

// Harmless edits of a file leave the records of earlier requests valid.
func TestRecordsOutliveAReload(t *testing.T) {
	before := on("POST /orders/{id}/pay", rule.Once, "{header.Idempotency-Key}:{path.id}", guard.Policy{Name: "pay"})
	after := on("POST /orders/{order}/pay", rule.Once, "{header.Idempotency-Key}:{path.order}", guard.Policy{Name: "pay"})
	s := open(t, withRules(before), nil)
	if got := s.send("POST", "/orders/7/pay", "x", key("k")); got.StatusCode != http.StatusCreated {
		t.Fatalf("the first request gets %v, want 201", got)
	}
	renamed, keyed := *s.gateway.Config(), *s.gateway.Config()
	renamed.Rules = configFor(t, s, after).Rules
	keyed.Rules = renamed.Rules
	t.Setenv("SECRET", strings.Repeat("s", 32))
	keyed.Secrets = []config.Secret{{Env: "SECRET"}}
	for name, cfg := range map[string]config.Config{"a wildcard is renamed": renamed, "the first secret is added": keyed} {
		if err := s.gateway.Reload(&cfg); err != nil {
			t.Fatal(err)
		}
		if got := s.send("POST", "/orders/7/pay", "x", key("k")); got.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("after %s, a repeat gets %v, want a replay", name, got)
		}
	}
}

// An unknown outcome that a rule holds stays held after a reload changes the rule to
// on-unknown: rerun. The record knows the rule that wrote it.
func TestAReloadDoesNotFreeHeldOutcomes(t *testing.T) {
	var charges atomic.Int64
	s := open(t, parseRule(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		charges.Add(1)
		w.WriteHeader(http.StatusBadGateway)
	}))
	s.send("POST", "/orders", "700", key("before"))
	rerun := *s.gateway.Config()
	rerun.Rules = parseRule(t, "on-unknown: rerun").Rules
	if err := s.gateway.Reload(&rerun); err != nil {
		t.Fatal(err)
	}
	if got := s.send("POST", "/orders", "700", key("before")); got.code() != interlockhttp.OutcomeUnknown || charges.Load() != 1 {
		t.Errorf("the retry after the reload got %v after %d charges, want %s after 1", got, charges.Load(), interlockhttp.OutcomeUnknown)
	}
	for range 2 {
		s.send("POST", "/orders", "700", key("after"))
	}
	if n := charges.Load(); n != 3 {
		t.Errorf("%d charges after two new requests, want 3: the new rule says rerun", n)
	}
}

// A reload after which records no longer match logs the rule and the changed field.
func TestAReloadWarnsOfForgottenRecords(t *testing.T) {
	var log bytes.Buffer
	pay := on("POST /pay", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "pay"})
	s := open(t, withRules(pay), nil)
	g, err := gateway.New(s.gateway.Config(), gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for changed, change := range map[string]func(*config.Config){
		"":          func(c *config.Config) { c.Rules[0].Match.Methods = []string{"POST", "PUT"} },
		"principal": func(c *config.Config) { c.Rules[0].Principal = config.Principal{Header: "X-Other"} },
		"key": func(c *config.Config) {
			c.Rules[0].Key = on("POST /pay", rule.Once, "{header.Idempotency-Key}:{header.X-Tenant}", guard.Policy{}).Key
		},
		"fingerprint-headers": func(c *config.Config) { c.Rules[0].FingerprintHeaders = []string{"X-A"} },
		"form":                func(c *config.Config) { c.Rules[0].Form, c.Tokens = "pay", &config.Tokens{} },
		"namespace":           func(c *config.Config) { c.Namespace = "other" },
		"name":                func(c *config.Config) { c.Rules = nil },
	} {
		cfg := *s.gateway.Config()
		cfg.Rules = slices.Clone(cfg.Rules)
		change(&cfg)
		log.Reset()
		if err := g.Reload(&cfg); err != nil {
			t.Fatal(err)
		}
		if got := log.String(); changed == "" && got != "" || changed != "" && !strings.Contains(got, "name=pay changed="+changed) {
			t.Errorf("after a change of %q the log is %q, want a warning that names it, or nothing if it is empty", changed, got)
		}
		if err := g.Reload(s.gateway.Config()); err != nil {
			t.Fatal(err)
		}
	}
}

// A file with another secret, under the same name, makes the records of all rules unknown.
func TestAReloadWarnsOfAnOverwrittenSecret(t *testing.T) {
	var log bytes.Buffer
	file := filepath.Join(t.TempDir(), "secret")
	write := func(secret string) {
		if err := os.WriteFile(file, []byte(strings.Repeat(secret, 32)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	cfg := withRules(on("POST /pay", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "pay"}))
	cfg.Secrets = []config.Secret{{File: file}}
	s := open(t, cfg, nil)
	g, err := gateway.New(s.gateway.Config(), gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	reload := func() string {
		log.Reset()
		if err := g.Reload(s.gateway.Config()); err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	if got := reload(); got != "" {
		t.Errorf("after a reload without a change the log is %q, want nothing", got)
	}
	write("b")
	if got := reload(); !strings.Contains(got, "name=pay changed=secrets") {
		t.Errorf("after the secret was overwritten the log is %q, want a warning about rule pay", got)
	}
}

// Tokens that were issued before a file got its first secret stay valid. Otherwise a user
// whose response was lost would get a new token, and order twice.
func TestTokensSurviveTheFirstSecret(t *testing.T) {
	r := on("POST /orders", rule.Once, "{header.Idempotent-Token}", guard.Policy{Name: "order"})
	r.Form = "order"
	cfg := withRules(r)
	cfg.Tokens = &config.Tokens{}
	s := open(t, cfg, nil)
	var issued struct{ Token string }
	if err := json.Unmarshal([]byte(s.send("GET", "/idempotent-token?form=order", "").text), &issued); err != nil {
		t.Fatal(err)
	}
	submit := func() answer { return s.send("POST", "/orders", "x", field("Idempotent-Token", issued.Token)) }
	if got := submit(); got.StatusCode != http.StatusCreated {
		t.Fatalf("the first request gets %v, want 201", got)
	}
	t.Setenv("INTERLOCK_TEST_SECRET", strings.Repeat("s", 32))
	next := *s.gateway.Config()
	next.Secrets = []config.Secret{{Env: "INTERLOCK_TEST_SECRET"}}
	for range 2 { // the second reload finds the random secret in a snapshot whose file has a secret
		if err := s.gateway.Reload(&next); err != nil {
			t.Fatal(err)
		}
		if got := submit(); got.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("after the reload, a repeat gets %v, want a replay", got)
		}
	}
}

// An empty list of fields means no fields. No list means the default fields.
func TestAReloadAppliesAnEmptyListOfFields(t *testing.T) {
	pay := on("POST /pay", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "pay"})
	pay.FingerprintHeaders = []string{}
	s := open(t, withRules(pay), nil)
	send := func(k, account string) answer {
		return s.send("POST", "/pay", "x", key(k), field("Stripe-Account", account))
	}
	send("k1", "acct_1")
	if got := send("k1", "acct_2"); got.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("without fields, a request with another account gets %v, want a replay", got)
	}
	next := *s.gateway.Config()
	next.Rules = slices.Clone(next.Rules)
	next.Rules[0].FingerprintHeaders = nil
	if err := s.gateway.Reload(&next); err != nil {
		t.Fatal(err)
	}
	send("k2", "acct_1")
	if got := send("k2", "acct_2"); got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("with the default fields, a request with another account gets %v, want 422", got)
	}
}

// A request with the same key for another account is not a duplicate: it is refused.
func TestAccountsInHeaders(t *testing.T) {
	pay := on("POST /pay", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "pay"})
	ours := on("POST /ours", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "ours"})
	ours.FingerprintHeaders = []string{"X-Branch"}
	s := open(t, withRules(pay, ours), nil)
	for path, name := range map[string]string{"/pay": "Stripe-Account", "/ours": "X-Branch"} {
		first := s.send("POST", path, "x", key("k"), field(name, "acct_1"), field("X-Request-Id", "1"))
		again := s.send("POST", path, "x", key("k"), field(name, "acct_1"), field("X-Request-Id", "2"))
		otherResponse := s.send("POST", path, "x", key("k"), field(name, "acct_2"))
		if first.StatusCode != http.StatusCreated || again.Header.Get("Idempotent-Replayed") != "true" || otherResponse.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: the first request gets %v, a repeat %v, another account %v; want 201, a replay, 422", path, first, again, otherResponse)
		}
	}
}
