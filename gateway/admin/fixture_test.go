package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
)

// A fixture is an API with its engine and a server.
type fixture struct {
	t      *testing.T
	engine engine.Engine
	client *interlock.Client
	api    *admin.Server
	server *httptest.Server
	log    *bytes.Buffer
	header http.Header // header fields that every request has
}

// open returns a fixture with a server. The changes are applied to its options first.
func open(t *testing.T, change ...func(*admin.Options)) *fixture {
	t.Helper()
	w := openWithoutServer(t, change...)
	w.server = httptest.NewServer(w.api)
	t.Cleanup(func() {
		w.end()
		w.server.Close()
	})
	return w
}

// openWithoutServer returns a fixture for tests with virtual time.
func openWithoutServer(t *testing.T, change ...func(*admin.Options)) *fixture {
	t.Helper()
	w := &fixture{t: t, log: new(bytes.Buffer), header: http.Header{}}
	o := admin.Options{Engine: memory.New(), Config: &config.Admin{Listen: "127.0.0.1:7070", Open: true}, Events: admin.NewEvents()}
	o.Log = slog.New(slog.NewJSONHandler(w.log, nil))
	for _, c := range change {
		c(&o)
	}
	if o.Client == nil {
		o.Client = interlock.New(o.Engine, interlock.WithTrace(o.Events.Trace()), interlock.Name("shop"))
	}
	w.engine, w.client = o.Engine, o.Client
	var err error
	if w.api, err = admin.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = o.Client.Close(ctx) // a failed test may leave a lock held
	})
	return w
}

// end ends the streams, which the server's Close waits for.
func (w *fixture) end() {
	if err := w.api.Close(); err != nil {
		w.t.Error(err)
	}
}

// A reply is a response of the API.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	text   []byte
}

// call sends a request; a body that is not nil is sent as JSON.
func (w *fixture) call(method, path string, body any) *reply {
	w.t.Helper()
	var text io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			w.t.Fatal(err)
		}
		text = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+path, text)
	if err != nil {
		w.t.Fatal(err)
	}
	for name, values := range w.header {
		r.Header[name] = values
		if name == "Host" {
			r.Host = values[0]
		}
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return w.send(r)
}

func (w *fixture) send(r *http.Request) *reply {
	w.t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	conforms(w.t, w.api, r.Method, r.URL.EscapedPath(), resp, raw)
	return &reply{w.t, resp.StatusCode, resp.Header, raw}
}

func (w *fixture) get(path string) *reply { w.t.Helper(); return w.call("GET", path, nil) }

func (w *fixture) post(path string, body any) *reply { w.t.Helper(); return w.call("POST", path, body) }

// into decodes the response, which must be a 200.
func (r *reply) into(v any) {
	r.t.Helper()
	if r.status != http.StatusOK {
		r.t.Fatalf("the response is %d %s, want 200", r.status, r.text)
	}
	d := json.NewDecoder(bytes.NewReader(r.text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		r.t.Fatalf("the response %s cannot be decoded: %v", r.text, err)
	}
}

// problem checks that the response is a problem with that status and code.
func (r *reply) problem(status int, code admin.Code) admin.Problem {
	r.t.Helper()
	var p admin.Problem
	if err := json.Unmarshal(r.text, &p); err != nil || r.status != status || p.Code != code || p.Status != status ||
		r.header.Get("Content-Type") != "application/problem+json" || p.Detail == "" || !strings.HasSuffix(p.Type, "#"+string(code)) {
		r.t.Fatalf("the answer is %d %s (%v), want the problem %s with status %d", r.status, r.text, err, code, status)
	}
	return p
}

// lock holds a lock until the test ends.
func (w *fixture) lock(l interlock.Locker) *interlock.Hold {
	w.t.Helper()
	_, hold, err := l.Lock(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = hold.Unlock() })
	return hold
}

// pathOf returns the path of a lock or claim.
func pathOf(kind, key string) string { return "/api/v1/" + kind + "/" + url.PathEscape(key) }

// reasonBody is a body with a reason only.
var reasonBody = map[string]any{"reason": "the host is gone"}

// orders returns a guard with OnUnknown: Hold.
func (w *fixture) orders() *guard.Guard[string] {
	w.t.Helper()
	g, err := guard.New[string](w.client, guard.Policy{Name: "order", Scope: guard.Global, OnUnknown: guard.Hold})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = g.Close(context.Background()) })
	return g
}

// serve sends a request to the API without a server, checks the status, and returns the
// body.
func serve(t *testing.T, api *admin.Server, method, path, body string, status int) string {
	t.Helper()
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:1"
	rec := httptest.NewRecorder()
	api.ServeHTTP(rec, r)
	conforms(t, api, method, r.URL.EscapedPath(), rec.Result(), rec.Body.Bytes())
	if rec.Code != status {
		t.Fatalf("%s %s is answered with %d %s, want %d", method, path, rec.Code, rec.Body, status)
	}
	return rec.Body.String()
}

// serveGet sends a GET to the API without a server, and decodes the response.
func serveGet[T any](t *testing.T, api *admin.Server, path string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(serve(t, api, "GET", path, "", 200)), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
