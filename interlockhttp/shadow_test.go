package interlockhttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest"
)

func TestShadow(t *testing.T) {
	var reports []interlockhttp.Shadowed
	shadow := func(t *testing.T, w *interlocktest.World, p guard.Policy, opts ...interlockhttp.Option) *shop {
		reports = nil
		return openOn(t, w.Engine(), p, nil, append(opts, interlockhttp.Shadow(func(s interlockhttp.Shadowed) { reports = append(reports, s) }))...)
	}
	// only checks that there is one report, with that code, and removes it.
	only := func(t *testing.T, code interlockhttp.Code) {
		t.Helper()
		if len(reports) != 1 || reports[0].Problem == nil || reports[0].Problem.Code != code || reports[0].Guard != "orders" || reports[0].Route != "/orders" {
			t.Errorf("the reports are %+v, want the code %s only", reports, code)
		}
		reports = nil
	}
	t.Run("every request runs, and replays and refusals are reported", func(t *testing.T) {
		s := shadow(t, interlocktest.New(t), kept)
		first := s.post("k-1", "x").is(201, "order 1 of x")
		if len(reports) > 0 {
			t.Errorf("the reports about the first request are %+v, want none", reports)
		}
		for _, a := range []response{first, s.post("k-1", "x").is(201, "order 2 of x")} {
			if a.header.Get("Idempotency-Key") != "" || a.header.Get("Idempotency-Expires") != "" {
				t.Errorf("the response shows our header fields: %v", a.header)
			}
		}
		if len(reports) != 1 || reports[0].Replay == nil || string(reports[0].Replay.Body) != "order 1 of x" {
			t.Errorf("the reports are %+v", reports)
		}
		reports = nil
		s.post("k-1", "y").is(201, "order 3 of y")
		only(t, interlockhttp.KeyReused)
		s.post("", "x", without("Idempotency-Key")).is(201, "order 4 of x")
		only(t, interlockhttp.KeyMissing)
		s.post("a b", "x").is(201, "order 5 of x")
		only(t, interlockhttp.KeyInvalid)
		s.post("k-2", "x", without("X-User")).is(201, "order 6 of x")
		only(t, interlockhttp.UserMissing)
	})
	t.Run("a body that would be refused reaches the handler whole", func(t *testing.T) {
		s := shadow(t, interlocktest.New(t), kept, interlockhttp.MaxBody(10))
		s.post("k-1", "more than ten bytes").is(201, "order 1 of more than ten bytes")
		only(t, interlockhttp.BodyTooLarge)
		chunked := func(r *http.Request) { r.ContentLength = -1 }
		s.post("k-2", "more than ten bytes", chunked).is(201, "order 2 of more than ten bytes")
		only(t, interlockhttp.BodyTooLarge)
		long := "more than ten bytes" + strings.Repeat(", and more", 1000) // the middleware reads only the beginning
		s.post("k-3", long, chunked).is(201, "order 3 of "+long)
		only(t, interlockhttp.BodyTooLarge)
	})
	t.Run("an engine that is down delays no request for long", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := interlocktest.New(t)
			s := shadow(t, w, guard.Policy{OnDuplicate: guard.Wait})
			w.Stall()
			start := time.Now()
			s.serve("k-1", "x").is(201, "order 1 of x")
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("the request took %v, want at most 2s", took)
			}
			w.Heal()
		})
	})
	t.Run("a shadowed request does not wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := shadow(t, interlocktest.New(t), guard.Policy{OnDuplicate: guard.Wait})
			h := s.once.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Minute) }))
			var both sync.WaitGroup
			start := time.Now()
			for range 2 {
				both.Go(func() { h.ServeHTTP(httptest.NewRecorder(), s.request("k-1", "x")) })
				synctest.Wait()
			}
			both.Wait()
			if took := time.Since(start); took != time.Minute {
				t.Errorf("two requests took %v, want 1m: neither waits for the other", took)
			}
		})
	})
	t.Run("Settle works, and a request that passes the middleware twice counts once", func(t *testing.T) {
		s := shadow(t, interlocktest.New(t), kept)
		s.mux = http.NewServeMux()
		s.mux.Handle("/orders", s.once.Wrap(s.once.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if !interlockhttp.Settle(r.Context(), interlockhttp.NotExecuted) {
				t.Error("Settle found no middleware")
			}
		}))))
		for range 2 {
			s.serve("k-1", "x").is(200, "")
		}
		if len(reports) > 0 {
			t.Errorf("the reports are %+v", reports)
		}
	})
	t.Run("a panic leaves no running claim", func(t *testing.T) {
		s := shadow(t, interlocktest.New(t), guard.Policy{OnUnknown: guard.Hold})
		h := s.once.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }))
		for range 2 {
			func() {
				defer func() {
					if p := recover(); p != "boom" {
						t.Errorf("recovered %v, want the handler's panic", p)
					}
				}()
				h.ServeHTTP(httptest.NewRecorder(), s.request("k-1", "x"))
			}()
		}
		only(t, interlockhttp.OutcomeUnknown)
	})
	t.Run("requests without a required key, or with an ended context, are not reported", func(t *testing.T) {
		s := shadow(t, interlocktest.New(t), kept, interlockhttp.Optional())
		s.serve("", "x", without("Idempotency-Key")).is(201, "order 1 of x")
		ctx, disconnect := context.WithCancel(t.Context())
		disconnect()
		s.mux.ServeHTTP(httptest.NewRecorder(), s.request("k-1", "x").WithContext(ctx))
		if len(reports) > 0 {
			t.Errorf("the reports are %+v", reports)
		}
		s.ran(2)
	})
	t.Run("the report has the problem that would have been sent", func(t *testing.T) {
		s := shadow(t, interlocktest.New(t), kept, interlockhttp.Status(interlockhttp.KeyMissing, 428), interlockhttp.Docs("https://example.com/errors"))
		s.once.Wrap(s.handler).ServeHTTP(httptest.NewRecorder(), s.request("", "x", without("Idempotency-Key"))) // without a mux, so that the route is the path
		if len(reports) == 1 && (reports[0].Problem.Status != 428 || reports[0].Problem.Docs != "https://example.com/errors" || reports[0].Method != http.MethodPost) {
			t.Errorf("the reported problem is %+v, want the status and docs of the options", reports[0].Problem)
		}
		only(t, interlockhttp.KeyMissing)
	})
	t.Run("the handler's context is the request's own", func(t *testing.T) {
		w := interlocktest.New(t)
		ctx, disconnect := context.WithCancel(t.Context())
		var err error
		s := shadow(t, w, kept)
		h := s.once.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			disconnect()
			err = r.Context().Err()
		}))
		h.ServeHTTP(httptest.NewRecorder(), s.request("k-1", "x").WithContext(ctx))
		if err == nil {
			t.Error("the handler's context did not end with that of the request")
		}
	})
}
