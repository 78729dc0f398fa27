package interlockhttp_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/interlockhttp"
)

var shortBackoff = interlockhttp.Backoff(time.Millisecond, 5*time.Millisecond)

// newClient returns a client with its own connections, so that it reuses none of another
// test.
func newClient(t *testing.T, opts ...interlockhttp.TransportOption) (*http.Client, *http.Transport) {
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	return &http.Client{Transport: interlockhttp.NewTransport(base, append(opts, shortBackoff)...), Timeout: 20 * time.Second}, base
}

// net/http resends a request that it considers idempotent when a reused connection breaks.
// Such a resend is neither counted nor delayed.
func TestNetHTTPDoesNotRetryBehindOurBack(t *testing.T) {
	for name, make := range map[string]func() io.Reader{
		"with a body that has GetBody": func() io.Reader { return strings.NewReader("body") },
		"with a body kept in memory":   func() io.Reader { return io.MultiReader(strings.NewReader("body")) },
		"without a body":               func() io.Reader { return nil },
	} {
		for _, field := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
			t.Run("every send is counted, "+name+" and in "+field, func(t *testing.T) {
				t.Parallel()
				var seen, retried atomic.Int64
				server := httptest.NewServer(closesOnSecond(&seen))
				defer server.Close()
				client, _ := newClient(t, interlockhttp.KeyHeader(field), interlockhttp.OnRetry(func(interlockhttp.Retry) { retried.Add(1) }))
				const intents = 10
				for range intents {
					req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, make())
					resp, err := client.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if retried.Load() == 0 {
					t.Error("no connection broke, so the test proves nothing")
				}
				if seen.Load() != intents+retried.Load() {
					t.Errorf("the server got %d requests, want %d and the %d retries", seen.Load(), intents, retried.Load())
				}
			})
		}
	}
}

// closesOnSecond answers the first request on a connection, and closes the connection
// after reading the second.
func closesOnSecond(seen *atomic.Int64) http.Handler {
	var used sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		io.Copy(io.Discard, r.Body)
		if _, again := used.LoadOrStore(r.RemoteAddr, true); again {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Close()
			}
			return
		}
		io.WriteString(w, "done")
	})
}

func TestTheServerSeesOneKeyAndOneBody(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){
		"HTTP/1": func(s *httptest.Server) { s.StartTLS() },
		"HTTP/2": func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	} {
		t.Run("over "+name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var keys, bodies []string
			conns := make(map[string]bool)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				mu.Lock()
				keys, bodies = append(keys, r.Header.Values("Idempotency-Key")...), append(bodies, string(b))
				conns[r.RemoteAddr] = true
				n := len(bodies)
				mu.Unlock()
				if n < 4 {
					http.Error(w, strings.Repeat("busy ", 1000), http.StatusServiceUnavailable)
				}
			}))
			start(server)
			defer server.Close()
			client := server.Client()
			client.Transport = interlockhttp.NewTransport(client.Transport, shortBackoff)
			resp, err := client.Post(server.URL, "text/plain", io.MultiReader(strings.NewReader("pay 7 "), strings.NewReader("euros")))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if len(keys) != 4 || len(bodies) != 4 || resp.StatusCode != http.StatusOK {
				t.Fatalf("the server got the keys %q and the bodies %q, want 4 of each", keys, bodies)
			}
			for i := range keys {
				if keys[i] != keys[0] || bodies[i] != "pay 7 euros" {
					t.Errorf("try %d has the body %q and the key %q, want those of the first", i+1, bodies[i], keys[i])
				}
			}
			if len(conns) != 1 {
				t.Errorf("the tries used %d connections, want 1: earlier responses were not drained", len(conns))
			}
		})
	}
}

func TestRealTransportErrors(t *testing.T) {
	sends := func(t *testing.T, base http.RoundTripper, req *http.Request) (int, error) {
		tries := 1
		rt := interlockhttp.NewTransport(base, shortBackoff, interlockhttp.OnRetry(func(interlockhttp.Retry) { tries++ }))
		resp, err := rt.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
			t.Fatalf("the response is %d, want an error", resp.StatusCode)
		}
		return tries, err
	}
	request := func(t *testing.T, url string) *http.Request {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		return req
	}
	t.Run("a refused connection is retried, and nothing was sent", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		tries, err := sends(t, &http.Transport{}, request(t, "http://"+l.Addr().String()))
		var gaveUp *interlockhttp.GaveUpError
		if tries != 4 || !errors.Is(err, syscall.ECONNREFUSED) || !errors.As(err, &gaveUp) || gaveUp.Sent {
			t.Errorf("the transport made %d tries and returned %v", tries, err)
		}
	})
	t.Run("a request with a tab in a header, which is allowed, is retried", func(t *testing.T) {
		req := request(t, "http://127.0.0.1:1/")
		req.Header.Set("X-Note", "a\tb")
		if tries, err := sends(t, &http.Transport{}, req); tries != 4 {
			t.Errorf("the transport made %d tries and returned %v", tries, err)
		}
	})
	t.Run("a dropped connection is retried, and the request may have arrived", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		defer server.Close()
		tries, err := sends(t, &http.Transport{DisableKeepAlives: true}, request(t, server.URL))
		var gaveUp *interlockhttp.GaveUpError
		if tries != 4 || !errors.As(err, &gaveUp) || !gaveUp.Sent {
			t.Errorf("the transport made %d tries and returned %v", tries, err)
		}
	})
	t.Run("a transport timeout is retried", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // so that the server notices when the client is gone
			<-r.Context().Done()
		}))
		defer server.Close()
		tries, err := sends(t, &http.Transport{ResponseHeaderTimeout: 10 * time.Millisecond}, request(t, server.URL))
		var netErr net.Error
		if tries != 4 || !errors.As(err, &netErr) || !netErr.Timeout() {
			t.Errorf("the transport made %d tries and returned %v", tries, err)
		}
	})
	t.Run("an unknown certificate authority is not retried", func(t *testing.T) {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		defer server.Close()
		tries, err := sends(t, &http.Transport{}, request(t, server.URL))
		var gaveUp *interlockhttp.GaveUpError
		if tries != 1 || !errors.As(err, &gaveUp) || gaveUp.Sent {
			t.Errorf("the transport made %d tries and returned %v", tries, err)
		}
	})
	t.Run("a server without TLS is not retried over https", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		defer server.Close()
		if tries, err := sends(t, &http.Transport{}, request(t, "https"+strings.TrimPrefix(server.URL, "http"))); tries != 1 {
			t.Errorf("the transport made %d tries and returned %v", tries, err)
		}
	})
	for name, spoil := range map[string]func(*http.Request){
		"an unsupported scheme":         func(r *http.Request) { r.URL.Scheme = "gopher" },
		"no host":                       func(r *http.Request) { r.URL.Host = "" },
		"no URL":                        func(r *http.Request) { r.URL = nil },
		"a header with a line break":    func(r *http.Request) { r.Header.Set("X-Note", "a\nb") },
		"a header with a DEL":           func(r *http.Request) { r.Header.Set("X-Note", "a\x7f") },
		"a header with a colon":         func(r *http.Request) { r.Header["X-Note:"] = []string{"a"} },
		"a header with an invalid name": func(r *http.Request) { r.Header["X Note"] = []string{"a"} },
	} {
		t.Run("a malformed request is not retried: "+name, func(t *testing.T) {
			req := request(t, "http://127.0.0.1:1/")
			spoil(req)
			tries, err := sends(t, &http.Transport{}, req)
			var gaveUp *interlockhttp.GaveUpError
			if tries != 1 || errors.As(err, &gaveUp) || errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("the transport made %d tries and returned %v", tries, err)
			}
		})
	}
	t.Run("the caller's own timeout is not retried", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}))
		defer server.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		tries, err := sends(t, &http.Transport{}, request(t, server.URL).WithContext(ctx))
		if tries != 1 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the transport made %d tries and returned %v", tries, err)
		}
	})
}

// contextAfter returns a context that is canceled after d, without a deadline.
func contextAfter(t *testing.T, d time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(d, cancel)
	return ctx, func() { timer.Stop(); cancel() }
}
