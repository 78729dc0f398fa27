package interlockhttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// A brokenConn calls beforeSend when a response starts to be sent, and then fails every
// write, as a broken connection does.
type brokenConn struct {
	*httptest.ResponseRecorder
	beforeSend func()
}

func (w *brokenConn) WriteHeader(status int) {
	w.beforeSend()
	w.ResponseRecorder.WriteHeader(status)
}

func (w *brokenConn) Write([]byte) (int, error) { return 0, errors.New("the client has disconnected") }

// TestTrapOrder is about the order of storing and sending.
func TestTrapOrder(t *testing.T) {
	t.Run("a response is stored before it is sent, and stays stored if it does not arrive", func(t *testing.T) {
		s := open(t, kept, nil)
		stored := func() (n int) {
			for _, err := range s.once.Guard().List(t.Context(), engine.Done) {
				if n++; err != nil {
					t.Error(err)
				}
			}
			return n
		}
		sends := 0
		w := &brokenConn{httptest.NewRecorder(), func() {
			if sends++; stored() != 1 {
				t.Error("the response is sent before it is stored")
			}
		}}
		s.mux.ServeHTTP(w, s.request("k-1", "x"))
		if sends != 1 || w.Body.Len() > 0 {
			t.Fatalf("the response was sent %d times with %d bytes, want once without any", sends, w.Body.Len())
		}
		if stored() != 1 {
			t.Error("the response is no longer stored after it could not be sent")
		}
		s.serve("k-1", "x").replays(response{status: 201, body: "order 1 of x", header: http.Header{"Location": {"/orders/1"}}})
		s.ran(1)
	})
	t.Run("a truncated response is not kept as a complete one", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.Tee())
		s.mux.ServeHTTP(&brokenConn{httptest.NewRecorder(), func() {}}, s.request("k-1", "x"))
		if p := s.serve("k-1", "x").problem(409, interlockhttp.ResultUnavailable); p.OriginalStatus != 201 {
			t.Errorf("the problem is %+v", p)
		}
		s.ran(1)
	})
	t.Run("reusing a buffer after Write does not change the response", func(t *testing.T) {
		buf := make([]byte, 4)
		s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
			for _, text := range []string{"one ", "two ", "six "} {
				copy(buf, text)
				_, _ = w.Write(buf)
			}
			clear(buf)
		})
		first := s.serve("k-1", "x").is(200, "one two six ")
		copy(buf, "nine")
		s.serve("k-1", "x").replays(first)
	})
	t.Run("of two concurrent bodies under one key one wins, and the other gets key_reused", func(t *testing.T) {
		for round := range 100 {
			s := open(t, kept, nil)
			bodies := []string{"one", "two"}
			answers := make([]response, 2)
			start := make(chan struct{})
			var done sync.WaitGroup
			for i, body := range bodies {
				done.Go(func() {
					<-start
					answers[i] = s.serve("k-1", body)
				})
			}
			close(start)
			done.Wait()
			winner := 0
			if answers[1].status == 201 {
				winner = 1
			}
			answers[winner].is(201, "order 1 of "+bodies[winner])
			answers[1-winner].problem(422, interlockhttp.KeyReused)
			s.ran(1)
			if t.Failed() {
				t.Fatalf("round %d of 100 failed", round+1)
			}
		}
	})
	t.Run("a refused form can be corrected under the same key", func(t *testing.T) {
		s := open(t, kept, nil)
		s.mux.Handle("/form", s.once.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || !strings.Contains(string(body), "@") {
				http.Error(w, "no address", http.StatusBadRequest)
				return
			}
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, "account %d", s.runs.Add(1))
		})))
		form := at("/form")
		s.serve("k-1", "ann", form).is(400, "no address\n")
		s.serve("k-1", "ann at example", form).is(400, "no address\n")
		first := s.serve("k-1", "ann@example.com", form).is(201, "account 1")
		s.serve("k-1", "ann@example.com", form).replays(first)
		s.serve("k-1", "ann", form).problem(422, interlockhttp.KeyReused)
	})
	t.Run("a response is kept for Idempotency-Expires after it was stored", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, guard.Policy{Retain: time.Hour, Lease: 10 * time.Second, MaxHold: time.Hour}, nil)
			s.mux.Handle("/slow", s.once.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(30 * time.Minute) // many leases, and half of Retain
				s.order(w, r)
			})))
			slow := at("/slow")
			first := s.serve("k-1", "x", slow)
			if got := first.header.Get("Idempotency-Expires"); got != "3600" {
				t.Errorf("Idempotency-Expires is %q, want 3600", got)
			}
			for passed := time.Duration(0); passed < time.Hour; passed += 20 * time.Minute {
				for range 2 { // the second is answered from this process's own memory
					again := s.serve("k-1", "x", slow)
					again.replays(first)
					if got, want := again.header.Get("Idempotency-Expires"), fmt.Sprint(int((time.Hour - passed).Seconds())); got != want {
						t.Errorf("after %v Idempotency-Expires is %s, want %s", passed, got, want)
					}
				}
				time.Sleep(20 * time.Minute)
			}
			s.serve("k-1", "x", slow).is(201, "order 2 of x")
		})
	})
}

// A proxy behind the middleware forwards a request once, although net/http resends requests
// with a key: there is no GetBody.
func TestTrapResends(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		via  func(http.RoundTripper) http.RoundTripper
	}{
		"a request with a body is forwarded once": {"x", func(rt http.RoundTripper) http.RoundTripper { return rt }},
		"a request without a body is forwarded once by Transport": {"", func(rt http.RoundTripper) http.RoundTripper {
			return interlockhttp.NewTransport(rt, interlockhttp.Attempts(1))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int64
			upstream := httptest.NewServer(closesOnSecond(&seen))
			defer upstream.Close()
			target, err := url.Parse(upstream.URL)
			if err != nil {
				t.Fatal(err)
			}
			base := &http.Transport{}
			defer base.CloseIdleConnections()
			s := open(t, guard.Policy{OnUnknown: guard.Hold}, (&httputil.ReverseProxy{
				Transport:    c.via(base),
				Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
				ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
			}).ServeHTTP)
			s.post("k-1", c.body).is(200, "done")
			s.post("k-2", c.body).is(502, "") // the connection broke after the request was sent
			s.post("k-2", c.body).problem(409, interlockhttp.OutcomeUnknown)
			if seen.Load() != 2 {
				t.Errorf("the upstream got %d requests, want 2", seen.Load())
			}
		})
	}
}

// A handler does not pass its client's key on by accident: two of its calls to another
// service would count as one.
func TestTrapKeysOfNestedCalls(t *testing.T) {
	below := &scriptedTransport{replies: []scriptedReply{respondsWith(200)}}
	client := &http.Client{Transport: interlockhttp.NewTransport(below)}
	s := open(t, kept, func(_ http.ResponseWriter, r *http.Request) {
		for _, path := range []string{"/charge", "/ship"} {
			req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, "http://below.example"+path, http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		}
	})
	s.serve("k-1", "x").is(200, "")
	below.want(t, 2)
	charge, ship := below.seen[0].field, below.seen[1].field
	if len(charge) != 1 || len(ship) != 1 || charge[0] == ship[0] || strings.Contains(charge[0]+ship[0], "k-1") {
		t.Errorf("the keys of the two calls are %q and %q, want two new keys", charge, ship)
	}
}
