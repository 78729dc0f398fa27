package interlockextproc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	modev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/extproc"
	"github.com/interlock-go/interlock/adapter/extproc/envoytest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// trailered sends an order with an empty body and a trailer, for which Envoy has no message
// of the body.
func (w *world) trailered(header ...string) int {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.URL+"/orders", io.MultiReader(strings.NewReader("")))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", "key-1")
	r.Header.Set("X-User", "ann")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	r.Trailer = http.Header{"X-Part": {"7"}}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

func TestAttacks(t *testing.T) {
	t.Parallel()
	t.Run("a field that a handler removes never reaches the upstream, whatever the body is", func(t *testing.T) {
		t.Parallel()
		for _, pass := range []bool{false, true} {
			w := setUp(t, memory.New(), nil, func(_ *world, envoy http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.ReadAll(r.Body)
					r.Header.Del("Interlock-Fence")
					if pass {
						interlockextproc.Pass(w, r)
						return
					}
					envoy.ServeHTTP(w, r)
				})
			})
			status := w.trailered("Interlock-Fence", "999")
			if h := w.upstream.header(); h.Get("Interlock-Fence") != "" {
				t.Errorf("pass %v: the upstream got a forged fence: %v", pass, h)
			}
			if status < 500 {
				t.Errorf("pass %v: got %d, want a refusal", pass, status)
			}
		}
	})
	t.Run("a client cannot make Envoy repeat a guarded request", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, guarded(charge))
		for _, name := range []string{"X-Envoy-Retry-On", "X-Envoy-Retry-Grpc-On"} {
			if r := w.order("key-1", name, "5xx,reset"); r.status != http.StatusBadGateway {
				t.Errorf("%s: got %d %q, want a refusal", name, r.status, r.body)
			}
		}
		w.wantRuns(0)
		w.order("key-1").want(t, 201, "order 1")
	})
	t.Run("without the body, a guarded request is not executed", func(t *testing.T) {
		t.Parallel()
		for _, forbid := range []bool{false, true} {
			w := setUp(t, memory.New(), func(c *envoytest.Config) {
				c.Mode = &modev3.ProcessingMode{ResponseBodyMode: modev3.ProcessingMode_BUFFERED}
				c.ForbidModeOverride = forbid
			}, guarded(charge))
			w.order("key-1").want(t, 500, "")
			w.wantRuns(0)
			if text := w.log.String(); !strings.Contains(text, "request_body_mode: BUFFERED") {
				t.Errorf("the log lacks the reason:\n%s", text)
			}
		}
	})
	t.Run("a request that passed unguarded is logged", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), func(c *envoytest.Config) { c.ForbidModeOverride = true }, guarded(charge))
		if status := w.trailered(); status != 500 {
			t.Errorf("got %d, want 500", status)
		}
		if text := w.log.String(); !strings.Contains(text, "before the body of the request") {
			t.Errorf("the log lacks the reason:\n%s", text)
		}
	})
	t.Run("a body beyond Envoy's buffer is refused as too large", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), func(c *envoytest.Config) { c.BufferLimit = 1000 }, guarded(charge))
		w.call(http.MethodPost, "/orders", strings.Repeat("x", 1001), "Idempotency-Key", "key-1").want(t, 413, string(interlockhttp.BodyTooLarge))
		w.wantRuns(0)
		w.order("key-1").want(t, 201, "order 1")
	})
	t.Run("a response that replaces an event stream is sent", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, memory.New(), nil, func(_ *world, envoy http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				envoy.ServeHTTP(&replacing{ResponseWriter: w}, r)
			})
		})
		w.upstream.set(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: secret\n\n")
		})
		if r := w.call(http.MethodGet, "/", "").want(t, 403, "no"); strings.Contains(r.body, "secret") {
			t.Errorf("got %q", r.body)
		}
	})
	t.Run("a stream that is closed in order while a request waits leaves its key free", func(t *testing.T) {
		t.Parallel()
		var cut atomic.Bool
		w := setUp(t, memory.New(), func(c *envoytest.Config) {
			c.HalfClose = true
			c.Cut = func(point string) bool { return point == "request_body sent" && cut.CompareAndSwap(false, true) }
		}, func(w *world, envoy http.Handler) http.Handler {
			lock, err := interlockhttp.Lock(w.client, "pay", interlockhttp.Header("X-User"), interlockhttp.Locking(interlock.Wait(patience)))
			if err != nil {
				t.Fatal(err)
			}
			return guarded(guard.Policy{Name: "orders", OnUnknown: guard.Hold})(w, lock(envoy))
		})
		_, hold, err := w.client.Mutex("pay:ann").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience/2)
		defer cancel()
		w.callWith(ctx, http.MethodPost, "/orders", strings.NewReader("coffee"), "Idempotency-Key", "key-1")
		if ctx.Err() != nil {
			t.Error("the request still waits for the lock, and Envoy has ended it")
		}
		if err := hold.Unlock(); err != nil {
			t.Fatal(err)
		}
		w.settled().want(t, 201, "order 1")
	})
}

// A replacing writer refuses each response.
type replacing struct {
	http.ResponseWriter
	done bool
}

func (r *replacing) WriteHeader(int) {
	if !r.done {
		r.done = true
		r.Header().Set("Content-Type", "text/plain")
		r.ResponseWriter.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(r.ResponseWriter, "no")
	}
}

func (r *replacing) Write(p []byte) (int, error) { return len(p), nil }

// No message makes the server end a stream in order before it has answered: Envoy would
// send the request unguarded.
func TestHostileMessages(t *testing.T) {
	t.Parallel()
	w := setUp(t, memory.New(), nil, guarded(charge))
	conn, err := grpc.NewClient(w.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	header := func(pairs ...string) *extprocv3.ProcessingRequest {
		h := &corev3.HeaderMap{}
		for i := 0; i < len(pairs); i += 2 {
			h.Headers = append(h.Headers, &corev3.HeaderValue{Key: pairs[i], RawValue: []byte(pairs[i+1])})
		}
		return &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_RequestHeaders{RequestHeaders: &extprocv3.HttpHeaders{Headers: h, EndOfStream: true}}}
	}
	post := []string{":method", "POST", ":path", "/orders", ":authority", "shop", "x-user", "ann"}
	order := append(post, "idempotency-key", "key-1")
	open := header(order...)
	open.GetRequestHeaders().EndOfStream = false
	for name, messages := range map[string][]*extprocv3.ProcessingRequest{
		"nothing":                    nil,
		"an empty message":           {{}},
		"headers without fields":     {{Request: &extprocv3.ProcessingRequest_RequestHeaders{}}},
		"no path":                    {header(":method", "POST")},
		"no method":                  {header(":path", "/orders")},
		"an absolute path":           {header(":method", "POST", ":path", "http://shop/orders")},
		"a path with control bytes":  {header(":method", "POST", ":path", "/orders\r\nX: 1")},
		"invalid UTF-8 in the key":   {header(append(post, "idempotency-key", "\xff\xfe")...)},
		"a newline in the key":       {header(append(post, "idempotency-key", "a\nb")...)},
		"two keys":                   {header(append(order, "idempotency-key", "key-2")...)},
		"the response first":         {{Request: &extprocv3.ProcessingRequest_ResponseHeaders{}}},
		"a body first":               {{Request: &extprocv3.ProcessingRequest_RequestBody{}}},
		"headers twice":              {open, header(order...)},
		"a response before the body": {open, {Request: &extprocv3.ProcessingRequest_ResponseBody{}}},
		"the end before the body":    {open},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			stream, err := extprocv3.NewExternalProcessorClient(conn).Process(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range messages {
				_ = stream.Send(m) // an error comes with the answer
			}
			_ = stream.CloseSend()
			for {
				m, err := stream.Recv()
				switch {
				case errors.Is(err, io.EOF):
					t.Fatal("the stream ended in order, so Envoy sends the request")
				case status.Code(err) == codes.DeadlineExceeded:
					t.Fatal("the stream stays open")
				case err != nil, m.GetImmediateResponse() != nil:
					return
				case m.GetRequestHeaders() == nil || m.GetModeOverride().GetRequestBodyMode() != modev3.ProcessingMode_BUFFERED:
					t.Fatalf("the answer is %v", m)
				}
			}
		})
	}
	w.wantRuns(0)
	if text := w.log.String(); strings.Contains(text, "panic") {
		t.Errorf("a handler has panicked:\n%s", text)
	}
}
