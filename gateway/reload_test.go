package gateway_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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
	t.Run("a running request ends by its old rules, and a repeat meets it", func(t *testing.T) {
		d := newGate()
		s := open(t, withRules(orders()), d)
		var first answer
		var wg sync.WaitGroup
		wg.Go(func() { first = s.send("POST", "/orders", "x", key("k")) })
		<-d.in
		other := on("POST /other", rule.Submit, "{header.Idempotency-Key}", guard.Form("other"))
		if err := s.gateway.Reload(routed(t, s, other, orders())); err != nil {
			t.Fatal(err)
		}
		if got := s.send("POST", "/orders", "x", key("k")); got.code() != interlockhttp.InProgress {
			t.Errorf("a repeat gets %v", got)
		}
		close(d.opens)
		wg.Wait()
		if got := s.send("POST", "/orders", "x", key("k")); first.text != "done" || got.text != "done" || got.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the first gets %v, the next %v", first, got)
		}
	})
	t.Run("a removed rule no longer applies, and a new one does", func(t *testing.T) {
		s := open(t, withRules(orders()), nil)
		pay := on("POST /pay", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "pay"})
		if err := s.gateway.Reload(routed(t, s, pay)); err != nil {
			t.Fatal(err)
		}
		if got := s.send("POST", "/orders", "x"); got.StatusCode != http.StatusCreated {
			t.Errorf("the removed rule: %v", got)
		}
		if got := s.send("POST", "/pay", "x"); got.code() != interlockhttp.KeyMissing {
			t.Errorf("the new rule: %v", got)
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
			cfg := routed(t, s, orders())
			change(cfg)
			if err := s.gateway.Reload(cfg); err == nil {
				t.Errorf("%s is accepted", name)
			}
		}
		if err := s.gateway.Reload(nil); err == nil || s.gateway.Config() != before {
			t.Errorf("something changed: %v", err)
		}
		if got := s.send("POST", "/orders", "x", key("k")); got.StatusCode != http.StatusCreated {
			t.Errorf("got %v", got)
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
						t.Errorf("a request got %v", got)
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
			if err := s.gateway.Reload(routed(t, s, r)); err != nil {
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
	ask := func() *httptest.ResponseRecorder {
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
	wg.Go(func() { first = ask() })
	<-d.in
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	closed := make(chan error)
	go func() { closed <- g.Close(soon) }()
	<-soon.Done()
	close(d.opens)
	if err := <-closed; err == nil {
		t.Error("Close returns while a request runs")
	}
	wg.Wait()
	if first.Code != http.StatusOK && first.Code != http.StatusBadGateway {
		t.Errorf("the first got %d", first.Code)
	}
	if got := ask(); got.Code != http.StatusServiceUnavailable {
		t.Errorf("a request after Close gets %d", got.Code)
	}
	if g.Ready() == nil || g.Reload(cfg) == nil {
		t.Error("a closed gateway is ready, or can be reloaded")
	}
	w := httptest.NewRecorder()
	g.HealthHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody))
	if w.Code != http.StatusServiceUnavailable || w.Body.String() != "failed\n" {
		t.Errorf("/readyz says %d %q", w.Code, w.Body)
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := gateway.New(nil, gateway.Options{Client: interlock.New(nil)}); err == nil {
		t.Error("no configuration")
	}
	if _, err := gateway.New(withRules(), gateway.Options{}); err == nil {
		t.Error("no client")
	}
}
