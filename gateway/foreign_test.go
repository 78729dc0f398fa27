package gateway_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
)

// A transportFunc is a transport of another proxy.
type transportFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// foreign returns a gateway whose requests another proxy sends.
func foreign(t *testing.T, send transportFunc, change func(*config.Config)) http.Handler {
	t.Helper()
	cfg := withRules(orders())
	if change != nil {
		change(cfg)
	}
	client := interlock.New(nil)
	g, err := gateway.New(cfg, gateway.Options{Client: client, Log: slog.New(slog.DiscardHandler), Transport: send})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(g.Close(t.Context()), client.Close(t.Context())); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return g
}

// answered returns the response of a transport.
func answered(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"Location": {"/1"}}, Body: io.NopCloser(strings.NewReader("done")), ContentLength: 4, Request: r}, nil
}

// ask sends a request from Envoy, which listens on this machine.
func ask(g http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader("{}"))
	r.RemoteAddr = "127.0.0.1:4000"
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

func TestForeignTransport(t *testing.T) {
	t.Parallel()
	post := func(g http.Handler, header ...string) *httptest.ResponseRecorder {
		return ask(g, http.MethodPost, "/orders", append([]string{"Idempotency-Key", "key-1", "X-User", "ann"}, header...)...)
	}
	t.Run("it replaces the upstream, which the configuration need not name", func(t *testing.T) {
		t.Parallel()
		runs := 0
		g := foreign(t, func(r *http.Request) (*http.Response, error) { runs++; return answered(r) }, nil)
		for range 2 {
			if w := post(g); w.Code != 201 || w.Body.String() != "done" {
				t.Errorf("got %d %q", w.Code, w.Body)
			}
		}
		if runs != 1 {
			t.Errorf("%d requests were sent, want 1", runs)
		}
	})
	for _, c := range []struct {
		name  string
		err   error
		again string
	}{
		{"after its error, the outcome is unknown", io.ErrUnexpectedEOF, "outcome_unknown"},
		{"after an error that says so, nothing was done", guard.NotExecuted(errors.New("the client has left")), "upstream_unreachable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := foreign(t, func(*http.Request) (*http.Response, error) { return nil, c.err }, nil)
			if w := post(g); w.Code != http.StatusBadGateway {
				t.Errorf("got %d %q, want 502", w.Code, w.Body)
			}
			if w := post(g); !strings.Contains(w.Body.String(), c.again) {
				t.Errorf("the repeat got %d %q, want %s", w.Code, w.Body, c.again)
			}
		})
	}
	t.Run("it learns whether a rule guards a request", func(t *testing.T) {
		t.Parallel()
		var got []string
		g := foreign(t, func(r *http.Request) (*http.Response, error) {
			got = append(got, fmt.Sprint(r.Method, gateway.Guarded(r), r.Header["Via"] != nil))
			return answered(r)
		}, nil)
		post(g)
		ask(g, http.MethodGet, "/orders")
		if text := strings.Join(got, " "); text != "POSTtrue true GETfalse false" {
			t.Errorf("got %q", text)
		}
		if gateway.Guarded(httptest.NewRequest(http.MethodGet, "/", nil)) {
			t.Error("a request of another server is guarded")
		}
	})
	t.Run("fields that the other proxy checks are kept, and those of clients are removed", func(t *testing.T) {
		t.Parallel()
		for _, trusted := range []bool{true, false} {
			var sent http.Header
			g := foreign(t, func(r *http.Request) (*http.Response, error) { sent = r.Header; return answered(r) }, func(c *config.Config) {
				if !trusted {
					c.Trusted = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
				}
			})
			ask(g, http.MethodGet, "/", "X-Forwarded-For", "192.0.2.1", "X-Forwarded-Proto", "https", "X-Forwarded-Client-Cert", "Hash=1",
				"X-Forwarded-Host", "other", "X-Original-Url", "/orders", "Interlock-Fence", "9", "X-User", "ann")
			for name, want := range map[string]bool{
				"X-Forwarded-For": true, "X-Forwarded-Proto": true, "X-Forwarded-Client-Cert": true,
				"X-Forwarded-Host": trusted, "X-Original-Url": trusted, "X-User": trusted, "Interlock-Fence": false,
			} {
				if got := sent.Get(name) != ""; got != want {
					t.Errorf("trusted=%v: %s was sent: %v, want %v", trusted, name, got, want)
				}
			}
			if got := sent.Get("X-Forwarded-For"); got != "192.0.2.1" {
				t.Errorf("X-Forwarded-For is %q, want that of the other proxy", got)
			}
		}
	})
	t.Run("a query that it would send in another reading is refused", func(t *testing.T) {
		t.Parallel()
		runs := 0
		g := foreign(t, func(r *http.Request) (*http.Response, error) { runs++; return answered(r) }, func(c *config.Config) {
			c.Rules = []config.Rule{on("POST /orders", "once", "{query.id}", guard.Policy{Name: "order"})}
		})
		if w := ask(g, http.MethodPost, "/orders?id=1;id=2", "X-User", "ann"); !strings.Contains(w.Body.String(), "request_ambiguous") {
			t.Errorf("got %d %q", w.Code, w.Body)
		}
		if runs != 0 {
			t.Errorf("%d requests were sent", runs)
		}
	})
	t.Run("a request that comes back is a loop", func(t *testing.T) {
		t.Parallel()
		var g http.Handler
		g = foreign(t, func(r *http.Request) (*http.Response, error) {
			w := ask(g, http.MethodPost, "/orders", "Idempotency-Key", "key-1", "X-User", "ann", "Via", r.Header.Get("Via"))
			res := w.Result()
			res.Request = r
			return res, nil
		}, nil)
		if w := post(g); w.Code != http.StatusLoopDetected {
			t.Errorf("got %d %q, want 508", w.Code, w.Body)
		}
	})
}
