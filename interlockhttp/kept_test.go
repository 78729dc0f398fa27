package interlockhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// captureStoredHeader allows every replay, and copies its stored header.
func captureStoredHeader(into *http.Header) interlockhttp.Option {
	return interlockhttp.Allow(func(_ *http.Request, r *interlockhttp.Response) bool {
		*into = r.Header
		return true
	})
}

// Framing belongs to one connection: a replay has its own.
func TestFramingIsNotKept(t *testing.T) {
	fields := []string{
		"Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Date", "Upgrade",
		"Idempotency-Key", "Idempotent-Replayed", "Idempotency-Stored", "Idempotency-Expires",
	}
	var stored http.Header
	s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range fields {
			w.Header().Set(name, "4")
		}
		w.Header().Set("X-Kept", "yes")
		_, _ = io.WriteString(w, "done")
	}, captureStoredHeader(&stored))
	s.serve("k-1", "x")
	s.serve("k-1", "x")
	if stored.Get("X-Kept") != "yes" {
		t.Errorf("the stored header is %v, want X-Kept in it", stored)
	}
	for _, name := range fields {
		if got, ok := stored[name]; ok {
			t.Errorf("the field %s is stored as %q, want it left out", name, got)
		}
	}
}

// The Content-Type that net/http detected is kept, since another Go release may detect
// another one.
func TestADetectedTypeIsKept(t *testing.T) {
	for name, opts := range map[string][]interlockhttp.Option{"strictly": nil, "teed": {interlockhttp.Tee()}} {
		t.Run(name, func(t *testing.T) {
			var stored http.Header
			s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
				for _, text := range []string{"<", "html", ">"} {
					_, _ = io.WriteString(w, text)
				}
			}, append(opts, captureStoredHeader(&stored))...)
			first := s.post("k-1", "x")
			s.post("k-1", "x").replays(first)
			if got, want := stored.Get("Content-Type"), first.header.Get("Content-Type"); got != want || got != "text/html; charset=utf-8" {
				t.Errorf("the stored type is %q, and the sent type was %q; want text/html for both", got, want)
			}
		})
	}
}

// The stored and the sent response must be equal.
func TestWritesDuringStorageChangeNothing(t *testing.T) {
	for name, opts := range map[string][]interlockhttp.Option{"strictly": nil, "teed": {interlockhttp.Tee()}} {
		t.Run(name, func(t *testing.T) {
			var writer http.ResponseWriter
			writeLate := func() {
				writer.Header().Set(http.TrailerPrefix+"X-Late", "yes")
				writer.WriteHeader(http.StatusTeapot)
				if _, err := io.WriteString(writer, " and more"); err == nil {
					t.Error("a write after the handler returned has no error")
				}
			}
			trace := guard.WithTrace(&guard.Trace{Settled: func(guard.Settled) { writeLate() }})
			s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
				writer = w
				fmt.Fprint(w, "done")
			}, append(opts, interlockhttp.Guarding(trace))...)
			first := s.post("k-1", "x").is(200, "done")
			if len(first.trailer) > 0 {
				t.Errorf("a late write was sent: %v", first.trailer)
			}
			s.post("k-1", "x").replays(first)
		})
	}
}

// A goroutine of a handler that panicked does not disturb the response of the outer
// middleware.
func TestWritesAfterAPanicChangeNothing(t *testing.T) {
	for name, opts := range map[string][]interlockhttp.Option{"strictly": nil, "teed": {interlockhttp.Tee()}} {
		t.Run(name, func(t *testing.T) {
			var writer http.ResponseWriter
			s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
				writer = w
				panic("boom")
			}, opts...)
			w := httptest.NewRecorder()
			func() {
				defer func() { _ = recover() }() // as a middleware that answers panics with 500
				s.mux.ServeHTTP(w, s.request("k-1", "x"))
			}()
			writer.Header().Set("X-Late", "yes")
			writer.WriteHeader(http.StatusTeapot)
			_, writeErr := io.WriteString(writer, "late")
			flushErr := http.NewResponseController(writer).Flush()
			http.Error(w, "sorry", http.StatusInternalServerError)
			if a := read(t, w.Result()); a.status != 500 || a.body != "sorry\n" || a.header.Get("X-Late") != "" || writeErr == nil || flushErr == nil {
				t.Errorf("the response is %d %q with %v, and the late calls return %v and %v; want 500 sorry and two errors", a.status, a.body, a.header, writeErr, flushErr)
			}
		})
	}
}

// The handler's value of a field counts, even if an outer middleware set another.
func TestAChangedFieldIsTheHandlers(t *testing.T) {
	s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Vary", "Accept")
		w.Header().Set("X-Price", "7")
	})
	inner, price := s.mux, "none"
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Origin")
		w.Header().Set("X-Price", price)
		inner.ServeHTTP(w, r)
	})
	s.serve("k-1", "x")
	price = "other"
	if a := s.serve("k-1", "x"); a.header.Get("X-Price") != "7" || strings.Join(a.header.Values("Vary"), ", ") != "Origin, Accept" {
		t.Errorf("the replay has %v, want the handler's X-Price and both values of Vary", a.header)
	}
}

// adding is an outer middleware that appends to every header field.
type adding struct{ http.ResponseWriter }

func (a adding) WriteHeader(status int) {
	for name := range a.Header() {
		a.Header().Add(name, "more")
	}
	a.ResponseWriter.WriteHeader(status)
}

func TestAppendingToAFieldDoesNotChangeAnother(t *testing.T) {
	s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range []string{"X-A", "X-B", "X-C", "X-D"} {
			w.Header().Set(name, name)
		}
	})
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(adding{w}, s.request("k-1", "x"))
	for _, name := range []string{"X-A", "X-B", "X-C", "X-D"} {
		if got := w.Header().Values(name); len(got) != 2 || got[0] != name || got[1] != "more" {
			t.Errorf("%s is %q, want its own value and more", name, got)
		}
	}
}

// A response in pass-through mode has the same header fields as others.
func TestPassThroughReportsWhetherItIsStored(t *testing.T) {
	status := 0
	s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }, interlockhttp.Tee())
	for want, stored := range map[int]bool{200: true, 303: false, 400: false, 500: true, 503: false} {
		status = want
		key := fmt.Sprint("k-", want)
		a := s.serve(key, "x").is(want, "")
		if a.header.Get("Idempotency-Key") != key || (a.header.Get("Idempotency-Stored") == "") != stored || (a.header.Get("Idempotency-Expires") != "") != stored {
			t.Errorf("a response with %d has the header %v, want it marked as stored: %v", want, a.header, stored)
		}
	}
}

// A private response is not sent to the engine.
func TestAPrivateResponseDoesNotReachTheEngine(t *testing.T) {
	e := &spy{Engine: memory.New()}
	s := openOn(t, e, kept, func(w http.ResponseWriter, r *http.Request) {
		interlockhttp.Settle(r.Context(), interlockhttp.Private)
		w.Header().Set("X-Secret", "telltale")
		fmt.Fprint(w, "telltale")
	})
	s.serve("k-1", "x").is(200, "telltale")
	s.serve("k-1", "x").problem(409, interlockhttp.ResultUnavailable)
	if strings.Contains(e.received.String(), "telltale") {
		t.Errorf("the engine received the private response: %s", e.received.String())
	}
}

// A trailer counts toward the limit of the header.
func TestALargeTrailerIsNotKept(t *testing.T) {
	s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("X-Sum", strings.Repeat("x", 80<<10))
	})
	if a := s.serve("k-1", "x"); a.status != 201 || a.header.Get("Idempotency-Stored") != "false" {
		t.Errorf("the response is %d with the header %v", a.status, a.header)
	}
	if p := s.serve("k-1", "x").problem(409, interlockhttp.ResultUnavailable); p.OriginalStatus != 201 {
		t.Errorf("the problem is %+v", p)
	}
}

// silent is a ResponseWriter without optional methods such as Flush.
type silent struct{ http.ResponseWriter }

// An unsupported flush is not a write error: with Tee the response is kept.
func TestAnUnsupportedFlushDoesNoHarm(t *testing.T) {
	s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "done")
		if err := http.NewResponseController(w).Flush(); err == nil {
			t.Error("Flush returned nil, although the writer does not support it")
		}
	}, interlockhttp.Tee())
	s.mux.ServeHTTP(silent{httptest.NewRecorder()}, s.request("k-1", "x"))
	s.serve("k-1", "x").replays(response{status: 200, body: "done"})
}

// After a 4xx nothing was done: the key is free, even if unknown outcomes are held.
func TestARefusalIsNotAnUnknownOutcome(t *testing.T) {
	for _, status := range []int{400, 401, 404, 409, 422, 429} {
		s := open(t, guard.Policy{OnUnknown: guard.Hold}, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Good") == "" {
				w.WriteHeader(status)
			}
		})
		if a := s.serve("k-1", "x").is(status, ""); a.header.Get("Idempotency-Stored") != "false" {
			t.Errorf("a response with %d is not marked as not stored", status)
		}
		s.serve("k-1", "x", with("X-Good", "yes")).is(200, "")
	}
}

// A refusal repeats the key, and says how long the client may retry with it.
func TestARefusalHasKeyAndExpiry(t *testing.T) {
	s := open(t, guard.Policy{OnUnknown: guard.Hold}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	s.serve("k-1", "x")
	unknown := s.serve("k-1", "x")
	unknown.problem(409, interlockhttp.OutcomeUnknown)
	if unknown.header.Get("Idempotency-Key") != "k-1" || unknown.header.Get("Idempotency-Expires") == "" {
		t.Errorf("the header is %v, want the key and its expiry", unknown.header)
	}
	reused := s.serve("k-1", "y")
	reused.problem(422, interlockhttp.KeyReused)
	if reused.header.Get("Idempotency-Key") != "k-1" || reused.header.Get("Idempotency-Expires") != "" {
		t.Errorf("a problem that requires a new key has %v", reused.header)
	}
}
