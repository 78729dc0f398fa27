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

// For one lock a thousand wait, and whoever comes then is told to come back; those who
// leave make room (14).
func TestACrowd(t *testing.T) {
	lock := on("POST /orders", rule.Lock, "{header.Idempotency-Key}", guard.Policy{Name: "order"})
	lock.Do.Wait = time.Minute
	d := newDoor()
	s := open(t, told(), d)
	g, err := gateway.New(told2(t, s, lock), gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context, key string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/orders", strings.NewReader("x"))
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("X-User", "ann")
		r.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w
	}
	var has, wait sync.WaitGroup
	has.Go(func() { ask(t.Context(), "k") })
	<-d.in
	const wants, room = 1010, 1000
	ctx, leave := context.WithCancel(t.Context())
	answers := make(chan *httptest.ResponseRecorder, wants)
	for range wants {
		wait.Go(func() { answers <- ask(ctx, "k") })
	}
	for range wants - room {
		var w *httptest.ResponseRecorder
		select {
		case w = <-answers:
		case <-time.After(30 * time.Second):
			t.Fatal("all of them wait")
		}
		if p, _ := interlockhttp.ReadProblem(w.Result()); p == nil || w.Code != http.StatusTooManyRequests || p.Code != interlockhttp.TooManyWaiters || w.Header().Get("Retry-After") != "1" {
			t.Errorf("one too many gets %d %s", w.Code, w.Body)
		}
	}
	if n := len(answers); n != 0 {
		t.Errorf("of those for whom there was room, %d do not wait", n)
	}
	has.Go(func() { ask(t.Context(), "other") })
	<-d.in // for another lock nobody waits
	leave()
	wait.Wait()
	close(d.opens)
	has.Wait()
	if w := ask(t.Context(), "k"); w.Code != http.StatusOK {
		t.Errorf("when they have left, the next gets %d %s", w.Code, w.Body)
	}
}

// While the service is away, the log does not say so for each request, but how many it
// has left out (20).
func TestTheLogOfAFlood(t *testing.T) {
	var out bytes.Buffer
	s := open(t, told(), nil)
	s.service.Close()
	g, err := gateway.New(told2(t, s, orders()), gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.NewTextHandler(&out, nil))})
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
			t.Fatalf("it gets %d %s", w.Code, w.Body)
		}
	}
	most := 1 + int(time.Since(began)/time.Second)
	if n := strings.Count(out.String(), "code=upstream_unreachable"); n < 1 || n > most {
		t.Errorf("of 50 requests %d have a line, want %d at most:\n%s", n, most, out.String())
	}
}

// What is counted does not grow with the keys of clients (19).
func TestManyKeysAreCountedTogether(t *testing.T) {
	s := open(t, told(orders()), nil)
	for i := range 200 {
		s.send(http.MethodPost, "/orders", "x", key(fmt.Sprint("k-", i)))
	}
	if all := s.gateway.Stats(); len(all) != 1 || all["order"].Verdicts[guard.Granted] != 200 {
		t.Errorf("200 keys of one rule are counted as %+v", all)
	}
}

// line is a listener at which somebody always waits.
type line struct{ net.Listener }

func (line) Accept() (net.Conn, error) {
	here, there := net.Pipe()
	there.Close()
	return here, nil
}

func (line) Close() error { return nil }

// Of connections there are so many, and the next one waits until one has ended (15).
func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := gateway.LimitListener(line{}, 2)
		var conns []net.Conn
		accepted := make(chan error, 2)
		accept := func() {
			c, err := l.Accept()
			conns = append(conns, c)
			accepted <- err
		}
		accept()
		accept()
		go accept()
		<-accepted
		<-accepted
		if synctest.Wait(); len(accepted) != 0 {
			t.Error("there is a third one")
		}
		conns[0].Close()
		conns[0].Close() // it had one place
		if err := <-accepted; err != nil {
			t.Fatal(err)
		}
		go accept()
		if synctest.Wait(); len(accepted) != 0 {
			t.Error("one that is closed twice makes room for two")
		}
		l.Close()
		if err := <-accepted; err == nil {
			t.Error("a listener that is closed accepts")
		}
	})
}

// A service that is called otherwise than its certificate says, or speaks a TLS that is
// too old, gets nothing; and that any certificate will do is said aloud (26).
func TestAServiceIsWhoItShouldBe(t *testing.T) {
	for name, c := range map[string]struct{ host, newest string }{
		"as it should be": {"127.0.0.1", ""}, "another name": {"localhost", ""}, "an old protocol": {"127.0.0.1", "1.1"},
	} {
		t.Run(name, func(t *testing.T) {
			service := secure(t, c.newest)
			cfg := told(orders())
			to := parse(t, service.URL)
			to.Host = net.JoinHostPort(c.host, to.Port())
			cfg.Upstream = config.Upstream{To: []*url.URL{to}, CA: file(t, "ca.pem", certificate(service))}
			got := open(t, cfg, nil).send(http.MethodPost, "/orders", "x", key("k"))
			if good := name == "as it should be"; good != (got.StatusCode == http.StatusOK) || !good && got.code() != interlockhttp.UpstreamUnreachable {
				t.Errorf("it gets %v", got)
			}
		})
	}
	t.Run("any certificate will do", func(t *testing.T) {
		var out bytes.Buffer
		cfg := told(orders())
		cfg.Upstream = config.Upstream{To: []*url.URL{parse(t, "https://127.0.0.1:1")}, Insecure: true}
		if _, err := gateway.New(cfg, gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.NewTextHandler(&out, nil))}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "level=WARN") || !strings.Contains(out.String(), "not verified") {
			t.Errorf("the log says %q", out.String())
		}
	})
}

// secure returns a service with TLS, of which newest is the newest that it speaks.
func secure(t *testing.T, newest string) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = quiet
	if newest == "1.1" {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11} //nolint:gosec // nobody is to talk to it
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// certificate returns that of a service, in PEM.
func certificate(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}
