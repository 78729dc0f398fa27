package gateway_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// At most a thousand requests wait for one lock. Further requests get 429 until some
// waiters have left.
func TestTooManyWaiters(t *testing.T) {
	lock := on("POST /orders", rule.Lock, "{header.Idempotency-Key}", guard.Policy{Name: "order"})
	lock.Do.Wait = time.Minute
	d := newGate()
	s := open(t, withRules(), d)
	g, err := gateway.New(configFor(t, s, lock), gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	post := func(ctx context.Context, key string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/orders", strings.NewReader("x"))
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("X-User", "ann")
		r.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w
	}
	var holders, waiters sync.WaitGroup
	holders.Go(func() { post(t.Context(), "k") })
	<-d.arrived
	const requests, limit = 1010, 1000
	ctx, disconnect := context.WithCancel(t.Context())
	answers := make(chan *httptest.ResponseRecorder, requests)
	for range requests {
		waiters.Go(func() { answers <- post(ctx, "k") })
	}
	for range requests - limit {
		var w *httptest.ResponseRecorder
		select {
		case w = <-answers:
		case <-time.After(30 * time.Second):
			t.Fatal("no request was refused")
		}
		if p, _ := interlockhttp.ReadProblem(w.Result()); p == nil || w.Code != http.StatusTooManyRequests || p.Code != interlockhttp.TooManyWaiters || w.Header().Get("Retry-After") != "1" {
			t.Errorf("a request above the limit gets %d %s, want 429 too_many_waiters with Retry-After: 1", w.Code, w.Body)
		}
	}
	if n := len(answers); n != 0 {
		t.Errorf("%d requests below the limit were refused", n)
	}
	holders.Go(func() { post(t.Context(), "other") })
	<-d.arrived // another lock has no waiters
	disconnect()
	waiters.Wait()
	close(d.open)
	holders.Wait()
	if w := post(t.Context(), "k"); w.Code != http.StatusOK {
		t.Errorf("after the waiters have left, a request gets %d %s, want 200", w.Code, w.Body)
	}
}

// At most a thousand requests wait for a unit of one limit.
func TestTooManyWaitersForALimit(t *testing.T) {
	limit := limitRule(rule.Rate{Units: 1, Every: time.Minute})
	limit.Do.Zone, limit.Do.Wait = "", time.Hour
	s := open(t, withRules(), nil)
	g, err := gateway.New(configFor(t, s, limit), gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	post := func(ctx context.Context, user string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/orders", strings.NewReader("x"))
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("X-User", user)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w
	}
	if w := post(t.Context(), "ann"); w.Code != http.StatusCreated {
		t.Fatalf("the first request gets %d %s, want 201", w.Code, w.Body)
	}
	const requests, most = 1010, 1000
	for round := range 2 { // waiters that have left do not count
		ctx, disconnect := context.WithCancel(t.Context())
		answers := make(chan *httptest.ResponseRecorder, requests)
		var waiters sync.WaitGroup
		for range requests {
			waiters.Go(func() { answers <- post(ctx, "ann") })
		}
		for range requests - most {
			select {
			case w := <-answers:
				if p, _ := interlockhttp.ReadProblem(w.Result()); p == nil || w.Code != http.StatusTooManyRequests || p.Code != interlockhttp.TooManyWaiters || w.Header().Get("Retry-After") != "1" {
					t.Errorf("round %d: a request above the limit gets %d %s, want 429 too_many_waiters with Retry-After: 1", round, w.Code, w.Body)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("round %d: no request was refused", round)
			}
		}
		if n := len(answers); n != 0 {
			t.Errorf("round %d: %d requests below the limit were refused", round, n)
		}
		if w := post(t.Context(), fmt.Sprint("bob-", round)); w.Code != http.StatusCreated {
			t.Errorf("round %d: another user gets %d %s, want 201", round, w.Code, w.Body)
		}
		disconnect()
		waiters.Wait()
	}
}

// While the upstream is down, the log has one line per second, which counts the skipped
// lines.
func TestTheLogDuringAnOutage(t *testing.T) {
	var out bytes.Buffer
	s := open(t, withRules(), nil)
	s.service.Close()
	g, err := gateway.New(configFor(t, s, orders()), gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i := range 50 {
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader("x"))
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("X-User", "ann")
		r.Header.Set("Idempotency-Key", fmt.Sprint("k-", i))
		w := httptest.NewRecorder()
		if g.ServeHTTP(w, r); w.Code != http.StatusBadGateway {
			t.Fatalf("the client gets %d %s, want 502", w.Code, w.Body)
		}
	}
	most := 1 + int(time.Since(began)/time.Second)
	if n := strings.Count(out.String(), "code=upstream_unreachable"); n < 1 || n > most {
		t.Errorf("50 requests have %d lines, want 1 to %d:\n%s", n, most, out.String())
	}
}

// Requests that pass without a key are counted, and one of them per second is logged.
func TestRequestsWithoutAKeyAreCounted(t *testing.T) {
	var out bytes.Buffer
	s := open(t, withRules(), nil)
	order, pay := orders(), on("POST /pay", rule.Lock, "{header.X-No}", guard.Policy{Name: "pay"})
	order.Optional, pay.Optional = true, true
	g, err := gateway.New(configFor(t, s, order, pay), gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close(t.Context())
	began := time.Now()
	for range 50 {
		for _, path := range []string{"/orders", "/pay"} {
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader("x"))
			r.RemoteAddr = "127.0.0.1:1"
			r.Header.Set("X-User", "ann")
			w := httptest.NewRecorder()
			if g.ServeHTTP(w, r); w.Code != http.StatusCreated {
				t.Fatalf("the client gets %d %s, want 201", w.Code, w.Body)
			}
		}
	}
	most := 1 + int(time.Since(began)/time.Second)
	for _, name := range []string{"order", "pay"} {
		if n := strings.Count(out.String(), "name="+name+" "); n < 1 || n > most {
			t.Errorf("50 requests without a key have %d lines about %s, want 1 to %d:\n%s", n, name, most, out.String())
		}
		if got := g.Stats()[name].Verdicts[gateway.NoKey]; got != 50 {
			t.Errorf("50 requests of %s without a key are counted as %d", name, got)
		}
	}
}

// The number of counters does not grow with the clients' keys.
func TestManyKeysAreCountedTogether(t *testing.T) {
	s := open(t, withRules(orders()), nil)
	for i := range 200 {
		s.send(http.MethodPost, "/orders", "x", key(fmt.Sprint("k-", i)))
	}
	if all := s.gateway.Stats(); len(all) != 1 || all["order"].Verdicts[guard.Granted] != 200 {
		t.Errorf("200 keys of one rule are counted as %+v, want 200 claims of the rule order", all)
	}
}

// endless is a listener that always has a new connection.
type endless struct{ net.Listener }

func (endless) Accept() (net.Conn, error) {
	client, server := net.Pipe()
	server.Close()
	return client, nil
}

func (endless) Close() error { return nil }

// The number of connections is limited; the next one waits until another is closed.
func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := gateway.LimitListener(endless{}, 2)
		var conns []net.Conn
		accepted := make(chan error, 2)
		accept := func() {
			c, err := l.Accept()
			conns = append(conns, c)
			accepted <- err
		}
		accept()
		accept()
		first := conns[0]
		go accept()
		<-accepted
		<-accepted
		if synctest.Wait(); len(accepted) != 0 {
			t.Error("a third connection is accepted, want at most 2")
		}
		first.Close()
		first.Close() // a second Close must not free another slot
		if err := <-accepted; err != nil {
			t.Fatal(err)
		}
		go accept()
		if synctest.Wait(); len(accepted) != 0 {
			t.Error("closing a connection twice allows two others")
		}
		l.Close()
		if err := <-accepted; err == nil {
			t.Error("Accept returned nil after Close, want an error")
		}
	})
}

// An upstream with another name in its certificate, or with an old TLS version, gets no
// request. insecure: true logs a warning.
func TestTheUpstreamIsVerified(t *testing.T) {
	for name, c := range map[string]struct{ host, newest string }{
		"a valid certificate": {"127.0.0.1", ""}, "another name": {"localhost", ""}, "an old protocol": {"127.0.0.1", "1.1"},
	} {
		t.Run(name, func(t *testing.T) {
			service := newTLSUpstream(t, c.newest)
			cfg := withRules(orders())
			to := parse(t, service.URL)
			to.Host = net.JoinHostPort(c.host, to.Port())
			cfg.Upstream = config.Upstream{To: []*url.URL{to}, CA: file(t, "ca.pem", certificate(service))}
			got := open(t, cfg, nil).send(http.MethodPost, "/orders", "x", key("k"))
			if good := name == "a valid certificate"; good != (got.StatusCode == http.StatusOK) || !good && got.code() != interlockhttp.UpstreamUnreachable {
				t.Errorf("the client gets %v, want 200 only with a valid certificate and protocol", got)
			}
		})
	}
	t.Run("insecure logs a warning", func(t *testing.T) {
		var out bytes.Buffer
		cfg := withRules(orders())
		cfg.Upstream = config.Upstream{To: []*url.URL{parse(t, "https://127.0.0.1:1")}, Insecure: true}
		if _, err := gateway.New(cfg, gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.NewTextHandler(&out, nil))}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "level=WARN") || !strings.Contains(out.String(), "not verified") {
			t.Errorf("the log is %q, want a warning that certificates are not verified", out.String())
		}
	})
}

// newTLSUpstream returns an upstream with TLS. newest is its newest TLS version; if it is
// empty, there is no limit.
func newTLSUpstream(t *testing.T, newest string) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = discardLog
	if newest == "1.1" {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11} //nolint:gosec // the gateway must refuse it
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// certificate returns the certificate of an upstream in PEM.
func certificate(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}
