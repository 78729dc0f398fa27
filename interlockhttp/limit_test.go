package interlockhttp_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest"
)

func TestLimit(t *testing.T) {
	order := func(user string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader("{}"))
		if user != "" {
			r.Header.Set("X-User", user)
		}
		return r
	}
	serve := func(h http.Handler, r *http.Request) response {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return read(t, w.Result())
	}
	user := interlockhttp.Header("X-User")
	limit := func(t *testing.T, c *interlock.Client, n int, w interlock.Window, opts ...interlockhttp.Option) func(http.Handler) http.Handler {
		t.Helper()
		wrap, err := interlockhttp.Limit(c, "orders", n, w, user, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return wrap
	}
	created := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })

	t.Run("a request beyond the limit is refused until the window ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { // begins at midnight UTC
			h := limit(t, interlock.New(nil), 2, interlock.PerDay(nil))(created)
			time.Sleep(6 * time.Hour)
			for i, want := range []string{`"orders";r=1;t=64800`, `"orders";r=0;t=64800`} {
				a := serve(h, order("ann-1"))
				if a.status != http.StatusCreated || a.header.Get("RateLimit") != want || a.header.Get("RateLimit-Policy") != `"orders";q=2;w=86400` {
					t.Errorf("response %d is %d with the header %v, want RateLimit %s", i+1, a.status, a.header, want)
				}
			}
			a := serve(h, order("ann-1"))
			p := a.problem(429, interlockhttp.QuotaExceeded)
			if !p.Retryable || a.header.Get("Retry-After") != "64800" || a.header.Get("RateLimit") != `"orders";r=0;t=64800` {
				t.Errorf("the refusal is %+v with the header %v", p, a.header)
			}
			if a := serve(h, order("bob-1")); a.status != http.StatusCreated {
				t.Errorf("another user gets %d, want 201", a.status)
			}
			time.Sleep(18 * time.Hour)
			if a := serve(h, order("ann-1")); a.status != http.StatusCreated {
				t.Errorf("after midnight, the response is %d, want 201", a.status)
			}
		})
	})
	t.Run("a name of any characters makes a valid field", func(t *testing.T) {
		for name, want := range map[string]string{"订单": `"%E8%AE%A2%E5%8D%95"`, `a"b\`: `"a\"b\\"`, "orders 1/2": `"orders 1/2"`} {
			wrap, err := interlockhttp.Limit(interlock.New(nil), name, 2, interlock.PerDay(nil), user)
			if err != nil {
				t.Fatal(err)
			}
			a := serve(wrap(created), order("ann-1"))
			if got, policy := a.header.Get("RateLimit"), a.header.Get("RateLimit-Policy"); !strings.HasPrefix(got, want+";r=1;") || !strings.HasPrefix(policy, want+";q=2;") {
				t.Errorf("with the name %q, the fields are %q and %q, want the name %s", name, got, policy, want)
			}
		}
	})
	t.Run("a request without a key is refused, unless the key is optional", func(t *testing.T) {
		c := interlock.New(nil)
		serve(limit(t, c, 1, interlock.PerDay(nil))(created), order("")).problem(400, interlockhttp.KeyMissing)
		if a := serve(limit(t, c, 1, interlock.PerDay(nil), interlockhttp.Optional())(created), order("")); a.status != http.StatusCreated {
			t.Errorf("the response is %d, want 201", a.status)
		}
	})
	t.Run("a handler that did nothing gives its unit back", func(t *testing.T) {
		outcome := interlockhttp.NotExecuted
		h := limit(t, interlock.New(nil), 1, interlock.PerDay(nil))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !interlockhttp.Settle(r.Context(), outcome) {
				t.Error("Settle found no request")
			}
			w.WriteHeader(http.StatusTeapot)
		}))
		for range 3 {
			if a := serve(h, order("ann-1")); a.status != http.StatusTeapot {
				t.Errorf("the response is %d, want 418", a.status)
			}
		}
		outcome = interlockhttp.Failed
		if a := serve(h, order("ann-1")); a.status != http.StatusTeapot {
			t.Errorf("the response is %d, want 418", a.status)
		}
		serve(h, order("ann-1")).problem(429, interlockhttp.QuotaExceeded)
	})
	t.Run("a handler whose call was not sent gives its unit back", func(t *testing.T) {
		got := guard.NotExecuted(errors.New("no route"))
		h := limit(t, interlock.New(nil), 1, interlock.PerDay(nil))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !interlockhttp.SettleError(r.Context(), got) {
				t.Error("SettleError found no request")
			}
			w.WriteHeader(http.StatusTeapot)
		}))
		for range 2 {
			if a := serve(h, order("ann-1")); a.status != http.StatusTeapot {
				t.Errorf("the response is %d, want 418", a.status)
			}
		}
		got = errors.New("sold out")
		serve(h, order("ann-1"))
		serve(h, order("ann-1")).problem(429, interlockhttp.QuotaExceeded)
	})
	t.Run("a guard does not keep the refusal of an inner limit or lock", func(t *testing.T) {
		c := interlock.New(nil)
		once, err := interlockhttp.Once(c, guard.Policy{Name: "orders", Scope: guard.Global, OnError: guard.Keep})
		if err != nil {
			t.Fatal(err)
		}
		stock, err := interlockhttp.Lock(c, "stock", interlockhttp.Header("X-Stock"))
		if err != nil {
			t.Fatal(err)
		}
		h := once.Wrap(limit(t, c, 1, interlock.PerDay(nil))(stock(created)))
		send := func(user, item string) response {
			r := order(user)
			r.Header.Set("Idempotency-Key", "key-0123456789abcdef")
			if item != "" {
				r.Header.Set("X-Stock", item)
			}
			return serve(h, r)
		}
		if a := send("", ""); a.header.Get("Interlock-Outcome") != "" {
			t.Error("the client gets the header Interlock-Outcome")
		}
		send("", "").problem(400, interlockhttp.KeyMissing)
		send("ann-1", "").problem(400, interlockhttp.KeyMissing)
		if a := send("ann-1", "shoes"); a.status != http.StatusCreated {
			t.Errorf("the corrected request gets %d, want 201", a.status)
		}
	})
	t.Run("a guard keeps the outcome of a handler that did work before an inner limit refused", func(t *testing.T) {
		c := interlock.New(nil)
		once, err := interlockhttp.Once(c, guard.Policy{Name: "batch", Scope: guard.Global})
		if err != nil {
			t.Fatal(err)
		}
		item, ran := limit(t, c, 1, interlock.PerDay(nil))(created), 0
		h := once.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ran++
			for range 2 { // the second one is refused
				item.ServeHTTP(httptest.NewRecorder(), r)
			}
			w.WriteHeader(http.StatusMultiStatus)
		}))
		for range 2 {
			r := order("ann-1")
			r.Header.Set("Idempotency-Key", "key-0123456789abcdef")
			if a := serve(h, r); a.status != http.StatusMultiStatus {
				t.Errorf("the response is %d, want 207", a.status)
			}
		}
		if ran != 1 {
			t.Errorf("the batch ran %d times, want once", ran)
		}
	})
	t.Run("after the handler has returned, its outcome cannot be stated", func(t *testing.T) {
		var request *http.Request
		h := limit(t, interlock.New(nil), 1, interlock.PerDay(nil))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { request = r }))
		serve(h, order("ann-1"))
		if interlockhttp.Settle(request.Context(), interlockhttp.NotExecuted) || interlockhttp.GiveBack(request.Context()) {
			t.Error("Settle or GiveBack reports true")
		}
		serve(h, order("ann-1")).problem(429, interlockhttp.QuotaExceeded)
	})
	t.Run("a handler that did nothing and panics gives its unit back", func(t *testing.T) {
		c := interlock.New(nil)
		h := limit(t, c, 1, interlock.PerDay(nil))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			interlockhttp.GiveBack(r.Context())
			panic(http.ErrAbortHandler) // as a reverse proxy does
		}))
		for range 2 {
			func() {
				defer func() {
					if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // the value of a panic
						t.Errorf("recovered %v, want %v", p, http.ErrAbortHandler)
					}
				}()
				serve(h, order("ann-1"))
			}()
		}
	})
	t.Run("a request that an inner limit or lock refuses gives its unit back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := interlock.New(nil)
			day := limit(t, c, 2, interlock.PerDay(nil))
			hour, err1 := interlockhttp.Limit(c, "hourly", 1, interlock.PerHour(nil), user)
			stock, err2 := interlockhttp.Lock(c, "stock", user, interlockhttp.Locking(interlock.Wait(0)))
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			h := day(stock(hour(created)))
			_, hold, err := c.Mutex("stock:ann-1").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				serve(h, order("ann-1")).problem(423, interlockhttp.Locked)
			}
			_ = hold.Unlock()
			for range 2 {
				if a := serve(h, order("ann-1")); a.status != http.StatusCreated {
					t.Errorf("the response is %d, want 201", a.status)
				}
				for range 3 {
					if a := serve(h, order("ann-1")); a.status != http.StatusTooManyRequests {
						t.Errorf("the response is %d, want 429", a.status)
					}
				}
				time.Sleep(time.Hour)
			}
			serve(h, order("ann-1")).problem(429, interlockhttp.QuotaExceeded)
		})
	})
	t.Run("inside of Once, a replay takes no unit and a refusal is not kept", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := interlock.New(nil)
			once := interlockhttp.Must(interlockhttp.Once(c, guard.Policy{Name: "order"}, interlockhttp.User(func(r *http.Request) string { return r.Header.Get("X-User") })))
			h := once.Wrap(limit(t, c, 1, interlock.PerDay(nil))(created))
			send := func(key string) response {
				r := order("ann-1")
				r.Header.Set("Idempotency-Key", `"`+key+`"`)
				return serve(h, r)
			}
			for range 2 {
				if a := send("key-0001"); a.status != http.StatusCreated {
					t.Errorf("the response is %d, want 201", a.status)
				}
			}
			send("key-0002").problem(429, interlockhttp.QuotaExceeded)
			time.Sleep(24 * time.Hour)
			if a := send("key-0002"); a.status != http.StatusCreated {
				t.Errorf("on the next day, the response is %d, want 201", a.status)
			}
		})
	})
	t.Run("the outcome that a handler states reaches the guard around the limit", func(t *testing.T) {
		c := interlock.New(nil)
		once := interlockhttp.Must(interlockhttp.Once(c, guard.Policy{Name: "order"}, interlockhttp.User(func(r *http.Request) string { return r.Header.Get("X-User") })))
		h := once.Wrap(limit(t, c, 5, interlock.PerDay(nil))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			interlockhttp.Settle(r.Context(), interlockhttp.Unknown)
			w.WriteHeader(http.StatusCreated)
		})))
		r := func() *http.Request {
			r := order("ann-1")
			r.Header.Set("Idempotency-Key", `"key-0001"`)
			return r
		}
		serve(h, r())
		serve(h, r()).problem(409, interlockhttp.OutcomeUnknown)
	})
	t.Run("while the engine is down, requests are refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := interlocktest.New(t)
			w.Fail(interlocktest.Take)
			serve(limit(t, interlock.New(w.Engine()), 1, interlock.PerDay(nil))(created), order("ann-1")).problem(503, interlockhttp.StoreUnavailable)
		})
	})
	t.Run("in shadow mode, refusals are reported and the handler runs", func(t *testing.T) {
		var seen []interlockhttp.Code
		h := limit(t, interlock.New(nil), 1, interlock.Sliding(time.Hour), interlockhttp.Shadow(func(s interlockhttp.Shadowed) { seen = append(seen, s.Problem.Code) }))(created)
		for range 3 {
			if a := serve(h, order("ann-1")); a.status != http.StatusCreated {
				t.Errorf("the response is %d, want 201", a.status)
			}
		}
		if len(seen) != 2 || seen[0] != interlockhttp.QuotaExceeded {
			t.Errorf("the reports are %v, want two of %s", seen, interlockhttp.QuotaExceeded)
		}
	})
	t.Run("mistakes are found at set-up", func(t *testing.T) {
		c := interlock.New(nil)
		for name, err := range map[string]error{
			"no client":      limitError(nil, "orders", 1, interlock.PerDay(nil), user),
			"no name":        limitError(c, "", 1, interlock.PerDay(nil), user),
			"no units":       limitError(c, "orders", 0, interlock.PerDay(nil), user),
			"no window":      limitError(c, "orders", 1, interlock.Window{}, user),
			"no source":      limitError(c, "orders", 1, interlock.PerDay(nil), interlockhttp.Source{}),
			"a guard option": limitError(c, "orders", 1, interlock.PerDay(nil), user, interlockhttp.Tee()),
			"a lock option":  limitError(c, "orders", 1, interlock.PerDay(nil), user, interlockhttp.Locking(interlock.Fair())),
			"LimitWith without a quota function": func() error {
				_, err := interlockhttp.LimitWith("orders", interlock.PerDay(nil), nil, user)
				return err
			}(),
		} {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		if err := limitError(c, "orders", 0, interlock.PerDay(nil), user); !errors.Is(err, interlock.ErrOption) {
			t.Errorf("the error is %v, want %v", err, interlock.ErrOption)
		}
	})
}

func limitError(c *interlock.Client, name string, n int, w interlock.Window, source interlockhttp.Source, opts ...interlockhttp.Option) error {
	_, err := interlockhttp.Limit(c, name, n, w, source, opts...)
	return err
}
