package interlockhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// kept is the default policy, which keeps responses.
var kept = guard.Policy{}

func TestOnce(t *testing.T) {
	t.Run("a repeat gets the first response", func(t *testing.T) {
		s := open(t, kept, nil)
		first := s.post("k-1", "two shoes").is(201, "order 1 of two shoes")
		s.post("k-1", "two shoes").replays(first)
		s.post("k-2", "two shoes").is(201, "order 2 of two shoes")
		s.ran(2)
	})
	t.Run("the same key of another user is another key", func(t *testing.T) {
		s := open(t, kept, nil)
		s.post("k-1", "x").is(201, "order 1 of x")
		s.post("k-1", "x", as("bob")).is(201, "order 2 of x")
	})
	t.Run("a key reused for another request is refused", func(t *testing.T) {
		s := open(t, kept, nil)
		s.post("k-1", "x")
		p := s.post("k-1", "y").problem(422, interlockhttp.KeyReused)
		if p.Retryable {
			t.Error("the problem is retryable")
		}
		s.ran(1)
	})
	t.Run("P8 the same handler works with and without a guard", func(t *testing.T) {
		s := open(t, kept, nil)
		bare, guarded := httptest.NewRecorder(), httptest.NewRecorder()
		s.handler(bare, s.request("k-1", "x"))
		s.runs.Store(0)
		s.mux.ServeHTTP(guarded, s.request("k-1", "x"))
		if bare.Code != guarded.Code || bare.Body.String() != guarded.Body.String() || bare.Header().Get("Location") != guarded.Header().Get("Location") {
			t.Errorf("with the guard the response is %d %s, want %d %s", guarded.Code, guarded.Body, bare.Code, bare.Body)
		}
	})
	t.Run("other methods pass", func(t *testing.T) {
		s := open(t, kept, nil)
		for i := range 2 {
			s.post("k-1", "", func(r *http.Request) { r.Method = http.MethodPut }).is(201, fmt.Sprintf("order %d of ", i+1))
		}
		s.post("k-1", "x", with("X-HTTP-Method-Override", "GET")).is(201, "order 3 of x")
		s.post("k-1", "x", with("X-HTTP-Method-Override", "GET")).replays(response{t: t, status: 201, body: "order 3 of x", header: http.Header{"Location": {"/orders/3"}}})
	})
	t.Run("other methods are guarded if Methods names them", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.Methods(http.MethodPut))
		put := func(r *http.Request) { r.Method = http.MethodPut }
		first := s.post("k-1", "x", put)
		s.post("k-1", "x", put).replays(first)
	})
	t.Run("a request without a key is refused", func(t *testing.T) {
		s := open(t, kept, nil)
		s.post("", "x", without("Idempotency-Key")).problem(400, interlockhttp.KeyMissing)
		s.ran(0)
	})
	t.Run("with Optional a request without a key passes", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.Optional())
		s.post("", "x", without("Idempotency-Key")).is(201, "order 1 of x")
		s.post("", "x", without("Idempotency-Key")).is(201, "order 2 of x")
		first := s.post("k-1", "x")
		s.post("k-1", "x").replays(first)
	})
	t.Run("a request without a user is refused", func(t *testing.T) {
		s := open(t, kept, nil)
		s.post("k-1", "x", without("X-User")).problem(401, interlockhttp.UserMissing)
		s.ran(0)
	})
	t.Run("a 4xx frees the key", func(t *testing.T) {
		s := open(t, kept, func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); string(body) == "bad" {
				http.Error(w, "no", http.StatusBadRequest)
			}
		})
		if a := s.post("k-1", "bad").is(400, "no\n"); a.header.Get("Idempotency-Stored") != "false" {
			t.Errorf("the header is %v, want Idempotency-Stored: false", a.header)
		}
		s.post("k-1", "good").is(200, "")
	})
	t.Run("a 4xx is kept with OnError Keep, unless it is about the sender", func(t *testing.T) {
		s := open(t, guard.Policy{OnError: guard.Keep}, nil)
		for _, c := range []struct {
			status int
			kept   bool
		}{{400, true}, {402, true}, {404, true}, {409, true}, {422, true}, {401, false}, {403, false}, {408, false}, {421, false}, {423, false}, {425, false}, {429, false}, {407, false}} {
			s.handler = func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, s.runs.Add(1))
			}
			h := s.once.Wrap(s.handler)
			first, again := httptest.NewRecorder(), httptest.NewRecorder()
			key := fmt.Sprint("k-", c.status)
			h.ServeHTTP(first, s.request(key, "x"))
			h.ServeHTTP(again, s.request(key, "x"))
			if got := again.Header().Get("Idempotent-Replayed") == "true"; got != c.kept || again.Code != c.status {
				t.Errorf("a response with %d was kept: %v, want %v", c.status, got, c.kept)
			}
		}
	})
	t.Run("a panic and a 502 leave the outcome unknown", func(t *testing.T) {
		for _, handler := range []http.HandlerFunc{
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		} {
			s := open(t, kept, handler)
			func() {
				defer func() { _ = recover() }()
				s.serve("k-1", "x").is(502, "")
			}()
			if p := s.serve("k-1", "x").problem(409, interlockhttp.OutcomeUnknown); p.Retryable || p.FirstSeen.IsZero() {
				t.Errorf("the problem is %+v", p)
			}
		}
	})
	t.Run("Settle overrides the status", func(t *testing.T) {
		var outcome interlockhttp.Outcome
		status := 0
		s := open(t, guard.Policy{OnUnknown: guard.Hold}, nil)
		h := s.once.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !interlockhttp.Settle(r.Context(), outcome) {
				t.Error("Settle found no middleware")
			}
			w.WriteHeader(status)
		}))
		for i, c := range []struct {
			outcome interlockhttp.Outcome
			status  int
			again   int // the status of a repeat
		}{
			{interlockhttp.Kept, 404, 404},
			{interlockhttp.Kept, 500, 500},
			{interlockhttp.Private, 200, 409},
			{interlockhttp.NotExecuted, 503, 503},
			{interlockhttp.Unknown, 200, 409},
		} {
			outcome, status = c.outcome, c.status
			for _, want := range []int{c.status, c.again} {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, s.request(fmt.Sprint("k-", i), "x"))
				if w.Code != want {
					t.Errorf("with the outcome %d and the status %d, the response is %d, want %d", c.outcome, c.status, w.Code, want)
				}
			}
		}
		if interlockhttp.Settle(context.Background(), interlockhttp.Kept) {
			t.Error("Settle worked without a request")
		}
	})
	t.Run("SettleError settles by the error that the handler got", func(t *testing.T) {
		errOwn := errors.New("driver: cut off")
		p := guard.Policy{OnUnknown: guard.Hold, Classify: func(err error) guard.ErrorClass {
			if errors.Is(err, errOwn) {
				return guard.ClassUnknown
			}
			return ""
		}}
		var got error
		s := open(t, p, func(w http.ResponseWriter, r *http.Request) {
			if !interlockhttp.SettleError(r.Context(), got) {
				t.Error("SettleError found no middleware")
			}
			w.WriteHeader(http.StatusBadGateway)
		})
		for i, c := range []struct {
			err   error
			again bool // whether a repeat runs
		}{
			{io.ErrUnexpectedEOF, false},
			{&net.OpError{Op: "dial", Err: errors.New("refused")}, true},
			{errOwn, false},
			{&interlockhttp.GaveUpError{Sent: true, Err: errors.New("no answer")}, false},
			{&interlockhttp.GaveUpError{Err: errors.New("no time left")}, true},
		} {
			got = c.err
			key := fmt.Sprint("k-", i)
			s.serve(key, "x").is(502, "")
			if c.again {
				s.serve(key, "x").is(502, "")
			} else {
				s.serve(key, "x").problem(409, interlockhttp.OutcomeUnknown)
			}
		}
		if interlockhttp.SettleError(context.Background(), io.EOF) {
			t.Error("SettleError worked without a request")
		}
	})
	t.Run("Settle has no effect after the handler returned", func(t *testing.T) {
		contexts := make(chan context.Context, 1)
		s := open(t, kept, func(_ http.ResponseWriter, r *http.Request) { contexts <- r.Context() })
		var late sync.WaitGroup
		late.Go(func() { interlockhttp.Settle(<-contexts, interlockhttp.Unknown) }) // before or after the handler returns
		s.serve("k-1", "x")
		late.Wait()
		s.serve("k-2", "x")
		if interlockhttp.Settle(<-contexts, interlockhttp.Unknown) {
			t.Error("Settle worked after the handler returned")
		}
		if a := s.serve("k-2", "x"); a.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the response is %d with the header %v", a.status, a.header)
		}
	})
	t.Run("a 423 is never kept", func(t *testing.T) {
		status := 423
		s := open(t, guard.Policy{OnError: guard.Keep}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		s.serve("k-1", "x").is(423, "")
		status = 200
		s.serve("k-1", "x").is(200, "")
	})
	t.Run("the server sees the files of a form even if the handler panics", func(t *testing.T) {
		s := open(t, kept, func(_ http.ResponseWriter, r *http.Request) {
			if err := r.ParseMultipartForm(1); err != nil {
				t.Error(err)
			}
			panic("boom")
		})
		r := s.request("k-1", "", uploads("a.png", "PNG"))
		func() {
			defer func() { _ = recover() }() // as a middleware that answers panics with 500
			s.mux.ServeHTTP(httptest.NewRecorder(), r)
		}()
		if r.MultipartForm == nil {
			t.Error("MultipartForm is nil, so the server cannot remove the files")
		}
	})
	t.Run("one middleware applied twice guards a request once", func(t *testing.T) {
		s := open(t, kept, nil)
		h := s.once.Wrap(s.once.Wrap(s.handler))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, s.request("k-1", "x"))
		if w.Code != 201 {
			t.Errorf("the response is %d %s, want 201", w.Code, w.Body)
		}
		s.ran(1)
	})
	t.Run("two middlewares both guard a request", func(t *testing.T) {
		s := open(t, kept, nil)
		outer := interlockhttp.Must(interlockhttp.Once(interlock.New(nil), guard.Policy{Name: "outer"}, interlockhttp.User(signedIn)))
		serve := func(h http.Handler) response {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, s.request("k-1", "x"))
			return read(t, w.Result())
		}
		both := outer.Wrap(s.once.Wrap(s.handler))
		first := serve(both).is(201, "order 1 of x")
		for _, h := range []http.Handler{both, outer.Wrap(s.handler), s.once.Wrap(s.handler)} {
			serve(h).replays(first) // each middleware has stored the response
		}
		s.ran(1)
	})
	t.Run("one middleware applied twice guards once, even with another between", func(t *testing.T) {
		s := open(t, kept, nil)
		otherMiddleware := interlockhttp.Must(interlockhttp.Once(interlock.New(nil), guard.Policy{Name: "other"}, interlockhttp.User(signedIn)))
		w := httptest.NewRecorder()
		s.once.Wrap(otherMiddleware.Wrap(s.once.Wrap(s.handler))).ServeHTTP(w, s.request("k-1", "x"))
		read(t, w.Result()).is(201, "order 1 of x")
		s.ran(1)
	})
	t.Run("an invalid key is not treated as a missing one", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.Optional())
		s.serve("a b", "x").problem(400, interlockhttp.KeyInvalid)
		s.ran(0)
	})
	t.Run("outer middleware sees the matched pattern", func(t *testing.T) {
		s := open(t, kept, nil)
		r := s.request("k-1", "x")
		s.once.Wrap(s.routes("/orders")).ServeHTTP(httptest.NewRecorder(), r)
		if r.Pattern != "/orders" {
			t.Errorf("the pattern of the original request is %q, want /orders", r.Pattern)
		}
	})
}

func TestRunning(t *testing.T) {
	// busy opens a shop whose handler sends to began, and then waits until finish is closed.
	busy := func(t *testing.T, p guard.Policy, opts ...interlockhttp.Option) (s *shop, began, finish chan struct{}) {
		began, finish = make(chan struct{}), make(chan struct{})
		s = open(t, p, nil, opts...)
		inner := s.handler
		s.mux = http.NewServeMux()
		s.mux.Handle("/orders", s.once.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			began <- struct{}{}
			<-finish
			if err := r.Context().Err(); err != nil {
				t.Errorf("the context of the handler has ended: %v", err)
			}
			inner(w, r)
		})))
		return s, began, finish
	}
	t.Run("P4 a duplicate of a running request gets in_progress", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, began, finish := busy(t, kept)
			var first response
			var done sync.WaitGroup
			done.Go(func() { first = s.serve("k-1", "x") })
			<-began
			a := s.serve("k-1", "x")
			p := a.problem(409, interlockhttp.InProgress)
			if !p.Retryable || !p.SameKey || p.RetryAfter < 1000 || a.header.Get("Retry-After") == "" || p.Detail != guard.DefaultMessage()["en"] {
				t.Errorf("the problem is %+v with the header %v", p, a.header)
			}
			s.serve("k-1", "y").problem(422, interlockhttp.KeyReused) // a mismatch is reported before in_progress
			close(finish)
			done.Wait()
			s.serve("k-1", "x").replays(first)
			s.ran(1)
		})
	})
	t.Run("Retry-After is the average latency", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, kept, func(http.ResponseWriter, *http.Request) { time.Sleep(80 * time.Second) })
			s.serve("k-1", "x")
			var done sync.WaitGroup
			done.Go(func() { s.serve("k-2", "x") })
			synctest.Wait()
			if a := s.serve("k-2", "x"); a.status != 409 || a.header.Get("Retry-After") != "10" { // an eighth of 80 seconds
				t.Errorf("the response is %d with Retry-After %q, want 409 with 10", a.status, a.header.Get("Retry-After"))
			}
			done.Wait()
		})
	})
	t.Run("with Wait a duplicate gets the response", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, began, finish := busy(t, guard.Policy{OnDuplicate: guard.Wait, Wait: time.Minute})
			answers := make([]response, 3)
			var done sync.WaitGroup
			for i := range answers {
				done.Go(func() { answers[i] = s.serve("k-1", "x") })
			}
			<-began
			synctest.Wait()
			close(finish)
			done.Wait()
			replayed := 0
			for _, a := range answers {
				if a.status != 201 || a.body != "order 1 of x" {
					t.Errorf("the response is %d %q", a.status, a.body)
				}
				if a.header.Get("Idempotent-Replayed") == "true" {
					replayed++
				}
			}
			if replayed != 2 {
				t.Errorf("%d responses are replays, want 2", replayed)
			}
		})
	})
	t.Run("the number of waiting requests is bounded (security item 14)", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, began, finish := busy(t, guard.Policy{OnDuplicate: guard.Wait, Wait: time.Minute}, interlockhttp.Guarding(guard.MaxWaiting(1, 1)))
			var done sync.WaitGroup
			done.Go(func() { s.serve("k-1", "x") })
			<-began
			done.Go(func() { s.serve("k-1", "x") })
			synctest.Wait()
			if p := s.serve("k-1", "x").problem(429, interlockhttp.TooManyWaiters); !p.Retryable || !p.SameKey {
				t.Errorf("the problem is %+v", p)
			}
			close(finish)
			done.Wait()
			s.ran(1)
		})
	})
	t.Run("the handler continues when its client disconnects, and the response is kept", func(t *testing.T) {
		s, began, finish := busy(t, kept)
		inner, contexts := s.mux, make(chan context.Context, 1)
		s.mux = http.NewServeMux()
		s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			contexts <- r.Context()
			inner.ServeHTTP(w, r)
		})
		ctx, disconnect := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url()+"/orders", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = s.request("k-1", "").Header
		disconnected := make(chan error)
		go func() {
			resp, err := s.server.Client().Do(r)
			if err == nil {
				resp.Body.Close()
			}
			disconnected <- err
		}()
		<-began
		disconnect()
		if err := <-disconnected; !errors.Is(err, context.Canceled) {
			t.Fatalf("the client's request returned %v, want context.Canceled", err)
		}
		<-(<-contexts).Done() // the server has noticed that the client disconnected
		close(finish)
		if err := s.once.Close(t.Context()); err != nil { // Close waits for the handler
			t.Error(err)
		}
		s.ran(1)
		n := 0
		for x, err := range s.once.Guard().List(t.Context(), engine.Done) {
			if n++; err != nil || x.State != engine.Done {
				t.Errorf("the record is %v, error %v; want done", x.State, err)
			}
		}
		if n != 1 {
			t.Errorf("%d responses are kept, want 1", n)
		}
	})
	t.Run("the handler's context ends with MaxHold, not with the request's", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var cause error
			s := open(t, guard.Policy{MaxHold: time.Minute, OnUnknown: guard.Hold}, func(w http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
				cause = context.Cause(r.Context())
			})
			ctx, disconnect := context.WithCancel(context.Background())
			r := s.request("k-1", "x").WithContext(ctx)
			start := time.Now()
			time.AfterFunc(time.Second, disconnect)
			w := httptest.NewRecorder()
			s.mux.ServeHTTP(w, r)
			if !errors.Is(cause, interlock.ErrMaxHold) || time.Since(start) != time.Minute {
				t.Errorf("the handler's context ended after %v with %v, want 1m and ErrMaxHold", time.Since(start), cause)
			}
			if w.Header().Get("Idempotency-Stored") != "false" {
				t.Error("a response after MaxHold is not marked as not stored")
			}
			time.Sleep(guard.DefaultLease) // the rest of the claim expires
			s.serve("k-1", "x").problem(409, interlockhttp.OutcomeUnknown)
		})
	})
	t.Run("a waiting request ends with its own context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, began, finish := busy(t, guard.Policy{OnDuplicate: guard.Wait, Wait: time.Hour})
			var done sync.WaitGroup
			done.Go(func() { s.serve("k-1", "x") })
			<-began
			ctx, disconnect := context.WithCancel(context.Background())
			w := httptest.NewRecorder()
			done.Go(func() { s.mux.ServeHTTP(w, s.request("k-1", "x").WithContext(ctx)) })
			synctest.Wait()
			disconnect()
			synctest.Wait()
			// An outer middleware may have set a deadline, so the client may still be
			// connected. An empty response would be a 200.
			read(t, w.Result()).problem(409, interlockhttp.InProgress)
			close(finish)
			done.Wait()
			s.ran(1)
		})
	})
	t.Run("Close refuses new requests, and waits for running ones", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, began, finish := busy(t, kept)
			var done sync.WaitGroup
			done.Go(func() { s.serve("k-1", "x").is(201, "order 1 of x") })
			<-began
			closed := make(chan error, 1)
			go func() { closed <- s.once.Close(context.Background()) }()
			synctest.Wait()
			if a := s.serve("k-2", "x"); a.header.Get("Retry-After") == "" {
				t.Error("the problem has no Retry-After")
			} else {
				a.problem(503, interlockhttp.Closing)
			}
			select {
			case <-closed:
				t.Error("Close returned while a handler was running")
			default:
			}
			close(finish)
			done.Wait()
			if err := <-closed; err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("a panic leaves the outcome unknown, and is passed on", func(t *testing.T) {
		for _, value := range []any{"boom", http.ErrAbortHandler} {
			s := open(t, guard.Policy{OnUnknown: guard.Hold}, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "half")
				panic(value)
			})
			func() {
				defer func() {
					if p := recover(); p != value {
						t.Errorf("recovered %v, want %v", p, value)
					}
				}()
				w := httptest.NewRecorder()
				defer func() {
					if w.Body.Len() > 0 {
						t.Errorf("a part of the response was sent: %q", w.Body)
					}
				}()
				s.mux.ServeHTTP(w, s.request("k-1", "x"))
			}()
			s.serve("k-1", "x").problem(409, interlockhttp.OutcomeUnknown)
		}
	})
}
