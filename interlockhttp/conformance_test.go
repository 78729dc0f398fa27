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
	bare   mode = "bare" // by net/http alone
	strict mode = "strict"
	tee    mode = "tee"
	submit mode = "submit"
)

// A conformanceServer serves all scenarios in all modes.
type conformanceServer struct {
	server *httptest.Server
	mu     sync.Mutex
	nights map[string]*handlerRun // by the X-Run of their requests
}

// A handlerRun is one run of a handler.
type handlerRun struct {
	ran  bool          // the handler was reached
	saw  []string      // the results of its calls
	done chan struct{} // closed when all is over, what is stored included
}

// maxKept is the MaxResponse of the server.
const maxKept = 8 << 10

func openHouse(t *testing.T) *conformanceServer {
	t.Helper()
	h := &conformanceServer{nights: make(map[string]*handlerRun)}
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
		h.nights[run] = n
		h.mu.Unlock()
		defer close(n.done)
		w.Header().Set("X-Outer", run) // as a middleware outside of ours does
		mux.ServeHTTP(w, r)
	}))
	h.server.Config.ErrorLog = log.New(io.Discard, "", 0) // panics, and calls that come too late
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
		n := h.nights[r.Header.Get("X-Run")]
		h.mu.Unlock()
		n.ran = true
		a.handler(w, r, func(results ...any) { n.saw = append(n.saw, fmt.Sprint(results...)) })
	})
}

// run returns the handler's run of a request after it ended; nil if no handler ran.
func (h *conformanceServer) run(t *testing.T, run string) *handlerRun {
	t.Helper()
	h.mu.Lock()
	n := h.nights[run]
	h.mu.Unlock()
	select {
	case <-n.done:
	case <-time.After(patience):
		t.Fatal("the handler does not return")
	}
	if !n.ran {
		return nil
	}
	return n
}

// ask sends a request for scenario i in a mode. A run is one of several requests with one key.
func (h *conformanceServer) ask(t *testing.T, w mode, i int, run string) (reply, *handlerRun) {
	t.Helper()
	r := exchange(t, h.server.Listener.Addr().String(), fmt.Sprintf("POST /%s/%d HTTP/1.1\r\nHost: shop\r\nX-User: ann\r\n"+
		"X-Run: %s\r\nIdempotency-Key: %s-%d\r\nContent-Length: 2\r\n\r\nhi", w, i, run, w, i))
	return r, h.run(t, run)
}

// mayDiffer lists fields that the handler does not set.
var mayDiffer = []string{"Date:", "Idempotency-", "X-Outer:", "Content-Length:", "Transfer-Encoding:"}

func TestCaptureBehavesLikeNetHTTP(t *testing.T) {
	h := openHouse(t)
	h.server.Start()
	for i, a := range scenarios {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			want, night := h.ask(t, bare, i, fmt.Sprintf("bare-%d", i))
			for _, w := range []mode{strict, tee, submit} {
				got, again := h.ask(t, w, i, fmt.Sprintf("%s-%d", w, i))
				if again == nil {
					t.Fatalf("%s: the handler did not run: %s", w, &got)
				}
				want := want
				if a.unlike != nil {
					a.unlike(w, &want)
				}
				if w == strict && want.framing == "chunks" && got.framing == "length" && len(want.trailer) == 0 {
					want.framing = "length" // a stored response has a length
				}
				if fields := got.without(mayDiffer...); !slices.Equal(fields, want.without(mayDiffer...)) ||
					!slices.Equal(got.early, want.early) || got.status != want.status || got.framing != want.framing ||
					got.body != want.body || got.short != want.short || !slices.Equal(got.trailer, want.trailer) || got.open != want.open {
					t.Errorf("%s:\n got %s\nwant %s", w, &got, &want)
				}
				if !slices.Equal(again.saw, night.saw) {
					t.Errorf("%s: the handler saw %q, want %q", w, again.saw, night.saw)
				}
			}
		})
	}
}

func TestReplayEqualsTheResponse(t *testing.T) {
	h := openHouse(t)
	h.server.Start()
	for i, a := range scenarios {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			for _, w := range []mode{strict, tee} {
				first, _ := h.ask(t, w, i, fmt.Sprintf("%s-%d-first", w, i))
				again, night := h.ask(t, w, i, fmt.Sprintf("%s-%d-again", w, i))
				fate := a.strictly
				if w == tee {
					fate = a.teed
				}
				if (night != nil) != (fate == anew) {
					t.Errorf("%s: it ran again: %v", w, night != nil)
				}
				switch fate {
				case same:
					a.replayed(t, w, first, again)
				case gone:
					wantProblem(t, w, again, interlockhttp.ResultUnavailable)
				case unknown:
					wantProblem(t, w, again, interlockhttp.OutcomeUnknown)
				}
				if stored, said := again.field("Idempotency-Stored"); fate == same && said {
					t.Errorf("%s: the replay says that it is stored: %s", w, stored)
				}
				_, unstored := first.field("Idempotency-Stored")
				if w == strict && first.status != "" && !strings.HasPrefix(first.body, "hijacked") && unstored != (fate != same) {
					t.Errorf("strict: the first says that it is not stored: %v", unstored)
				}
				if got, _ := again.field("X-Outer"); !strings.HasSuffix(got, "-again") {
					t.Errorf("%s: what was there before the handler is stored: %q", w, got)
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
		t.Errorf("%s:\nfirst %s\nagain %s", w, &first, &again)
	}
	if _, said := again.field("Idempotent-Replayed"); !said {
		t.Errorf("%s: it does not say that it is a replay: %s", w, &again)
	}
	for _, name := range a.private {
		if len(again.without(name)) < len(again.fields) {
			t.Errorf("%s: %s is not only for the first caller", w, name)
		}
	}
}

func wantProblem(t *testing.T, w mode, got reply, code interlockhttp.Code) {
	t.Helper()
	if !strings.HasPrefix(got.status, "409") || !strings.Contains(got.body, fmt.Sprintf(`"code":%q`, code)) {
		t.Errorf("%s: got %s, want %s", w, &got, code)
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
		<-more // the client has seen it
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
				t.Errorf("got %q, %v", first, err)
			}
			more <- struct{}{}
			if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "data: 2\n\n" {
				t.Errorf("got %q, %v", rest, err)
			}
		})
	}
}

func TestLateWritesChangeNothing(t *testing.T) {
	for name, opts := range map[string][]interlockhttp.Option{"strictly": nil, "teed": {interlockhttp.Tee()}} {
		t.Run(name, func(t *testing.T) {
			var left sync.WaitGroup
			sent := make(chan struct{})
			s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, "done")
				began := make(chan struct{})
				left.Go(func() { // while the handler returns, and what it said is stored and sent
					close(began)
					for range 1000 {
						if _, err := io.WriteString(w, "."); err != nil {
							return
						}
					}
				})
				left.Go(func() { // and afterwards
					<-sent
					w.Header().Set("X-Late", "yes")
					w.WriteHeader(http.StatusTeapot)
					c := http.NewResponseController(w)
					_, werr := w.Write([]byte("more"))
					_, serr := io.WriteString(w, "more")
					_, cerr := io.Copy(w, strings.NewReader("more"))
					_, _, herr := c.Hijack()
					for _, err := range []error{werr, serr, cerr, herr, c.Flush()} {
						if err == nil {
							t.Error("a late call fails without an error")
						}
					}
				})
				<-began
			}, opts...)
			first := s.post("k-1", "x")
			if !strings.HasPrefix(first.body, "done") {
				t.Errorf("got %q", first.body)
			}
			s.post("k-1", "x").replays(first)
			close(sent)
			left.Wait()
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
				t.Errorf("first %v, again %v", first.trailer, again.trailer)
			}
		})
	}
}
