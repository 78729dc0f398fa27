package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// A brokenUpstream reads a request, and then misuses the connection.
type brokenUpstream struct {
	net.Listener
	seen atomic.Int64 // requests
}

func newBrokenUpstream(t *testing.T, act func(n int64, conn net.Conn)) *brokenUpstream {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	w := &brokenUpstream{Listener: l}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.serve(conn, act)
		}
	}()
	return w
}

func (w *brokenUpstream) serve(conn net.Conn, act func(int64, net.Conn)) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		io.Copy(io.Discard, r.Body)
		act(w.seen.Add(1), conn)
	}
}

func (w *brokenUpstream) url(t *testing.T) []*url.URL {
	return []*url.URL{parse(t, "http://"+w.Addr().String())}
}

// held is a rule with OnUnknown: Hold.
func held() config.Rule {
	return on("POST /orders", rule.Once, "{header.Idempotency-Key}", guard.Charge("order"))
}

// Upstream failures are distinguished (P8, rows 36 to 38): a request that was not sent may
// be retried; a request that was sent has an unknown outcome.
func TestAnUpstreamThatFails(t *testing.T) {
	reset := func(_ int64, conn net.Conn) { conn.(*net.TCPConn).SetLinger(0); conn.Close() }
	says := func(text string) func(int64, net.Conn) {
		return func(_ int64, conn net.Conn) { io.WriteString(conn, text); conn.Close() }
	}
	for _, c := range []struct {
		name   string
		act    func(int64, net.Conn)
		status int
	}{
		{"resets the connection", reset, 502},
		{"closes the connection", says(""), 502},
		{"does not answer", func(_ int64, conn net.Conn) { io.Copy(io.Discard, conn) }, 504},
		{"breaks off in the header", says("HTTP/1.1 200 OK\r\nContent-Le"), 502},
		{"sends less than its Content-Length", says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"), 502},
		{"breaks off between chunks", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n"), 502},
		{"breaks off in a chunk", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\nshort"), 502},
		{"speaks another protocol", says("SSH-2.0-OpenSSH_9.2\r\n"), 502},
		{"has two lengths", says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), 502},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newBrokenUpstream(t, c.act)
			cfg := withRules(held())
			cfg.Upstream = config.Upstream{To: w.url(t), Answer: 200 * time.Millisecond}
			s := open(t, cfg, nil)
			got := s.send("POST", "/orders", "x", key("k"))
			if got.err != nil || got.StatusCode != c.status || got.code() != interlockhttp.UpstreamUnknown {
				t.Fatalf("the first gets %v, want %d", got, c.status)
			}
			if e := s.event(); e.Outcome != "unknown" || e.Code != "upstream_unknown" {
				t.Errorf("the event is %+v", e)
			}
			got = s.send("POST", "/orders", "x", key("k"))
			if got.code() != interlockhttp.OutcomeUnknown || w.seen.Load() != 1 {
				t.Errorf("the next gets %v, and %d requests were sent", got, w.seen.Load())
			}
		})
	}
}

// A response that breaks off is not stored, whether it is buffered or streamed.
func TestAResponseThatBreaksOff(t *testing.T) {
	for _, tee := range []bool{false, true} {
		w := newBrokenUpstream(t, func(_ int64, conn net.Conn) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n"+strings.Repeat("x", 0x800)+"\r\n")
			conn.Close()
		})
		r := held()
		r.Tee = tee
		cfg := withRules(r)
		cfg.Upstream.To, cfg.Limits.Response = w.url(t), 1000
		s := open(t, cfg, nil)
		if got := s.send("POST", "/orders", "x", key("k")); got.err == nil {
			t.Errorf("tee %v: the first gets %v", tee, got)
		}
		if got := s.send("POST", "/orders", "x", key("k")); got.code() != interlockhttp.OutcomeUnknown || w.seen.Load() != 1 {
			t.Errorf("tee %v: the next gets %v, and %d were sent", tee, got, w.seen.Load())
		}
	}
}

func TestAnUnreachableUpstream(t *testing.T) {
	gone := func(t *testing.T) []*url.URL {
		s := httptest.NewServer(nil)
		defer s.Close()
		return []*url.URL{parse(t, s.URL)}
	}
	stranger := func(t *testing.T) []*url.URL {
		s := httptest.NewTLSServer(nil)
		s.Config.ErrorLog = quiet
		t.Cleanup(s.Close)
		return []*url.URL{parse(t, s.URL)}
	}
	plain := func(t *testing.T) []*url.URL {
		w := newBrokenUpstream(t, func(_ int64, conn net.Conn) { conn.Close() })
		return []*url.URL{parse(t, "https://"+w.Addr().String())}
	}
	for name, to := range map[string]func(*testing.T) []*url.URL{
		"connection refused": gone, "26: an untrusted certificate": stranger, "no TLS": plain,
	} {
		t.Run(name, func(t *testing.T) {
			cfg := withRules(held())
			cfg.Upstream = config.Upstream{To: to(t), Connect: time.Second}
			s := open(t, cfg, nil)
			got := s.send("POST", "/orders", "x", key("k"))
			if got.StatusCode != http.StatusBadGateway || got.code() != interlockhttp.UpstreamUnreachable || got.Header.Get("Retry-After") != "1" {
				t.Fatalf("got %v", got)
			}
			if e := s.event(); e.Outcome != "failed" {
				t.Errorf("the event is %+v", e)
			}
			cfg2 := withRules(held())
			cfg2.Upstream.To = []*url.URL{parse(t, s.service.URL)}
			if err := s.gateway.Reload(cfg2); err != nil {
				t.Fatal(err)
			}
			if got := s.send("POST", "/orders", "x", key("k")); got.StatusCode != http.StatusCreated {
				t.Errorf("once it is reachable, the same key gets %v", got)
			}
		})
	}
}

// No request is sent twice, not even one that net/http would retry on its own: a request
// with a key and without a body, and a GET.
func TestNothingIsSentTwice(t *testing.T) {
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/orders", ""}, {"POST", "/orders", "x"}, {"POST", "/free", ""}, {"PUT", "/free", "x"},
		{"GET", "/free", ""}, {"HEAD", "/free", ""}, {"OPTIONS", "/free", ""},
	} {
		t.Run(c.method+" "+c.path+" "+c.body, func(t *testing.T) {
			w := newBrokenUpstream(t, func(n int64, conn net.Conn) {
				if n == 1 { // so that the second request reuses the connection
					io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					return
				}
				conn.Close()
			})
			cfg := withRules(held())
			cfg.Upstream.To = w.url(t)
			s := open(t, cfg, nil)
			if got := s.send(c.method, c.path, c.body, key("k-1")); got.StatusCode != http.StatusOK {
				t.Fatalf("the first gets %v", got)
			}
			got := s.send(c.method, c.path, c.body, key("k-2"))
			if got.StatusCode != http.StatusBadGateway || w.seen.Load() != 2 {
				t.Errorf("the second gets %v, and %d were sent", got, w.seen.Load())
			}
		})
	}
}

func TestSeveralTargets(t *testing.T) {
	var hits [2]atomic.Int64
	var to []*url.URL
	for i := range hits {
		s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits[i].Add(1) }))
		t.Cleanup(s.Close)
		to = append(to, parse(t, s.URL))
	}
	t.Run("targets are used in turn", func(t *testing.T) {
		cfg := withRules()
		cfg.Upstream.To = to
		s := open(t, cfg, nil)
		for range 10 {
			s.send("GET", "/", "")
		}
		if a, b := hits[0].Load(), hits[1].Load(); a != 5 || b != 5 {
			t.Errorf("%d and %d", a, b)
		}
	})
	t.Run("an unreachable target is skipped for a while", func(t *testing.T) {
		gone := httptest.NewServer(nil)
		gone.Close()
		cfg := withRules()
		cfg.Upstream.To = []*url.URL{parse(t, gone.URL), to[0]}
		s := open(t, cfg, nil)
		failed := 0
		for range 10 {
			if got := s.send("GET", "/", ""); got.StatusCode != http.StatusOK {
				failed++
			}
		}
		if failed != 1 {
			t.Errorf("%d of 10 failed", failed)
		}
	})
}

// For an outer rule, a request that an inner rule refused, or that was not sent, did not
// happen.
func TestARuleInsideAnother(t *testing.T) {
	outer := on("POST /orders", rule.Once, "{header.Idempotency-Key}", guard.Charge("outer"))
	outer.Continue = true
	inner := on("POST /orders", rule.Lock, "{header.X-Stock}", guard.Policy{Name: "stock"})
	inner.Do.Wait = rule.Try
	d := newGate()
	s := open(t, withRules(outer, inner), d)
	stock := field("X-Stock", "shoe")
	done := make(chan answer)
	go func() { done <- s.send("POST", "/orders", "x", key("k-1"), stock) }()
	<-d.in
	if got := s.send("POST", "/orders", "x", key("k-2"), stock); got.code() != interlockhttp.Locked {
		t.Errorf("a request during the first gets %v", got)
	}
	if got := s.send("POST", "/orders", "x", key("k-3")); got.code() != interlockhttp.KeyMissing {
		t.Errorf("a request without a key gets %v", got)
	}
	close(d.opens)
	if got := <-done; got.text != "done" {
		t.Errorf("the first gets %v", got)
	}
	if got := s.send("POST", "/orders", "x", key("k-2"), stock); got.text != "done" {
		t.Errorf("a repeat gets %v", got)
	}
	outcomes := make(map[string]int)
	for range 8 {
		e := s.event()
		outcomes[fmt.Sprint(e.Rule, " ", e.Outcome)]++
	}
	if outcomes["outer ran"] != 2 || outcomes["stock ran"] != 2 || outcomes["stock refused"] != 2 || outcomes["outer failed"] != 2 {
		t.Errorf("the outcomes are %v", outcomes)
	}
}
