package interlockextproc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/extproc/envoytest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest"
)

// held keeps an unknown outcome, and its claims expire soon.
var held = guard.Policy{Name: "orders", OnUnknown: guard.Hold, Lease: 3 * time.Second}

// The stream may end at every point of a request. No request runs twice, and those that
// were not executed run when they are repeated, unless nothing shows that they were not.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		point string
		want  string // the body of the repeat
		runs  int64
	}{
		{"request_headers sent", "order 1", 1},
		{"request_headers answered", "order 1", 1}, // the body was not received, so there is no claim
		{"request_body sent", "", 0},               // a race between the claim and the end of the stream
		{"request_body answered", "outcome_unknown", 0},
		{"upstream answered", "outcome_unknown", 1},
		{"response_headers sent", "outcome_unknown", 1},
		{"response_headers answered", "outcome_unknown", 1},
		{"response_body sent", "", 1}, // a race between the response and the end of the stream
		{"response_body answered", "order 1", 1},
	} {
		t.Run(c.point, func(t *testing.T) {
			t.Parallel()
			var cut atomic.Bool
			w := setUp(t, memory.New(), func(e *envoytest.Config) {
				e.Cut = func(point string) bool { return point == c.point && cut.CompareAndSwap(false, true) }
			}, guarded(held))
			if r := w.order("key-1"); r.err == nil {
				t.Fatalf("the connection was not cut: %d %q", r.status, r.body)
			}
			again := w.settled()
			switch {
			case c.want == "": // either
				if !strings.Contains(again.body, "order 1") && !strings.Contains(again.body, "outcome_unknown") {
					t.Errorf("the repeat got %d %q", again.status, again.body)
				}
				if w.upstream.runs.Load() > 1 {
					w.wantRuns(1) // at most
				}
			case !strings.Contains(again.body, c.want):
				t.Errorf("the repeat got %d %q, want %q", again.status, again.body, c.want)
			default:
				w.wantRuns(c.runs)
			}
		})
	}
}

// A stream that is closed in order is no response either.
func TestHalfClose(t *testing.T) {
	t.Parallel()
	for point, want := range map[string]string{
		"request_headers sent": "order 1", "request_body answered": "outcome_unknown", "upstream answered": "outcome_unknown", "response_headers answered": "outcome_unknown",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			var cut atomic.Bool
			w := setUp(t, memory.New(), func(e *envoytest.Config) {
				e.HalfClose = true
				e.Cut = func(at string) bool { return at == point && cut.CompareAndSwap(false, true) }
			}, guarded(held))
			if r := w.order("key-1"); r.err == nil {
				t.Fatalf("the connection was not cut: %d %q", r.status, r.body)
			}
			if again := w.settled(); !strings.Contains(again.body, want) {
				t.Errorf("the repeat got %d %q, want %q", again.status, again.body, want)
			}
		})
	}
}

// settled repeats the order key-1 until the outcome of the first one is known.
func (w *world) settled() reply {
	w.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		r := w.order("key-1")
		if r.err == nil && !strings.Contains(r.body, string(interlockhttp.InProgress)) {
			return r
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the order is still running: %d %q %v", r.status, r.body, r.err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestUpstreamFailures(t *testing.T) {
	t.Parallel()
	reset := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	}
	broken := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	unavailable := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "later", http.StatusServiceUnavailable) }
	sidecar := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "upstream connect error or disconnect/reset before headers. reset reason: connection termination")
	}
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	nothing := func(*envoytest.Config) {}
	refuse := func(c *envoytest.Config) { c.Upstream = "http://" + envoytest.Refused(t) }
	for _, c := range []struct {
		name   string
		handle http.HandlerFunc
		change func(*envoytest.Config)
		first  int // the status, or 0 for none
		runs   bool
	}{
		{"a reset connection", reset, nothing, 503, false},
		{"a reset connection, without attributes", reset, func(c *envoytest.Config) { c.NoAttributes = true }, 503, false},
		{"a response that breaks off", broken, nothing, 0, false},
		{"a timeout", hang, func(c *envoytest.Config) { c.UpstreamTimeout = time.Second }, 504, false},
		{"a timeout that Envoy takes for the client's", hang, func(c *envoytest.Config) { c.UpstreamTimeout, c.TimeoutStatus = time.Second, 408 }, 408, false},
		{"a refused connection", nil, refuse, 503, true},
		{"a refused connection after another attempt", nil, func(c *envoytest.Config) { refuse(c); c.Attempts = 2 }, 503, false},
		{"a refused connection, without attributes", nil, func(c *envoytest.Config) { refuse(c); c.NoAttributes = true }, 503, false},
		{"a 503 of the upstream", unavailable, nothing, 503, true},
		{"a 503 of the upstream, without attributes", unavailable, func(c *envoytest.Config) { c.NoAttributes = true }, 503, true},
		{"a 503 of the upstream, without proof", unavailable, func(c *envoytest.Config) { c.NoAttributes, c.NoTiming = true, true }, 503, false},
		{"a 503 of the upstream after another attempt", unavailable, func(c *envoytest.Config) { c.Attempts = 2 }, 503, false},
		{"a reset connection behind a second Envoy", sidecar, nothing, 503, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := setUp(t, memory.New(), c.change, guarded(held))
			if c.handle != nil {
				w.upstream.set(c.handle)
			}
			if r := w.order("key-1"); r.status != c.first && (c.first != 0 || r.err == nil) {
				t.Errorf("got %d %q %v, want %d", r.status, r.body, r.err, c.first)
			}
			r := w.settled()
			if unknown := strings.Contains(r.body, "outcome_unknown"); unknown == c.runs {
				t.Errorf("the repeat got %d %q; it runs: want %v", r.status, r.body, c.runs)
			}
		})
	}
}

func TestClients(t *testing.T) {
	t.Parallel()
	t.Run("a request that waits longer than Envoy allows is not executed", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), func(c *envoytest.Config) { c.MessageTimeout = time.Second }, func(w *world, envoy http.Handler) http.Handler {
			wrap, err := interlockhttp.Lock(w.client, "pay", interlockhttp.Header("X-User"), interlockhttp.Locking(interlock.Wait(patience)))
			if err != nil {
				t.Fatal(err)
			}
			return wrap(envoy)
		})
		_, hold, err := w.client.Mutex("pay:ann").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.order("key-1").want(t, 504, "")
		if err := hold.Unlock(); err != nil {
			t.Fatal(err)
		}
		w.order("key-2").want(t, 201, "order 1") // after the one that has timed out
		w.wantRuns(1)
	})
	t.Run("a handler may give up, and Envoy ends the request", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, func(_ *world, envoy http.Handler) http.Handler {
			return http.TimeoutHandler(envoy, 200*time.Millisecond, "late")
		})
		ended := make(chan struct{})
		w.upstream.set(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			close(ended)
		})
		w.order("key-1").want(t, 500, "")
		<-ended
	})
	t.Run("a client that leaves while the upstream works has an unknown outcome", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(held))
		entered := make(chan struct{})
		w.upstream.set(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			close(entered)
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan reply, 1)
		go func() {
			first <- w.callWith(ctx, http.MethodPost, "/orders", strings.NewReader("coffee"), "Idempotency-Key", "key-1")
		}()
		<-entered
		cancel()
		<-first
		if r := w.settled(); !strings.Contains(r.body, "outcome_unknown") {
			t.Errorf("the repeat got %d %q", r.status, r.body)
		}
		w.wantRuns(1)
	})
	t.Run("a client that breaks off its body has done nothing", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(held))
		body := io.MultiReader(strings.NewReader("cof"), iotest.ErrReader(errors.New("cut")))
		if r := w.callWith(t.Context(), http.MethodPost, "/orders", body, "Idempotency-Key", "key-1"); r.err == nil {
			t.Errorf("got %d %q", r.status, r.body)
		}
		w.settled().want(t, 201, "order 1: coffee")
	})
	t.Run("a body that does not arrive in time ends the request", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(held, interlockhttp.BodyTimeout(50*time.Millisecond)))
		body, end := io.Pipe()
		defer end.Close()
		w.callWith(t.Context(), http.MethodPost, "/orders", body, "Idempotency-Key", "key-1").want(t, 500, "")
		w.wantRuns(0)
	})
}

func TestEngineDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		onDown guard.OnDown
		status int
		word   string
		runs   int64
	}{
		{guard.Closed, 503, string(interlockhttp.StoreUnavailable), 0},
		{guard.Open, 201, "order 1: coffee", 1},
	} {
		t.Run(string(c.onDown), func(t *testing.T) {
			t.Parallel()
			p := guard.Policy{Name: "orders", OnDown: c.onDown}
			faults := interlocktest.New(t)
			w := setUp(t, faults.Engine(), nil, guarded(p))
			faults.Fail()
			r := w.order("key-1").want(t, c.status, c.word)
			if got := r.header.Get("Interlock-Unguarded"); (got == "true") != (c.runs == 1) {
				t.Errorf("Interlock-Unguarded is %q", got)
			}
			w.wantRuns(c.runs)
			faults.Heal()
		})
	}
}

func TestPanics(t *testing.T) {
	t.Parallel()
	w := setUp(t, memory.New(), nil, func(_ *world, _ http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/abort" {
				panic(http.ErrAbortHandler)
			}
			panic("a mistake")
		})
	})
	w.call(http.MethodPost, "/abort", "").want(t, 500, "")
	if text := w.log.String(); text != "" {
		t.Errorf("an aborted response was logged:\n%s", text)
	}
	w.call(http.MethodPost, "/", "").want(t, 500, "")
	if text := w.log.String(); !strings.Contains(text, "a mistake") {
		t.Errorf("the panic was not logged:\n%s", text)
	}
	w.wantRuns(0)
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	w := setUp(t, memory.New(), nil, guarded(held))
	entered, release := make(chan struct{}), make(chan struct{})
	w.upstream.set(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(entered)
		<-release
		fmt.Fprint(w, "done")
	})
	first := make(chan reply, 1)
	go func() { first <- w.order("key-1") }()
	<-entered
	var stopped sync.WaitGroup
	stopped.Go(w.grpc.GracefulStop)
	for w.order("key-2").status != 500 { // refused, and not passed
		time.Sleep(time.Millisecond)
	}
	close(release)
	(<-first).want(t, 200, "done")
	stopped.Wait()
	w.wantRuns(1)
}
