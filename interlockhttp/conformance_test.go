package interlockhttp_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// A mode is how a handler is served.
type mode string

const (
	bare   mode = "bare"   // by net/http alone
	strict mode = "strict" // by Once
	tee    mode = "tee"    // by Once with Tee
	submit mode = "submit" // by Submit
)

// A conformanceServer serves all scenarios in all modes.
type conformanceServer struct {
	server *httptest.Server
	mu     sync.Mutex
	runs   map[string]*handlerRun // by the X-Run field of their requests
}

// A handlerRun is one run of a handler.
type handlerRun struct {
	ran  bool          // the handler was reached
	saw  []string      // the results of its calls
	done chan struct{} // closed when the request has ended and its response is stored
}

// maxKept is the MaxResponse of the server.
const maxKept = 8 << 10

func newConformanceServer(t *testing.T) *conformanceServer {
	t.Helper()
	h := &conformanceServer{runs: make(map[string]*handlerRun)}
	client := interlock.New(nil)
	user, most := interlockhttp.User(signedIn), interlockhttp.MaxResponse(maxKept)
	held := guard.Policy{Name: "acts", OnUnknown: guard.Hold}
	wraps := map[mode]func(http.Handler) http.Handler{
		bare:   func(next http.Handler) http.Handler { return next },
		strict: interlockhttp.Must(interlockhttp.Once(client, held, user, most, interlockhttp.KeepRedirects())).Wrap,
		tee:    interlockhttp.Must(interlockhttp.Once(client, held, user, most, interlockhttp.Tee(), interlockhttp.KeepRedirects())).Wrap,
		submit: interlockhttp.Must(interlockhttp.Submit(client, guard.Policy{Name: "forms", After: guard.Free}, user)).Wrap,
	}
	mux := http.NewServeMux()
	for w, wrap := range wraps {
		for i, a := range scenarios {
			mux.Handle(fmt.Sprintf("/%s/%d", w, i), wrap(h.handler(a)))
		}
	}
	mux.HandleFunc("/ping", func(http.ResponseWriter, *http.Request) {})
	h.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		run := r.Header.Get("X-Run")
		n := &handlerRun{done: make(chan struct{})}
		h.mu.Lock()
		h.runs[run] = n
		h.mu.Unlock()
		defer close(n.done)
		w.Header().Set("X-Outer", run) // as an outer middleware does
		mux.ServeHTTP(w, r)
	}))
	h.server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would show the panics of the scenarios
	t.Cleanup(func() {
		h.server.Close()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = client.Close(ctx)
	})
	return h
}

// handler returns the handler of a scenario.
func (h *conformanceServer) handler(a scenario) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		n := h.runs[r.Header.Get("X-Run")]
		h.mu.Unlock()
		n.ran = true
		a.handler(w, r, func(results ...any) { n.saw = append(n.saw, fmt.Sprint(results...)) })
	})
}

// run returns the handler's run of a request after it ended; nil if no handler ran.
func (h *conformanceServer) run(t *testing.T, run string) *handlerRun {
	t.Helper()
	h.mu.Lock()
	n := h.runs[run]
	h.mu.Unlock()
	select {
	case <-n.done:
	case <-time.After(exchangeTimeout):
		t.Fatal("the handler did not return in time")
	}
	if !n.ran {
		return nil
	}
	return n
}

// send sends a request for scenario i in a mode. All requests for a scenario and mode have
// the same key; run distinguishes them.
func (h *conformanceServer) send(t *testing.T, w mode, i int, run string) (reply, *handlerRun) {
	t.Helper()
	r := exchange(t, h.server.Listener.Addr().String(), fmt.Sprintf("POST /%s/%d HTTP/1.1\r\nHost: shop\r\nX-User: ann\r\n"+
		"X-Run: %s\r\nIdempotency-Key: %s-%d\r\nContent-Length: 2\r\n\r\nhi", w, i, run, w, i))
	return r, h.run(t, run)
}

// mayDiffer lists fields that the handler does not set.
var mayDiffer = []string{"Date:", "Idempotency-", "X-Outer:", "Content-Length:", "Transfer-Encoding:"}

func TestCaptureBehavesLikeNetHTTP(t *testing.T) {
	h := newConformanceServer(t)
	h.server.Start()
	for i, a := range scenarios {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			want, bareRun := h.send(t, bare, i, fmt.Sprintf("bare-%d", i))
			for _, w := range []mode{strict, tee, submit} {
				got, again := h.send(t, w, i, fmt.Sprintf("%s-%d", w, i))
				if again == nil {
					t.Fatalf("%s: the handler did not run: %s", w, &got)
				}
				want := want
				if a.adjust != nil {
					a.adjust(w, &want)
				}
				if w == strict && want.framing == "chunks" && got.framing == "length" && len(want.trailer) == 0 {
					want.framing = "length" // a stored response has a length
				}
				if fields := got.without(mayDiffer...); !slices.Equal(fields, want.without(mayDiffer...)) ||
					!slices.Equal(got.early, want.early) || got.status != want.status || got.framing != want.framing ||
					got.body != want.body || got.short != want.short || !slices.Equal(got.trailer, want.trailer) || got.open != want.open {
					t.Errorf("%s:\n got %s\nwant %s", w, &got, &want)
				}
				if !slices.Equal(again.saw, bareRun.saw) {
					t.Errorf("%s: the handler saw %q, want %q", w, again.saw, bareRun.saw)
				}
			}
		})
	}
}

func TestReplayEqualsTheResponse(t *testing.T) {
	h := newConformanceServer(t)
	h.server.Start()
	for i, a := range scenarios {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			for _, w := range []mode{strict, tee} {
				first, _ := h.send(t, w, i, fmt.Sprintf("%s-%d-first", w, i))
				again, rerun := h.send(t, w, i, fmt.Sprintf("%s-%d-again", w, i))
				outcome := a.strictly
				if w == tee {
					outcome = a.teed
				}
				if (rerun != nil) != (outcome == anew) {
					t.Errorf("%s: the handler ran again: %v, want %v", w, rerun != nil, outcome == anew)
				}
				switch outcome {
				case same:
					a.replayed(t, w, first, again)
				case gone:
					wantProblem(t, w, again, interlockhttp.ResultUnavailable)
				case unknown:
					wantProblem(t, w, again, interlockhttp.OutcomeUnknown)
				}
				if stored, found := again.field("Idempotency-Stored"); outcome == same && found {
					t.Errorf("%s: the replay has Idempotency-Stored: %s", w, stored)
				}
				_, unstored := first.field("Idempotency-Stored")
				if w == strict && first.status != "" && !strings.HasPrefix(first.body, "hijacked") && unstored != (outcome != same) {
					t.Errorf("strict: the first response is marked as not stored: %v, want %v", unstored, outcome != same)
				}
				if got, _ := again.field("X-Outer"); !strings.HasSuffix(got, "-again") {
					t.Errorf("%s: a field of the outer middleware is replayed: %q", w, got)
				}
			}
		})
	}
}

// replayed checks that again equals first, except for fields of the first client only.
func (a scenario) replayed(t *testing.T, w mode, first, again reply) {
	t.Helper()
	drop := append([]string{"Trailer:", "Cache-Control:", "Idempotent-Replayed:", "Connection:"}, mayDiffer...)
	drop = append(drop, a.private...)
	if a.lateTrailer != nil && w == tee {
		first.trailer = a.lateTrailer
	}
	if first.status != again.status || first.body != again.body || !slices.Equal(first.trailer, again.trailer) ||
		!slices.Equal(first.without(drop...), again.without(drop...)) || !again.open {
		t.Errorf("%s: the replay differs from the first response:\nfirst %s\nagain %s", w, &first, &again)
	}
	if _, found := again.field("Idempotent-Replayed"); !found {
		t.Errorf("%s: the response is not marked as a replay: %s", w, &again)
	}
	for _, name := range a.private {
		if len(again.without(name)) < len(again.fields) {
			t.Errorf("%s: %s is replayed, although it is only for the first client", w, name)
		}
	}
}

func wantProblem(t *testing.T, w mode, got reply, code interlockhttp.Code) {
	t.Helper()
	if !strings.HasPrefix(got.status, "409") || !strings.Contains(got.body, fmt.Sprintf(`"code":%q`, code)) {
		t.Errorf("%s: the response is %s, want the problem %s", w, &got, code)
	}
}

func TestFlushSendsAtOnce(t *testing.T) {
	more := make(chan struct{})
	stream := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\n")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-more // the client has received the first event
		fmt.Fprint(w, "data: 2\n\n")
	}
	for name, s := range map[string]*shop{
		"strictly": open(t, kept, stream),
		"teed":     open(t, kept, stream, interlockhttp.Tee()),
		"shadowed": open(t, kept, stream, interlockhttp.Shadow(func(interlockhttp.Shadowed) {})),
		"once":     open(t, guard.Policy{After: guard.Free}, stream),
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url()+"/orders", strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = s.request("k-1", "").Header
			resp, err := s.server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			first := make([]byte, 9)
			if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "data: 1\n\n" {
				t.Errorf("the client gets %q, error %v; want the first event before the handler returns", first, err)
			}
			more <- struct{}{}
			if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "data: 2\n\n" {
				t.Errorf("the client gets %q, error %v; want the second event", rest, err)
			}
		})
	}
}

func TestLateWritesChangeNothing(t *testing.T) {
	for name, opts := range map[string][]interlockhttp.Option{"strictly": nil, "teed": {interlockhttp.Tee()}} {
		t.Run(name, func(t *testing.T) {
			var writers sync.WaitGroup
			sent := make(chan struct{})
			s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, "done")
				began := make(chan struct{})
				writers.Go(func() { // writes while the handler returns, and its response is stored and sent
					close(began)
					for range 1000 {
						if _, err := io.WriteString(w, "."); err != nil {
							return
						}
					}
				})
				writers.Go(func() { // writes after the response was sent
					<-sent
					w.Header().Set("X-Late", "yes")
					w.WriteHeader(http.StatusTeapot)
					c := http.NewResponseController(w)
					_, writeErr := w.Write([]byte("more"))
					_, stringErr := io.WriteString(w, "more")
					_, copyErr := io.Copy(w, strings.NewReader("more"))
					_, _, hijackErr := c.Hijack()
					for i, err := range []error{writeErr, stringErr, copyErr, hijackErr, c.Flush()} {
						if err == nil {
							t.Errorf("late call %d has no error", i)
						}
					}
				})
				<-began
			}, opts...)
			first := s.post("k-1", "x")
			if !strings.HasPrefix(first.body, "done") {
				t.Errorf("the response is %q, want done at its start", first.body)
			}
			s.post("k-1", "x").replays(first)
			close(sent)
			writers.Wait()
			a := s.post("k-1", "x")
			a.replays(first)
			if a.header.Get("X-Late") != "" {
				t.Error("a late write is in the replay")
			}
		})
	}
}

func TestPrivateTrailersAreNotReplayed(t *testing.T) {
	for name, c := range map[string]struct{ announced, prefix string }{
		"announced":     {"Set-Cookie, X-Sum", ""},
		"not announced": {"", http.TrailerPrefix},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
				if c.announced != "" {
					w.Header().Set("Trailer", c.announced)
				}
				fmt.Fprint(w, "done")
				w.Header().Set(c.prefix+"Set-Cookie", "session=1")
				w.Header().Set(c.prefix+"X-Sum", "42")
			})
			first := s.post("k-1", "x").is(200, "done")
			again := s.post("k-1", "x")
			again.replays(first)
			if first.trailer.Get("Set-Cookie") == "" || again.trailer.Get("Set-Cookie") != "" || again.trailer.Get("X-Sum") != "42" {
				t.Errorf("the first trailer is %v and that of the replay %v, want Set-Cookie in the first only", first.trailer, again.trailer)
			}
		})
	}
}
