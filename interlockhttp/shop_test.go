package interlockhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// A shop takes orders over HTTP. Its middleware runs each order once.
type shop struct {
	t       *testing.T
	runs    atomic.Int64 // how often the handler ran
	handler http.HandlerFunc
	once    *interlockhttp.Middleware
	mux     *http.ServeMux
	server  *httptest.Server
}

// order is a handler that numbers its responses.
func (s *shop) order(w http.ResponseWriter, r *http.Request) {
	n := s.runs.Add(1)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Location", fmt.Sprintf("/orders/%d", n))
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "order %d of %s", n, body)
}

// signedIn returns the user that an authenticating proxy has set.
func signedIn(r *http.Request) string { return r.Header.Get("X-User") }

// open returns a shop with its own engine. A nil handler means order.
func open(t *testing.T, p guard.Policy, handler http.HandlerFunc, opts ...interlockhttp.Option) *shop {
	t.Helper()
	return openOn(t, nil, p, handler, opts...)
}

func openOn(t *testing.T, e engine.Engine, p guard.Policy, handler http.HandlerFunc, opts ...interlockhttp.Option) *shop {
	t.Helper()
	s := &shop{t: t, handler: handler, mux: http.NewServeMux()}
	if handler == nil {
		s.handler = s.order
	}
	p.Name = "orders"
	build := interlockhttp.Once
	if p.After == guard.Free || p.After == guard.Window {
		build = interlockhttp.Submit
	}
	client := interlock.New(e)
	var err error
	s.once, err = build(client, p, append([]interlockhttp.Option{interlockhttp.User(signedIn)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	s.mux.Handle("/orders", s.once.Wrap(s.handler))
	s.mux.Handle("/orders/{id}", s.once.Wrap(s.handler))
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if s.server != nil {
			s.server.Close()
		}
		_ = s.once.Close(ctx)
		_ = client.Close(ctx)
	})
	return s
}

// routes returns the shop's handler behind a mux, unguarded.
func (s *shop) routes(pattern string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(pattern, s.handler)
	return mux
}

// url starts a server for the shop and returns its URL.
func (s *shop) url() string {
	if s.server == nil {
		s.server = httptest.NewServer(s.mux)
	}
	return s.server.URL
}

// An edit changes a request before it is sent.
type edit func(*http.Request)

func with(name string, values ...string) edit {
	return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = values }
}

func without(name string) edit { return func(r *http.Request) { r.Header.Del(name) } }

func as(user string) edit { return with("X-User", user) }

// request returns ann's order.
func (s *shop) request(key, body string, edits ...edit) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
	r.Header.Set("X-User", "ann")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	for _, e := range edits {
		e(r)
	}
	return r
}

// A response is a response of the shop.
type response struct {
	t       *testing.T
	status  int
	header  http.Header
	body    string
	trailer http.Header
}

// serve handles a request without a network, so that time may be virtual.
func (s *shop) serve(key, body string, edits ...edit) response {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, s.request(key, body, edits...))
	return read(s.t, w.Result())
}

// post sends a request over a real connection.
func (s *shop) post(key, body string, edits ...edit) response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url()+"/orders", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = s.request(key, "").Header
	for _, e := range edits {
		e(r)
	}
	resp, err := s.server.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return read(s.t, resp)
}

func read(t *testing.T, resp *http.Response) response {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{t, resp.StatusCode, resp.Header, string(body), resp.Trailer}
}

// is checks the status and body of a response, and that it is not a replay.
func (a response) is(status int, body string) response {
	a.t.Helper()
	if a.status != status || a.body != body {
		a.t.Errorf("the response is %d %q, want %d %q", a.status, a.body, status, body)
	}
	if a.header.Get("Idempotent-Replayed") != "" {
		a.t.Error("the response is marked as a replay")
	}
	return a
}

// replays checks that a response is a replay of another.
func (a response) replays(first response) {
	a.t.Helper()
	if a.status != first.status || a.body != first.body || a.header.Get("Location") != first.header.Get("Location") {
		a.t.Errorf("the response is %d %q, want the first one, %d %q", a.status, a.body, first.status, first.body)
	}
	if a.header.Get("Idempotent-Replayed") != "true" || a.header.Get("Cache-Control") != "no-store" {
		a.t.Errorf("the response is not marked as a replay: %v", a.header)
	}
}

// A problemMembers is the JSON of a problem.
type problemMembers struct {
	Type, Title, Detail, Code string
	Status                    int
	Retryable                 bool
	SameKey                   bool      `json:"same_key"`
	RetryAfter                int64     `json:"retry_after_ms"`
	FirstSeen                 time.Time `json:"first_seen"`
	OriginalStatus            int       `json:"original_status"`
}

// problem checks that a response is a problem with that status and code.
func (a response) problem(status int, code interlockhttp.Code) problemMembers {
	a.t.Helper()
	var p problemMembers
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		a.t.Fatalf("the response is %d %q, want the problem %s: %v", a.status, a.body, code, err)
	}
	if a.status != status || p.Status != status || p.Code != string(code) {
		a.t.Errorf("the response is %d with the problem %+v, want %d %s", a.status, p, status, code)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Errorf("the content type is %q, want application/problem+json", got)
	}
	return p
}

// ran checks how often the handler ran.
func (s *shop) ran(n int64) {
	s.t.Helper()
	if got := s.runs.Load(); got != n {
		s.t.Errorf("the handler ran %d times, want %d", got, n)
	}
}

func decode(t *testing.T, w *httptest.ResponseRecorder, into any) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatalf("the response %s cannot be decoded: %v", w.Body, err)
	}
}
