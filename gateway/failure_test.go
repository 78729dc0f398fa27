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

// A brokenUpstream reads a request, and then lets a test answer or break the connection.
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

// charge returns a rule with the preset Charge: after an unknown outcome, it refuses repeats.
func charge() config.Rule {
	return on("POST /orders", rule.Once, "{header.Idempotency-Key}", guard.Charge("order"))
}

// If an upstream fails after it got a request, the outcome is unknown, and the request is
// not sent again. The upstream needs no code for that (requirement P8).
func TestAnUpstreamThatFails(t *testing.T) {
	reset := func(_ int64, conn net.Conn) { conn.(*net.TCPConn).SetLinger(0); conn.Close() }
	sends := func(text string) func(int64, net.Conn) {
		return func(_ int64, conn net.Conn) { io.WriteString(conn, text); conn.Close() }
	}
	for _, c := range []struct {
		name   string
		act    func(int64, net.Conn)
		status int
	}{
		{"resets the connection", reset, 502},
		{"closes the connection", sends(""), 502},
		{"does not answer", func(_ int64, conn net.Conn) { io.Copy(io.Discard, conn) }, 504},
		{"breaks off in the header", sends("HTTP/1.1 200 OK\r\nContent-Le"), 502},
		{"sends less than its Content-Length", sends("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"), 502},
		{"breaks off between chunks", sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n"), 502},
		{"breaks off in a chunk", sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\nshort"), 502},
		{"speaks another protocol", sends("SSH-2.0-OpenSSH_9.2\r\n"), 502},
		{"has two lengths", sends("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), 502},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newBrokenUpstream(t, c.act)
			cfg := withRules(charge())
			cfg.Upstream = config.Upstream{To: w.url(t), Answer: 200 * time.Millisecond}
			s := open(t, cfg, nil)
			got := s.send("POST", "/orders", "x", key("k"))
			if got.err != nil || got.StatusCode != c.status || got.code() != interlockhttp.UpstreamUnknown {
				t.Fatalf("the first request gets %v, want %d %s", got, c.status, interlockhttp.UpstreamUnknown)
			}
			if e := s.event(); e.Outcome != "unknown" || e.Code != "upstream_unknown" {
				t.Errorf("the event is %+v, want unknown with upstream_unknown", e)
			}
			got = s.send("POST", "/orders", "x", key("k"))
			if got.code() != interlockhttp.OutcomeUnknown || w.seen.Load() != 1 {
				t.Errorf("a repeat gets %v, and %d requests were sent; want outcome_unknown and 1 request", got, w.seen.Load())
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
		r := charge()
		r.Tee = tee
		cfg := withRules(r)
		cfg.Upstream.To, cfg.Limits.Response = w.url(t), 1000
		s := open(t, cfg, nil)
		if got := s.send("POST", "/orders", "x", key("k")); got.err == nil {
			t.Errorf("tee %v: the first request gets %v, want an error", tee, got)
		}
		if got := s.send("POST", "/orders", "x", key("k")); got.code() != interlockhttp.OutcomeUnknown || w.seen.Load() != 1 {
			t.Errorf("tee %v: a repeat gets %v, and %d requests were sent; want outcome_unknown and 1 request", tee, got, w.seen.Load())
		}
	}
}

// If the upstream cannot be reached, the request was not sent, and the same key may be
// used again.
func TestAnUnreachableUpstream(t *testing.T) {
	closed := func(t *testing.T) []*url.URL {
		s := httptest.NewServer(nil)
		defer s.Close()
		return []*url.URL{parse(t, s.URL)}
	}
	untrusted := func(t *testing.T) []*url.URL {
		s := httptest.NewTLSServer(nil)
		s.Config.ErrorLog = discardLog
		t.Cleanup(s.Close)
		return []*url.URL{parse(t, s.URL)}
	}
	plain := func(t *testing.T) []*url.URL {
		w := newBrokenUpstream(t, func(_ int64, conn net.Conn) { conn.Close() })
		return []*url.URL{parse(t, "https://"+w.Addr().String())}
	}
	for name, to := range map[string]func(*testing.T) []*url.URL{
		"connection refused": closed, "26: an untrusted certificate": untrusted, "no TLS": plain,
	} {
		t.Run(name, func(t *testing.T) {
			cfg := withRules(charge())
			cfg.Upstream = config.Upstream{To: to(t), Connect: time.Second}
			s := open(t, cfg, nil)
			got := s.send("POST", "/orders", "x", key("k"))
			if got.StatusCode != http.StatusBadGateway || got.code() != interlockhttp.UpstreamUnreachable || got.Header.Get("Retry-After") != "1" {
				t.Fatalf("the response is %v, want 502 upstream_unreachable with Retry-After: 1", got)
			}
			if e := s.event(); e.Outcome != "failed" {
				t.Errorf("the event is %+v, want the outcome failed", e)
			}
			cfg2 := withRules(charge())
			cfg2.Upstream.To = []*url.URL{parse(t, s.service.URL)}
			if err := s.gateway.Reload(cfg2); err != nil {
				t.Fatal(err)
			}
			if got := s.send("POST", "/orders", "x", key("k")); got.StatusCode != http.StatusCreated {
				t.Errorf("after a reload to a reachable upstream, the same key gets %v, want 201", got)
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
			cfg := withRules(charge())
			cfg.Upstream.To = w.url(t)
			s := open(t, cfg, nil)
			if got := s.send(c.method, c.path, c.body, key("k-1")); got.StatusCode != http.StatusOK {
				t.Fatalf("the first request gets %v, want 200", got)
			}
			got := s.send(c.method, c.path, c.body, key("k-2"))
			if got.StatusCode != http.StatusBadGateway || w.seen.Load() != 2 {
				t.Errorf("the second request gets %v, and %d requests were sent in total; want 502 and 2", got, w.seen.Load())
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
			t.Errorf("the targets got %d and %d of 10 requests, want 5 each", a, b)
		}
	})
	t.Run("an unreachable target is skipped for a while", func(t *testing.T) {
		closed := httptest.NewServer(nil)
		closed.Close()
		cfg := withRules()
		cfg.Upstream.To = []*url.URL{parse(t, closed.URL), to[0]}
		s := open(t, cfg, nil)
		failed := 0
		for range 10 {
			if got := s.send("GET", "/", ""); got.StatusCode != http.StatusOK {
				failed++
			}
		}
		if failed != 1 {
			t.Errorf("%d of 10 requests failed, want 1", failed)
		}
	})
}

// An outer rule treats a request that an inner rule refused as not executed.
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
	<-d.arrived
	if got := s.send("POST", "/orders", "x", key("k-2"), stock); got.code() != interlockhttp.Locked {
		t.Errorf("a request while the lock is held gets %v, want locked", got)
	}
	if got := s.send("POST", "/orders", "x", key("k-3")); got.code() != interlockhttp.KeyMissing {
		t.Errorf("a request without the lock's key gets %v, want key_missing", got)
	}
	close(d.open)
	if got := <-done; got.text != "done" {
		t.Errorf("the first request gets %v, want done", got)
	}
	if got := s.send("POST", "/orders", "x", key("k-2"), stock); got.text != "done" {
		t.Errorf("a retry of the refused request gets %v, want done", got)
	}
	outcomes := make(map[string]int)
	for range 8 {
		e := s.event()
		outcomes[fmt.Sprint(e.Rule, " ", e.Outcome)]++
	}
	if outcomes["outer ran"] != 2 || outcomes["stock ran"] != 2 || outcomes["stock refused"] != 2 || outcomes["outer failed"] != 2 {
		t.Errorf("the outcomes are %v, want 2 each of outer ran, stock ran, stock refused and outer failed", outcomes)
	}
}
