package httpconformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

var charge = guard.Charge("orders")

var onceCases = []testCase{
	{"a repeat gets the first response", func(s *suite) {
		s.serve("/orders", func(x Exchange) error {
			x.SetHeader("Location", "/orders/1")
			x.SetHeader("Set-Cookie", "session=1")
			return x.Send(http.StatusCreated, "order 1")
		}, s.once(charge))
		first := s.send(keyed("k1", FieldOuter, "first"))
		again := s.send(keyed("k1", FieldOuter, "again"))
		s.wantStatus("first", first, http.StatusCreated, "")
		s.wantReplay(first, again)
		s.wantRuns(1)
		for _, r := range []reply{first, again} {
			if got := r.header.Get("Location"); got != "/orders/1" {
				s.Errorf("Location: got %q", got)
			}
			if got := r.header.Get("Idempotency-Key"); got != "k1" {
				s.Errorf("Idempotency-Key: got %q", got)
			}
			if got := r.header.Values("Content-Type"); len(got) != 1 {
				s.Errorf("Content-Type: got %q", got)
			}
		}
		if first.header.Get("Content-Type") != again.header.Get("Content-Type") {
			s.Errorf("Content-Type: got %q and %q", first.header.Get("Content-Type"), again.header.Get("Content-Type"))
		}
		if first.header.Get("Set-Cookie") == "" || again.header.Get("Set-Cookie") != "" {
			s.Errorf("Set-Cookie: got %q and %q, want it only in the first response", first.header.Get("Set-Cookie"), again.header.Get("Set-Cookie"))
		}
		if first.header.Get(FieldOuter) != "first" || again.header.Get(FieldOuter) != "again" {
			s.Errorf("an outer middleware's field: got %q and %q, want that of each request", first.header.Get(FieldOuter), again.header.Get(FieldOuter))
		}
	}},
	{"of 100 concurrent duplicates one runs", func(s *suite) {
		p := charge
		p.OnDuplicate = guard.Wait
		s.serve("/orders", func(x Exchange) error { return x.Send(http.StatusOK, fmt.Sprint("run ", s.runs.Load())) }, s.once(p))
		replies := make([]reply, 100)
		var all sync.WaitGroup
		for i := range replies {
			all.Go(func() { replies[i] = s.send(keyed("storm")) })
		}
		all.Wait()
		for i, r := range replies {
			if r.err != nil || r.status != http.StatusOK || r.body != "run 1" {
				s.Errorf("request %d: got %d %q (%v)", i, r.status, r.body, r.err)
			}
		}
		s.wantRuns(1)
	}},
	{"a repeat of a running request is refused", func(s *suite) {
		g := newGate(s)
		s.serve("/orders", func(x Exchange) error { g.pass(); return x.Send(http.StatusOK, "done") }, s.once(charge))
		first := s.start(keyed("k1"))
		receive(s, g.entered, "the first request")
		again := s.send(keyed("k1"))
		s.wantStatus("the repeat", again, http.StatusConflict, interlockhttp.InProgress)
		if again.header.Get("Retry-After") == "" || !strings.HasPrefix(again.header.Get("Content-Type"), "application/problem+json") {
			s.Errorf("got the header %v", again.header)
		}
		g.release()
		s.wantStatus("the first request", first(), http.StatusOK, "")
		s.wantRuns(1)
	}},
	{"keys belong to a user", func(s *suite) {
		s.serve("/orders", s.created, s.once(charge))
		s.wantStatus("ann", s.send(keyed("k1")), http.StatusCreated, "")
		s.wantStatus("bob", s.send(keyed("k1", FieldUser, "bob")), http.StatusCreated, "")
		s.wantRuns(2)
	}},
	{"a request without a user is refused", func(s *suite) {
		s.serve("/orders", s.created, s.once(charge))
		s.wantStatus("the request", s.send(keyed("k1", FieldUser, "")), http.StatusUnauthorized, interlockhttp.UserMissing)
		s.wantRuns(0)
	}},
	{"keys and users outlive the buffers of their requests", func(s *suite) {
		var mu sync.Mutex
		var keys []guard.Key
		keep := interlockhttp.OnKey(func(_ *http.Request, k guard.Key) {
			mu.Lock()
			defer mu.Unlock()
			keys = append(keys, k)
		})
		s.serve("/orders/:id", func(x Exchange) error {
			body, err := x.Body()
			if err != nil {
				return err
			}
			x.SetHeader("X-Body", body)
			return x.Send(http.StatusOK, "got "+body+" for "+x.Param("id"))
		}, s.once(charge, keep, interlockhttp.Key(s.framework.Order)))
		s.transport.MaxConnsPerHost = 1 // one connection, whose buffers are reused
		request := func(i int) call {
			n := fmt.Sprintf("%03d", i)
			return call{path: "/orders/" + n, header: []string{FieldOrder, "key-" + n, FieldUser, "user-" + n}, body: "body-" + n}
		}
		first := make([]reply, 50)
		for i := range first {
			first[i] = s.send(request(i))
		}
		for i := range first {
			again := s.send(request(i))
			s.wantReplay(first[i], again)
			if want := fmt.Sprintf("got body-%03d for %03d", i, i); again.body != want || again.header.Get("X-Body") != fmt.Sprintf("body-%03d", i) {
				s.Fatalf("request %d: got %q and %q", i, again.body, again.header.Get("X-Body"))
			}
		}
		s.wantRuns(50)
		mu.Lock()
		defer mu.Unlock()
		for i, k := range keys {
			if n := fmt.Sprintf("%03d", i%50); k.User != "user-"+n || k.ID != "key-"+n {
				s.Fatalf("the key of request %d became %q of %q", i, k.ID, k.User)
			}
		}
	}},
	{"one key for two contents is refused", func(s *suite) {
		s.serve("/orders", s.created, s.once(charge))
		first, second := keyed("k1"), keyed("k1")
		first.body, second.body = "one", "two"
		s.wantStatus("the first content", s.send(first), http.StatusCreated, "")
		s.wantStatus("the second content", s.send(second), http.StatusUnprocessableEntity, interlockhttp.KeyReused)
		s.wantRuns(1)
	}},
	{"keys belong to a route", func(s *suite) {
		p := charge
		p.Scope = guard.PerRoute
		once := s.once(p)
		s.serveRoutes(
			Route{Method: http.MethodPost, Path: "/orders/:id", Wraps: []func(http.Handler) http.Handler{once}, Handle: s.created},
			Route{Method: http.MethodPost, Path: "/refunds/:id", Wraps: []func(http.Handler) http.Handler{once}, Handle: s.created})
		send := func(path string) reply {
			c := keyed("k1")
			c.path = path
			return s.send(c)
		}
		s.wantStatus("an order", send("/orders/1"), http.StatusCreated, "")
		s.wantStatus("a refund", send("/refunds/1"), http.StatusCreated, "")
		s.wantStatus("another order under the key", send("/orders/2"), http.StatusUnprocessableEntity, interlockhttp.KeyReused)
		s.wantRuns(2)
	}},
	{"malformed keys are refused", func(s *suite) {
		s.serve("/orders", s.created, s.once(charge))
		s.wantStatus("no key", s.send(call{}), http.StatusBadRequest, interlockhttp.KeyMissing)
		s.wantStatus("two keys", s.send(call{header: []string{"Idempotency-Key", "a", "Idempotency-Key", "b"}}), http.StatusBadRequest, interlockhttp.KeyInvalid)
		s.wantStatus("a long key", s.send(keyed(strings.Repeat("k", 300))), http.StatusBadRequest, interlockhttp.KeyInvalid)
		s.wantStatus("an open quotation mark", s.send(keyed(`"k1`)), http.StatusBadRequest, interlockhttp.KeyInvalid)
		s.wantRuns(0)
		s.wantStatus("with quotation marks", s.send(keyed(`"k1"`)), http.StatusCreated, "")
		s.wantStatus("without them", s.send(keyed(`k1`)), http.StatusCreated, "")
		s.wantRuns(1)
	}},
	{"other methods pass", func(s *suite) {
		wraps := []func(http.Handler) http.Handler{s.once(charge)}
		handle := func(x Exchange) error { return x.Send(http.StatusOK, "read") }
		s.serveRoutes(Route{Method: http.MethodGet, Path: "/orders", Wraps: wraps, Handle: handle})
		for range 2 {
			if r := s.send(call{method: http.MethodGet}); r.status != http.StatusOK || r.body != "read" || r.header.Get("Idempotency-Stored") != "" {
				s.Errorf("got %d %q %v", r.status, r.body, r.header)
			}
		}
		s.wantRuns(2)
	}},
	{"a refused request leaves its connection usable", func(s *suite) {
		s.serve("/orders", s.created, s.once(charge))
		s.transport.MaxConnsPerHost = 1
		for range 3 {
			s.wantStatus("without a key", s.send(call{body: strings.Repeat("x", 10_000)}), http.StatusBadRequest, interlockhttp.KeyMissing)
		}
		s.wantStatus("with a key", s.send(keyed("k1")), http.StatusCreated, "")
	}},
	{"problems are written in the framework's way", func(s *suite) {
		s.serve("/orders", s.created, s.once(charge, s.framework.Problem))
		r := s.send(call{})
		s.wantStatus("without a key", r, http.StatusBadRequest, interlockhttp.KeyMissing)
		if strings.Trim(r.body, "\"\n") != string(interlockhttp.KeyMissing) {
			s.Errorf("got the body %q, want the framework's", r.body)
		}
		s.wantRuns(0)
	}},
	{"a token is accepted once", func(s *suite) {
		tokens, err := guard.NewTokens(time.Hour, []byte("a secret of 32 bytes for tokens!"))
		s.check(err)
		s.serveRoutes(
			Route{Method: http.MethodGet, Path: "/token", Tokens: tokens},
			Route{Method: http.MethodPost, Path: "/orders", Wraps: []func(http.Handler) http.Handler{s.once(charge, interlockhttp.WithTokens(tokens, "order"))}, Handle: s.created})
		issued := s.send(call{method: http.MethodGet, path: "/token"})
		s.wantStatus("a token", issued, http.StatusOK, "expires_in")
		_, token, _ := strings.Cut(issued.body, `"token":"`)
		token, _, _ = strings.Cut(token, `"`)
		first := s.send(call{header: []string{"Idempotent-Token", token}})
		s.wantStatus("the token", first, http.StatusCreated, "")
		s.wantReplay(first, s.send(call{header: []string{"Idempotent-Token", token}}))
		s.wantStatus("another user's token", s.send(call{header: []string{"Idempotent-Token", token, FieldUser, "bob"}}), http.StatusForbidden, interlockhttp.TokenForeign)
		s.wantStatus("no token", s.send(keyed("k1")), http.StatusForbidden, interlockhttp.TokenUnknown)
		s.wantStatus("a token for nobody", s.send(call{method: http.MethodGet, path: "/token", header: []string{FieldUser, ""}}), http.StatusUnauthorized, interlockhttp.UserMissing)
		s.wantRuns(1)
	}},
	{"a double submission is refused", func(s *suite) {
		s.serve("/orders", s.created, s.submit(guard.Policy{Name: "forms", After: guard.Window, Window: time.Hour}))
		s.wantStatus("first", s.send(call{body: "one"}), http.StatusCreated, "")
		s.wantStatus("again", s.send(call{body: "one"}), http.StatusTooManyRequests, interlockhttp.Duplicate)
		s.wantStatus("another form", s.send(call{body: "two"}), http.StatusCreated, "")
		s.wantRuns(2)
	}},
	{"nothing runs while the engine is down", func(s *suite) {
		s.serve("/orders", s.created, s.once(charge))
		s.world.Fail()
		r := s.send(keyed("k1"))
		s.world.Heal()
		s.wantStatus("while down", r, http.StatusServiceUnavailable, interlockhttp.StoreUnavailable)
		s.wantRuns(0)
		s.wantStatus("afterwards", s.send(keyed("k1")), http.StatusCreated, "")
		s.wantRuns(1)
	}},
	{"a shutdown waits for running requests", func(s *suite) {
		m, err := interlockhttp.Once(s.client, charge, s.framework.User)
		s.check(err)
		g := newGate(s)
		s.serve("/orders", func(x Exchange) error { g.pass(); return x.Send(http.StatusOK, "done") }, m.Wrap)
		first := s.start(keyed("k1"))
		receive(s, g.entered, "the first request")
		closed := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			closed <- m.Close(ctx)
		}()
		for { // until Close has begun
			r := s.send(keyed("k1"))
			if r.status == http.StatusServiceUnavailable && strings.Contains(r.body, string(interlockhttp.Closing)) {
				break
			}
			if r.status != http.StatusConflict {
				s.Fatalf("got %d %q (%v)", r.status, r.body, r.err)
			}
		}
		select {
		case err := <-closed:
			s.Errorf("Close returned before the running request: %v", err)
		default:
		}
		g.release()
		s.wantStatus("the first request", first(), http.StatusOK, "")
		s.check(receive(s, closed, "the end of Close"))
	}},
}

var errStock = errors.New("no stock")

var outcomeCases = []testCase{
	{"an error of a handler is answered once", func(s *suite) {
		s.serve("/orders", func(Exchange) error { return errStock }, s.once(charge))
		first, again := s.send(keyed("k1")), s.send(keyed("k1"))
		s.wantStatus("first", first, http.StatusInternalServerError, "")
		if s.framework.OuterErrors {
			s.wantStatus("again", again, http.StatusConflict, interlockhttp.OutcomeUnknown)
			if !strings.Contains(first.body, errStock.Error()) {
				s.Errorf("got the body %q, want that of the outer handler", first.body)
			}
			if first.header.Get("Idempotency-Stored") != "false" {
				s.Errorf("Idempotency-Stored: got %q, want false", first.header.Get("Idempotency-Stored"))
			}
		} else {
			s.wantReplay(first, again)
		}
		s.wantRuns(1)
	}},
	{"an error before anything was sent frees the key", func(s *suite) {
		s.serve("/orders", func(x Exchange) error {
			interlockhttp.Settle(x.Context(), interlockhttp.NotExecuted)
			return errStock
		}, s.once(charge))
		s.wantStatus("first", s.send(keyed("k1")), http.StatusInternalServerError, "")
		s.wantStatus("again", s.send(keyed("k1")), http.StatusInternalServerError, "")
		s.wantRuns(2)
	}},
	{"a 4xx frees the key", func(s *suite) {
		s.serve("/orders", func(x Exchange) error { return x.Send(http.StatusBadRequest, "no") }, s.once(charge))
		s.wantStatus("first", s.send(keyed("k1")), http.StatusBadRequest, "")
		s.wantStatus("again", s.send(keyed("k1")), http.StatusBadRequest, "")
		s.wantRuns(2)
	}},
	{"a panic leaves the outcome unknown", func(s *suite) {
		s.serve("/orders", func(Exchange) error { panic("boom") }, s.once(charge))
		s.wantStatus("first", s.send(keyed("k1")), http.StatusInternalServerError, "")
		s.wantStatus("again", s.send(keyed("k1")), http.StatusConflict, interlockhttp.OutcomeUnknown)
		s.wantRuns(1)
	}},
	{"a panic after a response was written leaves the outcome unknown", func(s *suite) {
		s.serve("/orders", func(x Exchange) error {
			if err := x.Send(http.StatusOK, "almost"); err != nil {
				return err
			}
			panic("boom")
		}, s.once(charge))
		if first := s.send(keyed("k1")); first.err == nil && first.status == http.StatusOK {
			s.Errorf("first: got %d %q", first.status, first.body)
		}
		s.wantStatus("again", s.send(keyed("k1")), http.StatusConflict, interlockhttp.OutcomeUnknown)
		s.wantRuns(1)
	}},
	{"a handler settles the outcome", func(s *suite) {
		s.serve("/orders", func(x Exchange) error {
			if !interlockhttp.Settle(x.Context(), interlockhttp.NotExecuted) {
				s.Error("Settle: the context is not the guard's")
			}
			return x.Send(http.StatusOK, "nothing to do")
		}, s.once(charge))
		s.wantStatus("first", s.send(keyed("k1")), http.StatusOK, "")
		s.wantStatus("again", s.send(keyed("k1")), http.StatusOK, "")
		s.wantRuns(2)
	}},
	{"a header states the outcome", func(s *suite) {
		s.serve("/orders", func(x Exchange) error {
			x.SetHeader("Interlock-Outcome", "unknown")
			return x.Send(http.StatusOK, "perhaps")
		}, s.once(charge))
		first := s.send(keyed("k1"))
		s.wantStatus("first", first, http.StatusOK, "")
		if first.header.Get("Interlock-Outcome") != "" {
			s.Error("the outcome was sent to the client")
		}
		s.wantStatus("again", s.send(keyed("k1")), http.StatusConflict, interlockhttp.OutcomeUnknown)
		s.wantRuns(1)
	}},
	{"a handler has a fence", func(s *suite) {
		s.serve("/orders", func(x Exchange) error {
			fence, ok := guard.Fence(x.Context())
			return x.Send(http.StatusOK, fmt.Sprint(fence > 0, ok))
		}, s.once(charge))
		if r := s.send(keyed("k1")); r.body != "true true" {
			s.Errorf("got %q", r.body)
		}
	}},
	{"a client that disconnects does not stop the handler", func(s *suite) {
		g := newGate(s)
		ended := make(chan error, 1)
		s.serve("/orders", func(x Exchange) error {
			g.pass()
			ended <- x.Context().Err()
			return x.Send(http.StatusOK, "done")
		}, s.once(charge))
		ctx, cancel := context.WithCancel(context.Background())
		c := keyed("k1")
		c.ctx = ctx
		first := s.start(c)
		receive(s, g.entered, "the first request")
		cancel()
		if r := first(); r.err == nil {
			s.Fatal("the first request was not aborted")
		}
		s.wantStatus("while it runs", s.send(keyed("k1")), http.StatusConflict, interlockhttp.InProgress)
		g.release()
		if err := receive(s, ended, "the end of the handler"); err != nil {
			s.Errorf("the handler's context: %v", err)
		}
		for { // until the response is stored
			r := s.send(keyed("k1"))
			if r.status == http.StatusConflict && strings.Contains(r.body, string(interlockhttp.InProgress)) {
				continue
			}
			if r.status != http.StatusOK || r.body != "done" {
				s.Errorf("the repeat: got %d %q", r.status, r.body)
			}
			break
		}
		s.wantRuns(1)
	}},
}
