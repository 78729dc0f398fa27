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

// peeking lets everybody see answers of before, and shows what is kept of them.
func peeking(into *http.Header) interlockhttp.Option {
	return interlockhttp.Allow(func(_ *http.Request, r *interlockhttp.Response) bool {
		*into = r.Header
		return true
	})
}

// What a middleware finds out about framing is for one connection: a replay has its
// own.
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
	}, peeking(&stored))
	s.ask("k-1", "x")
	s.ask("k-1", "x")
	if stored.Get("X-Kept") != "yes" {
		t.Errorf("stored are %v", stored)
	}
	for _, name := range fields {
		if got, ok := stored[name]; ok {
			t.Errorf("%s is stored: %q", name, got)
		}
	}
}

// The type that net/http found is kept: another release of Go may find another one.
func TestADetectedTypeIsKept(t *testing.T) {
	for name, opts := range map[string][]interlockhttp.Option{"strictly": nil, "teed": {interlockhttp.Tee()}} {
		t.Run(name, func(t *testing.T) {
			var stored http.Header
			s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
				for _, text := range []string{"<", "html", ">"} {
					_, _ = io.WriteString(w, text)
				}
			}, append(opts, peeking(&stored))...)
			first := s.post("k-1", "x")
			s.post("k-1", "x").replays(first)
			if got, want := stored.Get("Content-Type"), first.header.Get("Content-Type"); got != want || got != "text/html; charset=utf-8" {
				t.Errorf("stored is %q, and sent was %q", got, want)
			}
		})
	}
}

// Between what is stored and what is sent there must be nothing.
func TestWritesDuringStorageChangeNothing(t *testing.T) {
	for name, opts := range map[string][]interlockhttp.Option{"strictly": nil, "teed": {interlockhttp.Tee()}} {
		t.Run(name, func(t *testing.T) {
			var left http.ResponseWriter
			late := func() {
				left.Header().Set(http.TrailerPrefix+"X-Late", "yes")
				left.WriteHeader(http.StatusTeapot)
				if _, err := io.WriteString(left, " and more"); err == nil {
					t.Error("nobody says that it is too late")
				}
			}
			trace := guard.WithTrace(&guard.Trace{Settled: func(guard.Settled) { late() }})
			s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
				left = w
				fmt.Fprint(w, "done")
			}, append(opts, interlockhttp.Guarding(trace))...)
			first := s.post("k-1", "x").is(200, "done")
			if len(first.trailer) > 0 {
				t.Errorf("what came too late went out: %v", first.trailer)
			}
			s.post("k-1", "x").replays(first)
		})
	}
}

// Who answers instead of a handler that panicked is not interrupted by whom it left
// behind.
func TestWritesAfterAPanicChangeNothing(t *testing.T) {
	for name, opts := range map[string][]interlockhttp.Option{"strictly": nil, "teed": {interlockhttp.Tee()}} {
		t.Run(name, func(t *testing.T) {
			var left http.ResponseWriter
			s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
				left = w
				panic("boom")
			}, opts...)
			w := httptest.NewRecorder()
			func() {
				defer func() { _ = recover() }() // as those do who answer with 500
				s.mux.ServeHTTP(w, s.request("k-1", "x"))
			}()
			left.Header().Set("X-Late", "yes")
			left.WriteHeader(http.StatusTeapot)
			_, werr := io.WriteString(left, "late")
			ferr := http.NewResponseController(left).Flush()
			http.Error(w, "sorry", http.StatusInternalServerError)
			if a := read(t, w.Result()); a.status != 500 || a.body != "sorry\n" || a.header.Get("X-Late") != "" || werr == nil || ferr == nil {
				t.Errorf("got %d %q with %v, and it was told %v and %v", a.status, a.body, a.header, werr, ferr)
			}
		})
	}
}

// What a handler says counts, also if somebody before it said something else.
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
	s.ask("k-1", "x")
	price = "other"
	if a := s.ask("k-1", "x"); a.header.Get("X-Price") != "7" || strings.Join(a.header.Values("Vary"), ", ") != "Origin, Accept" {
		t.Errorf("the replay has %v", a.header)
	}
}

// adding is a middleware outside of ours that says more in every field of an answer.
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
			t.Errorf("%s is %q", name, got)
		}
	}
}

// An answer that goes out as it comes says what is to be known, as others do.
func TestPassThroughReportsWhetherItIsStored(t *testing.T) {
	status := 0
	s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }, interlockhttp.Tee())
	for want, stored := range map[int]bool{200: true, 303: true, 400: false, 503: false} {
		status = want
		key := fmt.Sprint("k-", want)
		a := s.ask(key, "x").is(want, "")
		if a.header.Get("Idempotency-Key") != key || (a.header.Get("Idempotency-Stored") == "") != stored || (a.header.Get("Idempotency-Expires") != "") != stored {
			t.Errorf("%d says %v", want, a.header)
		}
	}
}

// What a handler calls private is nobody's but its first caller's: no engine has it.
func TestAPrivateResponseDoesNotReachTheEngine(t *testing.T) {
	e := &spy{Engine: memory.New()}
	s := openOn(t, e, kept, func(w http.ResponseWriter, r *http.Request) {
		interlockhttp.Settle(r.Context(), interlockhttp.Private)
		w.Header().Set("X-Secret", "telltale")
		fmt.Fprint(w, "telltale")
	})
	s.ask("k-1", "x").is(200, "telltale")
	s.ask("k-1", "x").problem(409, interlockhttp.ResultUnavailable)
	if strings.Contains(e.heard.String(), "telltale") {
		t.Errorf("it was told %s", e.heard.String())
	}
}

// A trailer is as much to keep as a header is.
func TestALargeTrailerIsNotKept(t *testing.T) {
	s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("X-Sum", strings.Repeat("x", 80<<10))
	})
	if a := s.ask("k-1", "x"); a.status != 201 || a.header.Get("Idempotency-Stored") != "false" {
		t.Errorf("got %d with %v", a.status, a.header)
	}
	if p := s.ask("k-1", "x").problem(409, interlockhttp.ResultUnavailable); p.OriginalStatus != 201 {
		t.Errorf("it says %+v", p)
	}
}

// silent is a writer that can do nothing but write.
type silent struct{ http.ResponseWriter }

// Where nothing can be flushed, nothing broke: what was teed is kept.
func TestAnUnsupportedFlushDoesNoHarm(t *testing.T) {
	s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "done")
		if err := http.NewResponseController(w).Flush(); err == nil {
			t.Error("it was flushed")
		}
	}, interlockhttp.Tee())
	s.mux.ServeHTTP(silent{httptest.NewRecorder()}, s.request("k-1", "x"))
	s.ask("k-1", "x").replays(response{status: 200, body: "done"})
}

// That nothing was done is known of a 4xx, and not in doubt: the key is free, also
// where what is in doubt is held.
func TestARefusalIsNotAnUnknownOutcome(t *testing.T) {
	for _, status := range []int{400, 401, 404, 409, 422, 429, 499} {
		s := open(t, guard.Policy{OnUnknown: guard.Hold}, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Good") == "" {
				w.WriteHeader(status)
			}
		})
		if a := s.ask("k-1", "x").is(status, ""); a.header.Get("Idempotency-Stored") != "false" {
			t.Errorf("%d says that it is stored", status)
		}
		s.ask("k-1", "x", with("X-Good", "yes")).is(200, "")
	}
}

// Who is refused is told which key that was about, and for how long it is worth coming
// back with it.
func TestARefusalHasKeyAndExpiry(t *testing.T) {
	s := open(t, guard.Policy{OnUnknown: guard.Hold}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	s.ask("k-1", "x")
	unknown := s.ask("k-1", "x")
	unknown.problem(409, interlockhttp.OutcomeUnknown)
	if unknown.header.Get("Idempotency-Key") != "k-1" || unknown.header.Get("Idempotency-Expires") == "" {
		t.Errorf("it says %v", unknown.header)
	}
	reused := s.ask("k-1", "y")
	reused.problem(422, interlockhttp.KeyReused)
	if reused.header.Get("Idempotency-Key") != "k-1" || reused.header.Get("Idempotency-Expires") != "" {
		t.Errorf("who is to use another key is told %v", reused.header)
	}
}
