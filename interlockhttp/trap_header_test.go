package interlockhttp_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/interlock-go/interlock/interlockhttp"
)

// TestTrapHeaders is about fields that are only for the first client.
func TestTrapHeaders(t *testing.T) {
	t.Run("fields about the connection, the moment or the session are not replayed", func(t *testing.T) {
		notReplayed := map[string]string{
			"Keep-Alive": "timeout=5", "Proxy-Connection": "close", "Te": "trailers", "Upgrade": "h2c", "Alt-Svc": "h3", "Server": "old",
			"Date": "Mon, 02 Jan 2006 15:04:05 GMT", "Server-Timing": "db;dur=53", "Strict-Transport-Security": "max-age=1",
			"X-Request-Id": "1", "Traceparent": "00-1-1-01", "X-B3-Traceid": "1", "Ratelimit-Remaining": "1", "X-Ratelimit-Limit": "2",
			"Set-Cookie": "session=ann", "Authorization": "Bearer a", "Www-Authenticate": "Basic", "Proxy-Authenticate": "Basic",
			"Authentication-Info": "nextnonce=1", "Clear-Site-Data": "*", "X-Csrf-Token": "c", "Proxy-Status": "p",
			"Set-Cookie2": "session=ann", "Proxy-Authorization": "Basic a", "Proxy-Authentication-Info": "nextnonce=1",
			"X-Xsrf-Token": "c", "Csrf-Token": "c", "Request-Id": "1", "X-Correlation-Id": "1", "X-Trace-Id": "1",
			"X-Amzn-Trace-Id": "1", "X-Cloud-Trace-Context": "1", "Tracestate": "a=1", "B3": "0", "Uber-Trace-Id": "1",
			"X-Rate-Limit-Limit": "2", "Interlock-Unguarded": "true",
		}
		replayed := map[string]string{"Content-Type": "text/csv", "Etag": `"1"`, "Location": "/orders/1", "X-Order": "7", "Vary": "Accept"}
		s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
			for _, fields := range []map[string]string{notReplayed, replayed} {
				for name, value := range fields {
					w.Header().Set(name, value)
				}
			}
			_, _ = io.WriteString(w, "a,b")
		})
		first, again := s.serve("k-1", "x"), s.serve("k-1", "x")
		again.replays(first)
		for name, value := range notReplayed {
			if first.header.Get(name) != value {
				t.Errorf("the first response lacks %s", name)
			}
			if got := again.header.Values(name); len(got) > 0 {
				t.Errorf("%s is replayed: %q", name, got)
			}
		}
		for name, value := range replayed {
			if got := again.header.Get(name); got != value {
				t.Errorf("%s of the replay is %q, want %q", name, got, value)
			}
		}
	})
	t.Run("KeepFields and DropFields decide which fields are replayed", func(t *testing.T) {
		s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Set-Cookie", "theme=dark")
			w.Header().Set("X-Once", "1")
		}, interlockhttp.KeepFields("set-cookie"), interlockhttp.DropFields("x-once"))
		s.serve("k-1", "x")
		if a := s.serve("k-1", "x"); a.header.Get("Set-Cookie") == "" || a.header.Get("X-Once") != "" {
			t.Errorf("the replay has %v", a.header)
		}
	})
	t.Run("a private Location is not replayed", func(t *testing.T) {
		s := open(t, kept, func(w http.ResponseWriter, r *http.Request) {
			interlockhttp.Settle(r.Context(), interlockhttp.Private)
			http.Redirect(w, r, "https://files.example/x?signature=telltale", http.StatusSeeOther)
		})
		if a := s.serve("k-1", "x"); a.status != 303 || a.header.Get("Location") == "" || a.header.Get("Idempotency-Stored") != "false" {
			t.Errorf("the first response is %d with %v, want 303 with a Location, marked as not stored", a.status, a.header)
		}
		again := s.serve("k-1", "x")
		again.problem(409, interlockhttp.ResultUnavailable)
		if strings.Contains(again.body, "telltale") || again.header.Get("Location") != "" {
			t.Errorf("the replay contains the private Location: %s with %v", again.body, again.header)
		}
	})
	t.Run("a CORS origin is not replayed to another origin", func(t *testing.T) {
		s := open(t, kept, nil)
		inner := s.mux
		s.mux = http.NewServeMux()
		s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
			w.Header().Set("Vary", "Origin")
			inner.ServeHTTP(w, r)
		})
		for _, origin := range []string{"https://a.example", "https://b.example"} {
			a := s.serve("k-1", "x", with("Origin", origin))
			if got := a.header.Values("Access-Control-Allow-Origin"); len(got) != 1 || got[0] != origin || a.header.Get("Vary") != "Origin" {
				t.Errorf("the origin %s gets the header %v, want its own origin", origin, a.header)
			}
		}
		s.ran(1)
	})
	t.Run("a client without compression gets the replay uncompressed", func(t *testing.T) {
		s := open(t, kept, nil)
		inner := s.mux
		s.mux = http.NewServeMux()
		s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(compressed(w, r), r) })
		packed := s.serve("k-1", "x", with("Accept-Encoding", "gzip"))
		z, err := gzip.NewReader(strings.NewReader(packed.body))
		if err != nil {
			t.Fatalf("the response %q is not compressed: %v", packed.body, err)
		}
		text, err := io.ReadAll(z)
		if err != nil || string(text) != "order 1 of x" {
			t.Errorf("the response is decompressed to %q, error %v; want the order", text, err)
		}
		if plain := s.serve("k-1", "x"); plain.body != "order 1 of x" || plain.header.Get("Content-Encoding") != "" {
			t.Errorf("the replay is %q with %v, want it uncompressed", plain.body, plain.header)
		}
		s.ran(1)
	})
	for name, status := range map[string]int{
		"a 204 has no body the second time, either": http.StatusNoContent,
		"a 304 has no body the second time, either": http.StatusNotModified,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Etag", `"1"`)
				w.WriteHeader(status)
			})
			first, again := s.serve("k-1", "x"), s.serve("k-1", "x")
			again.replays(first)
			for _, a := range []response{first, again} {
				if a.status != status || a.header.Get("Content-Length") != "" || a.header.Get("Content-Type") != "" || a.header.Get("Etag") != `"1"` {
					t.Errorf("the response is %d with the header %v", a.status, a.header)
				}
			}
		})
	}
}

// compressed is what an outer middleware does: it compresses responses for clients that
// accept gzip.
func compressed(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	if r.Header.Get("Accept-Encoding") != "gzip" {
		return w
	}
	return &packer{w}
}

type packer struct{ http.ResponseWriter }

func (p *packer) WriteHeader(status int) {
	p.Header().Set("Content-Encoding", "gzip")
	p.Header().Del("Content-Length")
	p.ResponseWriter.WriteHeader(status)
}

func (p *packer) Write(b []byte) (int, error) {
	z := gzip.NewWriter(p.ResponseWriter)
	n, err := z.Write(b)
	if err != nil {
		return n, err
	}
	return n, z.Close()
}

// An early hint is not the response.
func TestTrapInformationalResponses(t *testing.T) {
	s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.WriteHeader(http.StatusCreated)
	})
	var hints atomic.Int64
	listen := func(r *http.Request) {
		*r = *r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
			Got1xxResponse: func(int, textproto.MIMEHeader) error { hints.Add(1); return nil },
		}))
	}
	first := s.post("k-1", "x", listen).is(201, "")
	s.post("k-1", "x", listen).replays(first)
	if hints.Load() != 1 {
		t.Errorf("%d hints arrived, want one, from the first response", hints.Load())
	}
}

// A replay is marked and must not be cached.
func TestTrapReplaysAreNotCached(t *testing.T) {
	s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=60")
		w.Header().Set("Vary", "Accept-Language")
	})
	if a := s.serve("k-1", "x"); a.header.Get("Cache-Control") != "public, max-age=60" {
		t.Errorf("the first response has %v, want the handler's Cache-Control", a.header)
	}
	a := s.serve("k-1", "x")
	if got := a.header["Cache-Control"]; len(got) != 1 || got[0] != "no-store" || a.header.Get("Idempotent-Replayed") != "true" || a.header.Get("Vary") != "Accept-Language" {
		t.Errorf("the replay has %v, want no-store and the replay mark", a.header)
	}
}

// A header cannot override the method of a request.
func TestTrapMethodOverride(t *testing.T) {
	s := open(t, kept, nil)
	for _, name := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
		s.serve("", "x", without("Idempotency-Key"), with(name, "GET")).problem(400, interlockhttp.KeyMissing)
	}
	s.ran(0)
	get := httptest.NewRequest(http.MethodGet, "/orders", http.NoBody)
	get.Header.Set("X-HTTP-Method-Override", "POST")
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, get)
	if w.Code != 201 || w.Header().Get("Idempotency-Stored") != "" {
		t.Errorf("a GET is guarded: %d with %v", w.Code, w.Header())
	}
}
