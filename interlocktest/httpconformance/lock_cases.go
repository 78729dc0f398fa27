package httpconformance

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/interlockhttp"
)

// lock returns a Lock on the route's id.
func (s *suite) lock(opts ...interlockhttp.Option) func(http.Handler) http.Handler {
	s.Helper()
	wrap, err := interlockhttp.Lock(s.client, "pay", interlockhttp.PathValue("id"), opts...)
	s.check(err)
	return wrap
}

var lockCases = []testCase{
	{"a lock runs one request per path parameter at a time", func(s *suite) {
		var inside, most atomic.Int64
		s.serve("/orders/:id", func(x Exchange) error {
			if now := inside.Add(1); now > most.Load() {
				most.Store(now)
			}
			defer inside.Add(-1)
			return x.Send(http.StatusOK, x.Param("id"))
		}, s.lock(interlockhttp.Locking(interlock.Wait(patience))))
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() { s.wantStatus("a payment", s.send(call{path: "/orders/7"}), http.StatusOK, "7") })
		}
		all.Wait()
		if most.Load() != 1 {
			s.Errorf("%d requests ran at once", most.Load())
		}
		s.wantRuns(30)
	}},
	{"a request that finds the lock held is refused, and others run", func(s *suite) {
		g := newGate(s)
		s.serve("/orders/:id", func(x Exchange) error {
			if x.Param("id") == "7" {
				g.pass()
			}
			return x.Send(http.StatusOK, "paid")
		}, s.lock(interlockhttp.Locking(interlock.Wait(0))))
		first := s.start(call{path: "/orders/7"})
		receive(s, g.entered, "the first payment")
		s.wantStatus("the second", s.send(call{path: "/orders/7"}), http.StatusLocked, interlockhttp.Locked)
		s.wantStatus("another order", s.send(call{path: "/orders/8"}), http.StatusOK, "paid")
		g.release()
		s.wantStatus("the first", first(), http.StatusOK, "paid")
		s.wantRuns(2)
	}},
	{"a lost lock ends the handler's context", func(s *suite) {
		entered, ended := make(chan struct{}), make(chan error, 1)
		s.serve("/orders/:id", func(x Exchange) error {
			close(entered)
			select {
			case <-x.Context().Done():
				ended <- context.Cause(x.Context())
			case <-time.After(patience):
				ended <- nil
			}
			return x.Send(http.StatusOK, "late")
		}, s.lock())
		first := s.start(call{path: "/orders/7"})
		receive(s, entered, "the handler")
		if _, err := s.client.ForceRelease(s.deadline(), interlock.Key("pay", "7")); err != nil {
			s.Fatal(err)
		}
		if err := receive(s, ended, "the end of the context"); err == nil {
			s.Error("the context did not end")
		}
		first()
	}},
	{"a panic releases the lock", func(s *suite) {
		s.serve("/orders/:id", func(x Exchange) error {
			if s.runs.Load() == 1 {
				panic("boom")
			}
			return x.Send(http.StatusOK, "paid")
		}, s.lock(interlockhttp.Locking(interlock.Wait(patience))))
		s.wantStatus("first", s.send(call{path: "/orders/7"}), http.StatusInternalServerError, "")
		s.wantStatus("again", s.send(call{path: "/orders/7"}), http.StatusOK, "paid")
	}},
	{"an error under a lock is answered in the framework's way", func(s *suite) {
		s.serve("/orders/:id", func(Exchange) error { return errStock }, s.lock())
		r := s.send(call{path: "/orders/7"})
		s.wantStatus("the request", r, http.StatusInternalServerError, "")
		if r.header.Get("Interlock-Outcome") != "" {
			s.Error("the outcome was sent to the client")
		}
		s.wantRuns(1)
	}},
	{"middlewares nest", func(s *suite) {
		s.serve("/orders/:id", s.created, s.once(charge), s.limit(1), s.lock())
		c := keyed("k1")
		c.path = "/orders/7"
		first := s.send(c)
		s.wantStatus("first", first, http.StatusCreated, "")
		s.wantReplay(first, s.send(c))
		other := keyed("k2")
		other.path = "/orders/7"
		s.wantStatus("over the limit", s.send(other), http.StatusTooManyRequests, interlockhttp.QuotaExceeded)
		s.wantStatus("over the limit again: it was not kept", s.send(other), http.StatusTooManyRequests, interlockhttp.QuotaExceeded)
		s.wantRuns(1)
	}},
	{"a lock that is refused inside of a guard frees the key", func(s *suite) {
		g := newGate(s)
		s.serve("/orders/:id", func(x Exchange) error { g.pass(); return x.Send(http.StatusOK, "paid") },
			s.once(charge), s.lock(interlockhttp.Locking(interlock.Wait(0))))
		send := func(key string) call { c := keyed(key); c.path = "/orders/7"; return c }
		first := s.start(send("k1"))
		receive(s, g.entered, "the first payment")
		s.wantStatus("the second", s.send(send("k2")), http.StatusLocked, interlockhttp.Locked)
		g.release()
		s.wantStatus("the first", first(), http.StatusOK, "paid")
		s.afterwardsLocked(send("k2"))
		s.wantRuns(2)
	}},
	{"a refusal inside of a guard frees the key, with any status", func(s *suite) {
		g := newGate(s)
		status := interlockhttp.Status(interlockhttp.Locked, http.StatusInternalServerError) // of a handler, it would be kept
		s.serve("/orders/:id", func(x Exchange) error { g.pass(); return x.Send(http.StatusOK, "paid") },
			s.once(charge), s.lock(interlockhttp.Locking(interlock.Wait(0)), s.framework.Problem, status))
		send := func(key string) call { c := keyed(key); c.path = "/orders/7"; return c }
		first := s.start(send("k1"))
		receive(s, g.entered, "the first payment")
		refused := s.send(send("k2"))
		s.wantStatus("the second", refused, http.StatusInternalServerError, interlockhttp.Locked)
		if refused.header.Get("Interlock-Outcome") != "" {
			s.Error("the outcome was sent to the client")
		}
		g.release()
		s.wantStatus("the first", first(), http.StatusOK, "paid")
		for { // until the lock is free
			if r := s.send(send("k2")); r.status != http.StatusInternalServerError || !strings.Contains(r.body, string(interlockhttp.Locked)) || r.header.Get("Idempotent-Replayed") != "" {
				s.wantStatus("the second, afterwards", r, http.StatusOK, "paid")
				break
			}
		}
		s.wantRuns(2)
	}},
}

// afterwardsLocked sends a request until the lock is free.
func (s *suite) afterwardsLocked(c call) {
	s.Helper()
	for {
		if r := s.send(c); r.status != http.StatusLocked {
			s.wantStatus("the second, afterwards", r, http.StatusOK, "paid")
			return
		}
	}
}

// limit returns a Limit of n requests per user and hour.
func (s *suite) limit(n int, opts ...interlockhttp.Option) func(http.Handler) http.Handler {
	s.Helper()
	wrap, err := interlockhttp.Limit(s.client, "orders", n, interlock.Sliding(time.Hour), interlockhttp.Header(FieldUser), opts...)
	s.check(err)
	return wrap
}

var limitCases = []testCase{
	{"a limit refuses further requests", func(s *suite) {
		s.serve("/orders", s.created, s.limit(2))
		for n := range 2 {
			r := s.send(call{})
			s.wantStatus(fmt.Sprint("request ", n), r, http.StatusCreated, "")
			if r.header.Get("RateLimit") == "" || r.header.Get("RateLimit-Policy") == "" {
				s.Errorf("got the header %v", r.header)
			}
		}
		r := s.send(call{})
		s.wantStatus("the third", r, http.StatusTooManyRequests, interlockhttp.QuotaExceeded)
		if r.header.Get("Retry-After") == "" {
			s.Errorf("got the header %v", r.header)
		}
		s.wantStatus("another user", s.send(call{header: []string{FieldUser, "bob"}}), http.StatusCreated, "")
		s.wantRuns(3)
	}},
	{"a refusal in the framework's way says how much is left", func(s *suite) {
		s.serve("/orders", s.created, s.limit(1, s.framework.Problem))
		s.wantStatus("first", s.send(call{}), http.StatusCreated, "")
		r := s.send(call{header: []string{FieldOuter, "outer"}})
		s.wantStatus("second", r, http.StatusTooManyRequests, interlockhttp.QuotaExceeded)
		if r.header.Get("RateLimit") == "" || r.header.Get("RateLimit-Policy") == "" || r.header.Get(FieldOuter) != "outer" {
			s.Errorf("got the header %v", r.header)
		}
	}},
	{"a handler gives its unit back", func(s *suite) {
		s.serve("/orders", func(x Exchange) error {
			if !interlockhttp.GiveBack(x.Context()) {
				s.Error("GiveBack: the context is not the limit's")
			}
			return x.Send(http.StatusOK, "nothing")
		}, s.limit(1))
		for range 3 {
			s.wantStatus("a request", s.send(call{}), http.StatusOK, "")
		}
		s.wantRuns(3)
	}},
}
