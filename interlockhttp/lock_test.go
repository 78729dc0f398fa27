package interlockhttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest"
)

func TestLock(t *testing.T) {
	pay := func(id, body string) *http.Request {
		return httptest.NewRequest(http.MethodPost, "/orders/"+id+"/pay", strings.NewReader(body))
	}
	serve := func(h http.Handler, r *http.Request) response {
		mux := http.NewServeMux()
		mux.Handle("POST /orders/{id}/pay", h)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return read(t, w.Result())
	}
	lock := func(t *testing.T, c *interlock.Client, source interlockhttp.Source, opts ...interlockhttp.Option) func(http.Handler) http.Handler {
		t.Helper()
		wrap, err := interlockhttp.Lock(c, "pay", source, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return wrap
	}
	t.Run("requests with the same key run one at a time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			running, most := 0, 0
			h := lock(t, interlock.New(nil), interlockhttp.PathValue("id"))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				running++
				most = max(most, running)
				time.Sleep(time.Second)
				running--
			}))
			start := time.Now()
			var done sync.WaitGroup
			for range 3 {
				done.Go(func() { serve(h, pay("7", "")) })
			}
			done.Wait()
			if took := time.Since(start); most != 1 || took < 3*time.Second {
				t.Errorf("%d requests ran at a time, in %v; want one at a time, in 3s", most, took)
			}
		})
	})
	t.Run("the counters have the middleware's name, unless an option names the lock", func(t *testing.T) {
		for want, opts := range map[string][]interlockhttp.Option{
			"pay": nil, "refund": {interlockhttp.Locking(interlock.WithName("refund"))},
		} {
			c := interlock.New(nil)
			serve(lock(t, c, interlockhttp.PathValue("id"), opts...)(http.NotFoundHandler()), pay("7", ""))
			if all := c.LockStats(); len(all) != 1 || all[0].Name != want || all[0].Acquired != 1 {
				t.Errorf("the counters are %+v, want one lock with the name %s", all, want)
			}
		}
	})
	t.Run("a request that may not wait is refused with 423", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := interlock.New(nil)
			h := lock(t, c, interlockhttp.PathValue("id"), interlockhttp.Locking(interlock.Wait(time.Second)))(http.NotFoundHandler())
			_, hold, err := c.Mutex(interlock.Key("pay", "7")).Lock(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			a := serve(h, pay("7", ""))
			if took := time.Since(start); took != time.Second {
				t.Errorf("the request waited for %v, want 1s", took)
			}
			// Retry-After is the average latency, not the rest of the lease.
			if p := a.problem(423, interlockhttp.Locked); !p.Retryable || p.RetryAfter != 1000 || a.header.Get("Retry-After") != "1" {
				t.Errorf("the problem is %+v with the header %v", p, a.header)
			}
			if a := serve(h, pay("8", "")); a.status != 404 {
				t.Errorf("a request with another key gets %d, want 404", a.status)
			}
			if err := hold.Unlock(); err != nil {
				t.Error(err)
			}
			if a := serve(h, pay("7", "")); a.status != 404 {
				t.Errorf("after the lock was released, a request gets %d, want 404", a.status)
			}
		})
	})
	t.Run("waiting is bounded by default", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := interlock.New(nil)
			h := lock(t, c, interlockhttp.PathValue("id"))(http.NotFoundHandler())
			_, hold, err := c.Mutex(interlock.Key("pay", "7")).Lock(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer hold.Unlock()
			start := time.Now()
			serve(h, pay("7", "")).problem(423, interlockhttp.Locked)
			if took := time.Since(start); took != 10*time.Second {
				t.Errorf("the request waited for %v, want 10s", took)
			}
		})
	})
	t.Run("the handler holds the lock and gets the whole body", func(t *testing.T) {
		c := interlock.New(nil)
		h := lock(t, c, interlockhttp.JSONField("id"))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, _, err := c.Mutex(interlock.Key("pay", "a")).TryLock(r.Context()); err == nil {
				t.Error("the lock is free while the handler runs")
			}
			_, _ = io.Copy(w, r.Body)
		}))
		const text = `{"id": "a", "cents": 100}`
		if a := serve(h, pay("7", text)); a.body != text {
			t.Errorf("the response is %d %q", a.status, a.body)
		}
		serve(h, pay("7", `{}`)).problem(400, interlockhttp.KeyMissing)
	})
	t.Run("a panic releases the lock", func(t *testing.T) {
		c := interlock.New(nil)
		h := lock(t, c, interlockhttp.PathValue("id"))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }))
		func() {
			defer func() { _ = recover() }()
			serve(h, pay("7", ""))
		}()
		if _, _, err := c.Mutex(interlock.Key("pay", "7")).TryLock(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("a closed client is reported as closing", func(t *testing.T) {
		c := interlock.New(nil)
		h := lock(t, c, interlockhttp.PathValue("id"))(http.NotFoundHandler())
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		serve(h, pay("7", "")).problem(503, interlockhttp.Closing)
	})
	t.Run("a request whose context ends is refused, not answered with an empty 200", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := interlock.New(nil)
			h := lock(t, c, interlockhttp.PathValue("id"))(http.NotFoundHandler())
			_, hold, err := c.Mutex(interlock.Key("pay", "7")).Lock(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer hold.Unlock()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			serve(h, pay("7", "").WithContext(ctx)).problem(423, interlockhttp.Locked)
		})
	})
	t.Run("with MaxBody a slow body is read before the lock is acquired", func(t *testing.T) {
		for name, opt := range map[string]interlockhttp.Option{"in bytes": interlockhttp.MaxBody(10), "in time": interlockhttp.BodyTimeout(time.Minute)} {
			c := interlock.New(nil)
			h := lock(t, c, interlockhttp.PathValue("id"), opt)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
			r := pay("7", "text")
			text := r.Body
			r.Body = io.NopCloser(readerFunc(func(p []byte) (int, error) {
				_, hold, err := c.Mutex(interlock.Key("pay", "7")).TryLock(t.Context())
				if err != nil {
					t.Errorf("%s: the lock is held while the body is read: %v", name, err)
					return 0, err
				}
				_ = hold.Unlock()
				return text.Read(p)
			}))
			if a := serve(h, r); a.body != "text" {
				t.Errorf("%s: the response is %d %q, want the body of the request", name, a.status, a.body)
			}
		}
		h := lock(t, interlock.New(nil), interlockhttp.PathValue("id"), interlockhttp.MaxBody(10))(http.NotFoundHandler())
		serve(h, pay("7", "more than ten bytes")).problem(413, interlockhttp.BodyTooLarge)
	})
	t.Run("Retry-After is the average latency, or the end of the lease", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			long := time.Duration(0)
			h := lock(t, interlock.New(nil), interlockhttp.PathValue("id"), interlockhttp.Locking(interlock.Wait(0)))(
				http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(long) }))
			for _, c := range []struct {
				takes      time.Duration
				retryAfter string // the average of the requests before, in which the last one counts an eighth
			}{{80 * time.Second, "1"}, {80 * time.Second, "10"}, {80 * time.Second, "19"}, {time.Hour, "27"}, {2 * time.Second, "30"}} {
				long = c.takes
				var done sync.WaitGroup
				done.Go(func() { serve(h, pay("7", "")) })
				synctest.Wait()
				if a := serve(h, pay("7", "")); a.status != 423 || a.header.Get("Retry-After") != c.retryAfter {
					t.Errorf("the response is %d with Retry-After %s, want 423 with %s", a.status, a.header.Get("Retry-After"), c.retryAfter)
				}
				done.Wait()
			}
		})
	})
	t.Run("a lost lock cancels the handler's context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			world := interlocktest.New(t)
			h := lock(t, world.Client(), interlockhttp.PathValue("id"))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				world.Forget()
				select {
				case <-r.Context().Done():
				case <-time.After(time.Hour):
					t.Error("the handler's context did not end after the lock was lost")
				}
			}))
			serve(h, pay("7", ""))
		})
	})
	t.Run("making the middleware acquires no lock", func(t *testing.T) {
		c := interlock.New(nil)
		lock(t, c, interlockhttp.PathValue("id"))
		if _, _, err := c.Mutex(interlock.Key("pay", "id")).TryLock(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("with Methods, other methods pass", func(t *testing.T) {
		c := interlock.New(nil)
		h := lock(t, c, interlockhttp.PathValue("id"), interlockhttp.Methods(http.MethodPut), interlockhttp.Locking(interlock.Wait(0)))(http.NotFoundHandler())
		if _, _, err := c.Mutex(interlock.Key("pay", "7")).Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a := serve(h, pay("7", "")); a.status != 404 {
			t.Errorf("a POST gets %d, want 404 from the handler", a.status)
		}
	})
	t.Run("with Optional a request without a key passes with its body, and one with an invalid key is refused", func(t *testing.T) {
		h := lock(t, interlock.New(nil), interlockhttp.JSONField("id"), interlockhttp.Optional())(
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
		if a := serve(h, pay("7", `{"n": 1}`)); a.status != 200 || a.body != `{"n": 1}` {
			t.Errorf("the response is %d %q", a.status, a.body)
		}
		serve(h, pay("7", `{"id": 1, "id": 2}`)).problem(400, interlockhttp.KeyInvalid)
	})
	t.Run("the server sees the files of a form and removes them", func(t *testing.T) {
		h := lock(t, interlock.New(nil), interlockhttp.PathValue("id"))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if err := r.ParseMultipartForm(1); err != nil {
				t.Error(err)
			}
		}))
		r := pay("7", "")
		uploads("a.png", "PNG")(r)
		if serve(h, r); r.MultipartForm == nil {
			t.Error("MultipartForm is nil, so the server cannot remove the files")
		}
	})
	t.Run("invalid options are refused", func(t *testing.T) {
		for name, opt := range map[string]interlockhttp.Option{
			"User":                   interlockhttp.User(signedIn),
			"Key":                    interlockhttp.Key(interlockhttp.Header()),
			"MinKey":                 interlockhttp.MinKey(3),
			"Tee":                    interlockhttp.Tee(),
			"WithTokens":             interlockhttp.WithTokens(&guard.Tokens{}, "pay"),
			"Allow":                  interlockhttp.Allow(func(*http.Request, *interlockhttp.Response) bool { return true }),
			"Guarding":               interlockhttp.Guarding(guard.MaxResult(1)),
			"a method in lower case": interlockhttp.Methods("post"),
			"no methods":             interlockhttp.Methods([]string{}...),
			"a negative wait":        interlockhttp.Locking(interlock.Wait(-1)),
			"a negative lease":       interlockhttp.Locking(interlock.Wait(1), interlock.Lease(-1)),
		} {
			if _, err := interlockhttp.Lock(interlock.New(nil), "pay", interlockhttp.PathValue("id"), opt); err == nil {
				t.Errorf("Lock accepts the option %s, want an error", name)
			}
		}
		if _, err := interlockhttp.Lock(interlock.New(nil), "pay", interlockhttp.Source{}); err == nil {
			t.Error("Lock accepts an empty source, want an error")
		}
		if _, err := interlockhttp.Lock(nil, "pay", interlockhttp.PathValue("id")); err == nil {
			t.Error("Lock accepts a nil client, want an error")
		}
		if _, err := interlockhttp.Lock(interlock.New(nil), "", interlockhttp.PathValue("id")); err == nil {
			t.Error("Lock accepts an empty name, want an error")
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
