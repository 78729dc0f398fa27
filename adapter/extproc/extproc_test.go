package interlockextproc_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	modev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/extproc"
	"github.com/interlock-go/interlock/adapter/extproc/envoytest"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// patience is how long a test waits for an event that must happen.
const patience = time.Minute

// A world is a client of an engine, with an Envoy in front of an upstream.
type world struct {
	*envoytest.Envoy
	t        *testing.T
	client   *interlock.Client
	upstream *upstream
	grpc     *grpc.Server
	address  string // of grpc
	log      lockedText
}

// setUp starts an Envoy whose requests wrap guards. change, if not nil, changes its
// configuration.
func setUp(t *testing.T, e engine.Engine, change func(*envoytest.Config), wrap func(*world, http.Handler) http.Handler) *world {
	t.Helper()
	w := &world{t: t, client: interlock.New(e), upstream: startUpstream(t)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := w.client.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	server := interlockextproc.New(func(envoy http.Handler) http.Handler { return wrap(w, envoy) }, interlockextproc.Logger(slog.New(slog.NewTextHandler(&w.log, nil))))
	w.grpc = grpc.NewServer(grpc.MaxRecvMsgSize(16 << 20))
	extprocv3.RegisterExternalProcessorServer(w.grpc, server)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = w.grpc.Serve(l) }() // until the test ends
	t.Cleanup(w.grpc.Stop)
	w.address = l.Addr().String()
	c := envoytest.Config{Servers: []string{w.address}, Upstream: w.upstream.URL}
	if change != nil {
		change(&c)
	}
	w.Envoy = envoytest.Start(t, c)
	return w
}

// guarded wraps all requests in a Once with a policy.
func guarded(p guard.Policy, opts ...interlockhttp.Option) func(*world, http.Handler) http.Handler {
	return func(w *world, envoy http.Handler) http.Handler {
		w.t.Helper()
		user := interlockhttp.User(func(r *http.Request) string { return r.Header.Get("X-User") })
		m, err := interlockhttp.Once(w.client, p, append([]interlockhttp.Option{user}, opts...)...)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := m.Close(ctx); err != nil {
				w.t.Error(err)
			}
		})
		return m.Wrap(envoy)
	}
}

// charge never runs a request with an unknown outcome again.
var charge = guard.Charge("orders")

// waiting lets duplicates wait for the response.
var waiting = guard.Policy{Name: "orders", OnDuplicate: guard.Wait, Wait: patience}

// An upstream counts the requests that it executes.
type upstream struct {
	*httptest.Server
	runs   atomic.Int64
	handle atomic.Pointer[http.HandlerFunc]
	mu     sync.Mutex
	last   http.Header
}

func startUpstream(t *testing.T) *upstream {
	u := &upstream{}
	u.set(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		w.Header().Set("Location", "/orders/1")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "order %d: %s", u.runs.Load(), text)
	})
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.runs.Add(1)
		u.mu.Lock()
		u.last = r.Header.Clone()
		u.mu.Unlock()
		(*u.handle.Load())(w, r)
	}))
	t.Cleanup(func() {
		u.CloseClientConnections()
		u.Close()
	})
	return u
}

func (u *upstream) set(h http.HandlerFunc) { u.handle.Store(&h) }

func (u *upstream) header() http.Header {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last
}

// A reply is what a client got.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

// call sends a request with pairs of header fields.
func (w *world) call(method, path, body string, header ...string) reply {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return w.callWith(ctx, method, path, strings.NewReader(body), header...)
}

func (w *world) callWith(ctx context.Context, method, path string, body io.Reader, header ...string) reply {
	r, err := http.NewRequestWithContext(ctx, method, w.URL+path, body)
	if err != nil {
		return reply{err: err}
	}
	r.Header.Set("X-User", "ann")
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(r)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(text), err}
}

// order sends an order with a key.
func (w *world) order(key string, header ...string) reply {
	return w.call(http.MethodPost, "/orders", "coffee", append([]string{"Idempotency-Key", key}, header...)...)
}

// want expects a status and a word in the body.
func (r reply) want(t *testing.T, status int, word string) reply {
	t.Helper()
	if r.err != nil || r.status != status || !strings.Contains(r.body, word) {
		t.Fatalf("got %d %q %v, want %d with %q", r.status, r.body, r.err, status, word)
	}
	return r
}

func (w *world) wantRuns(n int64) {
	w.t.Helper()
	if got := w.upstream.runs.Load(); got != n {
		w.t.Errorf("the upstream has executed %d requests, want %d", got, n)
	}
}

// A lockedText is a log.
type lockedText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestOnce(t *testing.T) {
	t.Parallel()
	t.Run("a repeat gets the first response", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(charge))
		first := w.order("key-1").want(t, 201, "order 1: coffee")
		if first.header.Get("Idempotency-Key") != "key-1" || first.header.Get("Idempotency-Expires") == "" {
			t.Errorf("the fields that the middleware adds are missing: %v", first.header)
		}
		again := w.order("key-1").want(t, 201, "order 1: coffee")
		if again.header.Get("Idempotent-Replayed") != "true" || again.header.Get("Location") != "/orders/1" {
			t.Errorf("the header of the replay is %v", again.header)
		}
		w.order("key-2").want(t, 201, "order 2: coffee")
		w.wantRuns(2)
	})
	t.Run("a key is used for one request", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(charge))
		w.order("key-1").want(t, 201, "order 1")
		r := w.call(http.MethodPost, "/orders", "tea", "Idempotency-Key", "key-1").want(t, 422, string(interlockhttp.KeyReused))
		if got := r.header.Get("Content-Type"); got != "application/problem+json" {
			t.Errorf("the problem has the type %q", got)
		}
		w.wantRuns(1)
	})
	t.Run("a request without a key, or with a malformed one, is refused", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(charge))
		w.call(http.MethodPost, "/orders", "coffee").want(t, 400, string(interlockhttp.KeyMissing))
		w.order(`"open`).want(t, 400, string(interlockhttp.KeyInvalid))
		w.order("a", "Idempotency-Key", "b").want(t, 400, string(interlockhttp.KeyInvalid))
		w.order(strings.Repeat("k", 10_000)).want(t, 400, string(interlockhttp.KeyInvalid))
		w.wantRuns(0)
	})
	t.Run("a repeat of a running request is refused", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(guard.Policy{Name: "orders"}))
		entered, release := make(chan struct{}), make(chan struct{})
		w.upstream.set(func(http.ResponseWriter, *http.Request) {
			close(entered)
			<-release
		})
		first := make(chan reply, 1)
		go func() { first <- w.order("key-1") }()
		<-entered
		w.order("key-1").want(t, 409, string(interlockhttp.InProgress))
		close(release)
		(<-first).want(t, 200, "")
		w.wantRuns(1)
	})
	t.Run("100 duplicates at once are one execution", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(waiting))
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if r := w.order("key-1"); r.status != 201 || r.body != "order 1: coffee" {
					t.Errorf("got %d %q %v", r.status, r.body, r.err)
				}
			})
		}
		all.Wait()
		w.wantRuns(1)
	})
	t.Run("a 4xx frees the key", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(guard.Policy{Name: "orders"}))
		w.upstream.set(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "sold out", http.StatusConflict) })
		w.order("key-1").want(t, 409, "sold out")
		w.order("key-1").want(t, 409, "sold out")
		w.wantRuns(2)
	})
	t.Run("the upstream states the outcome, and clients do not see it", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(charge))
		w.upstream.set(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Interlock-Outcome", "unknown") })
		if r := w.order("key-1").want(t, 200, ""); r.header.Get("Interlock-Outcome") != "" {
			t.Errorf("the client got %v", r.header)
		}
		w.order("key-1").want(t, 409, string(interlockhttp.OutcomeUnknown))
	})
	t.Run("a request that needs no guard is one message", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, func(*world, http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Header.Set("X-Seen", "yes")
				r.Header.Del("X-User")
				interlockextproc.Pass(w, r)
			})
		})
		w.call(http.MethodGet, "/", "").want(t, 201, "order 1")
		if n := w.Messages.Load(); n != 1 {
			t.Errorf("a GET cost %d messages, want 1", n)
		}
		w.call(http.MethodPost, "/", "coffee").want(t, 201, "order 2: coffee")
		if n := w.Messages.Load(); n != 2 {
			t.Errorf("a POST cost %d messages, want 1", n-1)
		}
		if h := w.upstream.header(); h.Get("X-Seen") != "yes" || h.Get("X-User") != "" {
			t.Errorf("the upstream got %v", h)
		}
	})
	t.Run("without mode_override, the rest of a passed request passes", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), func(c *envoytest.Config) { c.ForbidModeOverride = true }, func(*world, http.Handler) http.Handler {
			return http.HandlerFunc(interlockextproc.Pass)
		})
		w.call(http.MethodPost, "/", "coffee").want(t, 201, "order 1: coffee")
	})
}

func TestLock(t *testing.T) {
	t.Parallel()
	lock := func(wait time.Duration) func(*world, http.Handler) http.Handler {
		return func(w *world, envoy http.Handler) http.Handler {
			wrap, err := interlockhttp.Lock(w.client, "pay", interlockhttp.PathValue("id"), interlockhttp.Locking(interlock.Wait(wait)))
			if err != nil {
				t.Fatal(err)
			}
			mux := http.NewServeMux()
			mux.Handle("POST /orders/{id}", wrap(envoy))
			return mux
		}
	}
	t.Run("one request per key runs at a time, until its response has arrived", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, lock(patience))
		var inside, most atomic.Int64
		w.upstream.set(func(w http.ResponseWriter, _ *http.Request) {
			if n := inside.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer inside.Add(-1)
			fmt.Fprint(w, "paid")
		})
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() {
				if r := w.call(http.MethodPost, "/orders/7", "coffee"); r.status != 200 || r.body != "paid" {
					t.Errorf("got %d %q %v", r.status, r.body, r.err)
				}
			})
		}
		all.Wait()
		if most.Load() != 1 {
			t.Errorf("%d requests ran at once", most.Load())
		}
		w.wantRuns(30)
	})
	t.Run("the outcome that an upstream states is not for clients", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, lock(patience))
		w.upstream.set(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Interlock-Outcome", "done") })
		if r := w.call(http.MethodPost, "/orders/7", "").want(t, 200, ""); r.header["Interlock-Outcome"] != nil {
			t.Errorf("the client got %v", r.header)
		}
	})
	t.Run("a request that finds the lock held is refused", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, lock(time.Millisecond))
		entered, release := make(chan struct{}), make(chan struct{})
		w.upstream.set(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/orders/7" {
				close(entered)
				<-release
			}
		})
		first := make(chan reply, 1)
		go func() { first <- w.call(http.MethodPost, "/orders/7", "coffee") }()
		<-entered
		w.call(http.MethodPost, "/orders/7", "coffee").want(t, 423, string(interlockhttp.Locked))
		w.call(http.MethodPost, "/orders/8", "coffee").want(t, 200, "")
		close(release)
		(<-first).want(t, 200, "")
	})
	t.Run("a lost lock ends the request", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, lock(patience))
		entered, ended := make(chan struct{}), make(chan struct{})
		w.upstream.set(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // net/http notices the end of the connection only then
			close(entered)
			<-r.Context().Done()
			close(ended)
		})
		first := make(chan reply, 1)
		go func() { first <- w.call(http.MethodPost, "/orders/7", "coffee") }()
		<-entered
		if _, err := w.client.ForceRelease(t.Context(), "pay:7"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatal("the upstream still works")
		}
		if r := <-first; r.status != 500 {
			t.Errorf("got %d %q, want 500", r.status, r.body)
		}
	})
}

func TestLimit(t *testing.T) {
	t.Parallel()
	w := setUp(t, memory.New(), nil, func(w *world, envoy http.Handler) http.Handler {
		wrap, err := interlockhttp.Limit(w.client, "orders", 2, interlock.PerDay(time.UTC), interlockhttp.Header("X-User"))
		if err != nil {
			t.Fatal(err)
		}
		return wrap(envoy)
	})
	r := w.order("a").want(t, 201, "order 1")
	if r.header.Get("RateLimit") == "" {
		t.Errorf("the response lacks RateLimit: %v", r.header)
	}
	w.order("b").want(t, 201, "order 2")
	if r := w.order("c").want(t, 429, string(interlockhttp.QuotaExceeded)); r.header.Get("Retry-After") == "" {
		t.Errorf("the refusal lacks Retry-After: %v", r.header)
	}
	w.wantRuns(2)
}

func TestBodies(t *testing.T) {
	t.Parallel()
	t.Run("a body beyond MaxBody is refused", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(charge, interlockhttp.MaxBody(1000)))
		w.call(http.MethodPost, "/orders", strings.Repeat("x", 1001), "Idempotency-Key", "key-1").want(t, 413, string(interlockhttp.BodyTooLarge))
		w.callWith(t.Context(), http.MethodPost, "/orders", io.MultiReader(strings.NewReader(strings.Repeat("x", 1001))), "Idempotency-Key", "key-1").want(t, 413, string(interlockhttp.BodyTooLarge))
		w.wantRuns(0)
	})
	t.Run("a large response passes, and is not stored", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(charge, interlockhttp.MaxResponse(1000)))
		w.upstream.set(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 500_000)) })
		if r := w.order("key-1").want(t, 200, "xxx"); len(r.body) != 500_000 || r.header.Get("Idempotency-Stored") != "false" {
			t.Errorf("got %d bytes, %v", len(r.body), r.header)
		}
		w.order("key-1").want(t, 409, string(interlockhttp.ResultUnavailable))
		w.wantRuns(1)
	})
	t.Run("a response beyond Envoy's buffer has an unknown outcome", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), func(c *envoytest.Config) { c.BufferLimit = 1000 }, guarded(charge))
		w.upstream.set(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 2000)) })
		w.order("key-1").want(t, 500, "")
		w.order("key-1").want(t, 409, string(interlockhttp.OutcomeUnknown))
		w.wantRuns(1)
	})
	t.Run("bytes are not changed", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(charge))
		every := make([]byte, 256)
		for i := range every {
			every[i] = byte(i)
		}
		w.upstream.set(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
		for range 2 {
			if r := w.call(http.MethodPost, "/orders", string(every), "Idempotency-Key", "key-1").want(t, 200, ""); r.body != string(every) {
				t.Errorf("got %q", r.body)
			}
		}
	})
	t.Run("a handler may change the response", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, func(_ *world, envoy http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got := httptest.NewRecorder()
				envoy.ServeHTTP(got, r)
				w.WriteHeader(got.Code)
				_, _ = io.WriteString(w, strings.ToUpper(got.Body.String()))
			})
		})
		w.call(http.MethodPost, "/", "coffee").want(t, 201, "ORDER 1: COFFEE")
	})
	t.Run("HEAD, 204 and 304 have no body", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, func(_ *world, envoy http.Handler) http.Handler { return envoy })
		w.upstream.set(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/304":
				w.Header().Set("Etag", `"1"`)
				w.WriteHeader(http.StatusNotModified)
			case "/204":
				w.WriteHeader(http.StatusNoContent)
			default:
				w.Header().Set("Content-Length", "5")
				fmt.Fprint(w, "hello")
			}
		})
		if r := w.call(http.MethodHead, "/", "").want(t, 200, ""); r.header.Get("Content-Length") != "5" || r.body != "" {
			t.Errorf("HEAD: got %v %q", r.header, r.body)
		}
		if r := w.call(http.MethodGet, "/304", "").want(t, 304, ""); r.header.Get("Etag") != `"1"` {
			t.Errorf("304: got %v", r.header)
		}
		w.call(http.MethodGet, "/204", "").want(t, 204, "")
	})
	t.Run("trailers pass, and a replay has none", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"hello", ""} {
			w := setUp(t, memory.New(), nil, guarded(charge))
			w.upstream.set(func(w http.ResponseWriter, r *http.Request) {
				got, _ := io.ReadAll(r.Body)
				w.Header().Set("Trailer", "X-Sum")
				w.WriteHeader(http.StatusOK)
				if text != "" {
					fmt.Fprint(w, text, string(got), r.Trailer.Get("X-Part"))
				}
				w.Header().Set("X-Sum", "42")
			})
			send := func() (string, http.Header) {
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/orders", io.MultiReader(strings.NewReader(text)))
				r.Header.Set("Idempotency-Key", "key-1")
				r.Header.Set("X-User", "ann")
				r.Trailer = http.Header{"X-Part": {"7"}}
				res, err := http.DefaultTransport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				got, _ := io.ReadAll(res.Body)
				return string(got), res.Trailer
			}
			got, trailer := send()
			if trailer.Get("X-Sum") != "42" || text != "" && got != "hellohello7" {
				t.Errorf("with the body %q, got %q and the trailer %v", text, got, trailer)
			}
			if again, _ := send(); again != got {
				t.Errorf("the replay is %q, want %q", again, got)
			}
			w.wantRuns(1)
		}
	})
	t.Run("an event stream passes as it comes", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(charge))
		release := make(chan struct{})
		w.upstream.set(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			<-release
			fmt.Fprint(w, "data: 2\n\n")
		})
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/orders", strings.NewReader(""))
		r.Header.Set("Idempotency-Key", "key-1")
		r.Header.Set("X-User", "ann")
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		part := make([]byte, 9)
		if _, err := io.ReadFull(res.Body, part); err != nil || string(part) != "data: 1\n\n" {
			t.Errorf("the first event is %q %v", part, err)
		}
		close(release)
		if rest, err := io.ReadAll(res.Body); err != nil || string(rest) != "data: 2\n\n" {
			t.Errorf("the rest is %q %v", rest, err)
		}
		w.wantRuns(1)
	})
}

func TestHostileHeaders(t *testing.T) {
	t.Parallel()
	t.Run("values that Envoy refuses are cleaned", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, func(_ *world, envoy http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h := w.Header()
				h["X-Split"] = []string{"a\r\nSet-Cookie: b"}
				h["X-Bytes"] = []string{"\xff\x00\x7f"}
				h["Bad Name"], h["X:Y"], h[""] = []string{"1"}, []string{"1"}, []string{"1"}
				h["Content-Length"], h["Transfer-Encoding"], h["Connection"] = []string{"999"}, []string{"chunked"}, []string{"close"}
				h["Set-Cookie"] = []string{"a=1", "b=2"}
				r.Header["X-Up"] = []string{"a\nb"}
				r.Header["Content-Length"] = []string{"1"}
				if r.URL.Path == "/refused" {
					w.WriteHeader(http.StatusTeapot)
					return
				}
				envoy.ServeHTTP(w, r)
			})
		})
		for path, status := range map[string]int{"/refused": 418, "/sent": 201} {
			r := w.call(http.MethodPost, path, "coffee").want(t, status, "")
			if got := r.header.Get("X-Split"); got != "a  Set-Cookie: b" {
				t.Errorf("X-Split is %q", got)
			}
			if got := strings.Join(r.header["Set-Cookie"], "; "); got != "a=1; b=2" {
				t.Errorf("Set-Cookie is %q", got)
			}
		}
		if got := w.upstream.header().Get("X-Up"); got != "a b" {
			t.Errorf("the upstream got X-Up %q", got)
		}
	})
	t.Run("a path that cannot be parsed is refused", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(charge))
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "POST http://other/orders HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		text, _ := io.ReadAll(conn)
		if !strings.HasPrefix(string(text), "HTTP/1.1 400 ") || !strings.Contains(string(text), string(interlockhttp.RequestAmbiguous)) {
			t.Errorf("got %s", text)
		}
		w.wantRuns(0)
	})
}

func TestMisconfiguration(t *testing.T) {
	t.Parallel()
	mode := func(change func(*modev3.ProcessingMode)) func(*envoytest.Config) {
		return func(c *envoytest.Config) {
			c.Mode = &modev3.ProcessingMode{RequestBodyMode: modev3.ProcessingMode_BUFFERED, ResponseBodyMode: modev3.ProcessingMode_BUFFERED}
			change(c.Mode)
		}
	}
	for _, c := range []struct {
		name   string
		change func(*envoytest.Config)
		want   string
	}{
		{"observability mode", func(c *envoytest.Config) { c.Observability = true }, "observability_mode"},
		{"streamed bodies", mode(func(m *modev3.ProcessingMode) { m.RequestBodyMode = modev3.ProcessingMode_STREAMED }), "request_body_mode: BUFFERED"},
		{"duplex bodies", mode(func(m *modev3.ProcessingMode) { m.ResponseBodyMode = modev3.ProcessingMode_FULL_DUPLEX_STREAMED }), "response_body_mode: BUFFERED"},
	} {
		t.Run(c.name+" is refused, and the reason is logged", func(t *testing.T) {
			t.Parallel()
			w := setUp(t, memory.New(), c.change, guarded(charge))
			w.order("key-1").want(t, 500, "")
			w.wantRuns(0)
			if text := w.log.String(); !strings.Contains(text, c.want) {
				t.Errorf("the log lacks %q:\n%s", c.want, text)
			}
		})
	}
	t.Run("without mode_override and with skipped responses, no request runs twice", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), func(c *envoytest.Config) {
			mode(func(m *modev3.ProcessingMode) {
				m.ResponseHeaderMode, m.ResponseBodyMode = modev3.ProcessingMode_SKIP, modev3.ProcessingMode_NONE
			})(c)
			c.ForbidModeOverride = true
		}, guarded(charge))
		w.order("key-1").want(t, 201, "order 1")
		w.order("key-1").want(t, 409, string(interlockhttp.OutcomeUnknown))
		w.wantRuns(1)
	})
	t.Run("a mode that sends no responses is overridden", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), func(c *envoytest.Config) {
			mode(func(m *modev3.ProcessingMode) {
				m.ResponseHeaderMode, m.ResponseBodyMode = modev3.ProcessingMode_SKIP, modev3.ProcessingMode_NONE
			})(c)
		}, guarded(charge))
		w.order("key-1").want(t, 201, "order 1: coffee")
		w.order("key-1").want(t, 201, "order 1: coffee")
		w.wantRuns(1)
	})
}
