package gateway_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// limitRule returns a rule that limits the requests of a user.
func limitRule(rate rule.Rate) config.Rule {
	r := on("POST /orders", rule.Limit, "{header.X-User}", guard.Policy{})
	r.Do.Name, r.Do.Rate, r.Do.Zone = "orders", rate, "Asia/Shanghai"
	return r
}

func TestLimit(t *testing.T) {
	perDay := rule.Rate{Units: 2, Per: rule.Day}
	t.Run("a request beyond the limit is refused", func(t *testing.T) {
		r := limitRule(perDay)
		r.Message = guard.Message{"en": "enough for today"}
		s := open(t, withRules(r), nil)
		for i, left := range []string{`"orders";r=1`, `"orders";r=0`} {
			a := s.send("POST", "/orders", "")
			if a.StatusCode != http.StatusCreated || !strings.HasPrefix(a.Header.Get("RateLimit"), left) || a.Header.Get("RateLimit-Policy") != `"orders";q=2;w=86400` {
				t.Errorf("response %d is %v with the header %v, want 201 with RateLimit %s and the policy of 2 per day", i+1, a, a.Header, left)
			}
			if e := s.event(); e.Outcome != "ran" || e.Verb != "limit" || e.Key != "orders:ann" {
				t.Errorf("the event is %+v, want limit orders:ann ran", e)
			}
		}
		a := s.send("POST", "/orders", "")
		if a.StatusCode != http.StatusTooManyRequests || a.code() != interlockhttp.QuotaExceeded || a.Header.Get("Retry-After") == "" || !strings.Contains(a.text, "enough for today") {
			t.Errorf("the refusal is %v with the header %v, want 429 quota_exceeded with Retry-After and the message", a, a.Header)
		}
		if e := s.event(); e.Outcome != "refused" || e.Code != string(interlockhttp.QuotaExceeded) {
			t.Errorf("the event is %+v, want refused with quota_exceeded", e)
		}
		if a := s.send("POST", "/orders", "", func(r *http.Request) { r.Header.Set("X-User", "bob") }); a.StatusCode != http.StatusCreated {
			t.Errorf("another user gets %v, want 201", a)
		}
	})
	t.Run("a request that the upstream did not execute takes no unit", func(t *testing.T) {
		s := open(t, withRules(limitRule(perDay)), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Interlock-Outcome", "not-executed")
			w.WriteHeader(http.StatusConflict)
		}))
		for range 4 {
			if a := s.send("POST", "/orders", ""); a.StatusCode != http.StatusConflict {
				t.Errorf("the response is %v, want 409", a)
			}
		}
	})
	t.Run("with on-error: free, a failed request takes no unit", func(t *testing.T) {
		for _, c := range []struct {
			onError guard.After
			last    int
		}{{guard.Keep, 429}, {guard.Free, 500}} {
			r := limitRule(perDay)
			r.Do.OnError = c.onError
			s := open(t, withRules(r), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
			s.send("POST", "/orders", "")
			s.send("POST", "/orders", "")
			if a := s.send("POST", "/orders", ""); a.StatusCode != c.last {
				t.Errorf("on-error: %s: the response is %v, want %d", c.onError, a, c.last)
			}
		}
	})
	t.Run("inside of once, a replay takes no unit, and a failure is not run again", func(t *testing.T) {
		limit, once := limitRule(rule.Rate{Units: 1, Per: rule.Day}), orders()
		limit.Do.OnError, once.Continue = guard.Free, true
		ran := 0
		s := open(t, withRules(once, limit), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			ran++
			w.WriteHeader(http.StatusInternalServerError)
		}))
		for range 3 {
			if a := s.send("POST", "/orders", "", key("k-1")); a.StatusCode != http.StatusInternalServerError {
				t.Errorf("the response is %v, want 500", a)
			}
		}
		if ran != 1 {
			t.Errorf("the upstream ran %d times, want 1", ran)
		}
	})
	t.Run("in shadow, a request does not wait for a unit", func(t *testing.T) {
		r := limitRule(rule.Rate{Units: 1, Every: time.Minute})
		r.Do.Zone, r.Do.Wait, r.Shadow = "", time.Hour, true
		s := open(t, withRules(r), nil)
		for range 2 {
			if a := s.send("POST", "/orders", ""); a.StatusCode != http.StatusCreated {
				t.Errorf("the response is %v, want 201", a)
			}
		}
	})
	t.Run("an engine without quotas is refused", func(t *testing.T) {
		cfg := withRules(limitRule(perDay))
		cfg.Upstream.To = []*url.URL{parse(t, "http://127.0.0.1:1")}
		if _, err := gateway.New(cfg, gateway.Options{Client: interlock.New(withoutQuotas{memory.New()}), Log: slog.New(slog.DiscardHandler)}); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "orders") {
			t.Errorf("the error is %v, want one that names the rule", err)
		}
	})
	t.Run("an unknown time zone is refused", func(t *testing.T) {
		r := limitRule(perDay)
		r.Do.Zone = "Mars/Base"
		cfg := withRules(r)
		cfg.Upstream.To = []*url.URL{parse(t, "http://127.0.0.1:1")}
		if _, err := gateway.New(cfg, gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "Mars/Base") {
			t.Errorf("the error is %v, want one that names the zone", err)
		}
	})
}

// withoutQuotas is an engine without quotas, as etcd is.
type withoutQuotas struct{ engine.Engine }

func (e withoutQuotas) Capabilities() engine.Capabilities {
	c := e.Engine.Capabilities()
	c.Quotas = nil
	return c
}
