package shop_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/shop"
)

// post sends a request and returns its status.
func post(h http.Handler, path, body string) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w.Code
}

// together sends n requests at once and waits for them.
func together(n int, send func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { send(i) })
	}
	all.Wait()
}

// Requirements P10, T14, R1: concurrent requests break every scene; sequential ones do not.
func TestOnlyConcurrentRequestsBreakTheShop(t *testing.T) {
	for _, c := range []struct {
		name   string
		n      int
		send   func(h http.Handler, i int)
		damage func(shop.Damage) int
		want   int
	}{
		{"a double click orders twice", 2, func(h http.Handler, _ int) { post(h, "/orders", `{"cart":"c"}`) },
			func(d shop.Damage) int { return d.DoubleOrders }, 1},
		{"five clicks pay five times", 5, func(h http.Handler, _ int) { post(h, "/payments", `{"order":"o","amount":20}`) },
			func(d shop.Damage) int { return d.DoubleCharges }, 4},
		{"three requests import the same day", 3, func(h http.Handler, _ int) { post(h, "/imports?day=2026-11-15", "") },
			func(d shop.Damage) int { return d.DoubleImports }, 2},
		{"a phone number is registered ten times", 10, func(h http.Handler, _ int) { post(h, "/users", `{"phone":"138"}`) },
			func(d shop.Damage) int { return d.DoubleUsers }, 9},
		{"more is sold than there is", 30, func(h http.Handler, i int) { post(h, "/sale/s", fmt.Sprintf(`{"buyer":"b%d"}`, i)) },
			func(d shop.Damage) int { return d.Oversold }, 20},
		{"stock that was taken is still there", 10, func(h http.Handler, _ int) { post(h, "/stock/s/take", "") },
			func(d shop.Damage) int { return d.StockLost }, 9},
		{"more is paid out than there was", 20, func(h http.Handler, _ int) { post(h, "/accounts/a/deduct", `{"amount":10}`) },
			func(d shop.Damage) int { return d.Overdrawn }, 100},
		{"an order is paid and cancelled", 2, func(h http.Handler, i int) { post(h, "/orders/o/"+[]string{"pay", "cancel"}[i], "") },
			func(d shop.Damage) int { return d.PaidAndCancelled }, 1},
		{"a count sees pieces nowhere", 2, func(h http.Handler, i int) {
			if i == 0 {
				post(h, "/stock/s/move", "")
				return
			}
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/stock/s", nil))
		}, func(d shop.Damage) int { return d.TornCounts }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := shop.New()
				together(c.n, func(i int) {
					if i > 0 {
						time.Sleep(time.Duration(i) * time.Microsecond) // a fixed order of arrival
					}
					c.send(s, i)
				})
				if got := c.damage(s.State().Damage); got != c.want {
					t.Errorf("concurrently: damage %d, want %d", got, c.want)
				}
				theShop := shop.New()
				for i := range c.n {
					c.send(theShop, i)
				}
				if got := theShop.State().Damage; got != (shop.Damage{}) {
					t.Errorf("sequentially: damage %+v, want none", got)
				}
			})
		})
	}
}

// Requirement S6: the test endpoints have the required names and durations.
func TestTheTestEndpoints(t *testing.T) {
	for _, c := range []struct {
		path string
		work time.Duration
		want int // how many of five concurrent requests run
	}{
		{"/lock-release-fast", time.Second, 5}, {"/lock-release-slow", 3 * time.Second, 5}, {"/lock-timeout-test", 3 * time.Second, 5},
		{"/concurrent-test", 3 * shop.Pause, 5}, {"/setnx-test", 3 * shop.Pause, 5},
	} {
		t.Run(c.path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, began := shop.New(), time.Now()
				together(5, func(int) { post(s, c.path, `{"order":"7"}`) })
				if took := time.Since(began); took != c.work {
					t.Errorf("the requests take %v, want %v", took, c.work)
				}
				if got := s.State().Tests[c.path+" 7"]; got != c.want {
					t.Errorf("%d of five concurrent requests ran, want %d", got, c.want)
				}
			})
		})
	}
	t.Run("the naive check detects a later duplicate", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := shop.New()
			if first, second := post(s, "/setnx-test", `{"order":"7"}`), post(s, "/setnx-test", `{"order":"7"}`); first != 200 || second != 429 {
				t.Errorf("got %d and %d, want 200 and 429", first, second)
			}
		})
	})
}

func TestStateAndReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shop.New()
		together(2, func(int) { post(s, "/orders", `{"cart":"c"}`) })
		state := func() (got shop.State) {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/state", nil))
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := state(); got.Carts["c"] != 2 || got.Damage.DoubleOrders != 1 {
			t.Errorf("after two orders of a cart the state is %+v, want 2 orders and 1 double order", got)
		}
		post(s, "/reset", "")
		if got := state(); len(got.Carts) != 0 || got.Damage != (shop.Damage{}) {
			t.Errorf("after a reset the state is %+v, want an empty one", got)
		}
		if got := post(s, "/orders", "{"); got != http.StatusBadRequest {
			t.Errorf("an incomplete object: %d, want 400", got)
		}
	})
}

func TestTheStateIsBounded(t *testing.T) {
	s := shop.New()
	h := func(i int) { post(s, "/stock/"+fmt.Sprint(i)+"/move", "") }
	synctest.Test(t, func(*testing.T) {
		together(21_000, h)
	})
	if n := len(s.State().Stock); n > 20_001 {
		t.Errorf("the state has %d articles, want at most 20001", n)
	}
}
