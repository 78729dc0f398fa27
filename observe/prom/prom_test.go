package prom_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/observe/prom"
)

// scrape returns the lines of the text format.
func scrape(t *testing.T, c *prom.Collector) string {
	t.Helper()
	w := httptest.NewRecorder()
	c.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("the scrape failed with status %d, %v: %s", w.Code, err, text)
	}
	return string(text)
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the scrape has no line %q", want)
		}
	}
}

func TestLocks(t *testing.T) {
	client := interlock.New(nil, interlock.WithName("pay"))
	metrics := prom.New(client)
	_, hold, err := client.Mutex("order:42").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, _, _ = client.Mutex("order:42").TryLock(t.Context())
	wantLines(t, scrape(t, metrics), `interlock_lock_held{kind="exclusive",name="pay"} 1`)
	_ = hold.Unlock()
	_, _, _ = client.RWMutex("stock:7").Read().Lock(t.Context())
	text := scrape(t, metrics)
	wantLines(t, text,
		`interlock_lock_acquire_total{kind="exclusive",name="pay",result="acquired"} 1`,
		`interlock_lock_acquire_total{kind="exclusive",name="pay",result="busy"} 1`,
		`interlock_lock_acquire_total{kind="exclusive",name="pay",result="timeout"} 0`,
		`interlock_lock_release_total{kind="exclusive",name="pay",result="ok"} 1`,
		`interlock_lock_held{kind="exclusive",name="pay"} 0`,
		`interlock_lock_held{kind="read",name="pay"} 1`,
		`interlock_lock_hold_seconds_count{kind="exclusive",name="pay"} 1`,
		`interlock_lock_wait_seconds_bucket{kind="exclusive",name="pay",le="+Inf"} 1`,
	)
	if strings.Contains(text, "order:42") || strings.Contains(text, "stock:7") {
		t.Error("the scrape contains a key")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_ = client.Close(ended) // drops the read lock
	wantLines(t, scrape(t, metrics),
		`interlock_lock_lost_total{kind="read",name="pay",reason="closed"} 1`,
		`interlock_lock_acquire_total{kind="exclusive",name="pay",result="acquired"} 1`)
}

func TestGuards(t *testing.T) {
	client := interlock.New(nil)
	metrics := prom.New(client)
	for range 2 { // a second guard of the name continues the counters
		orders := guard.Must(guard.New[string](client, guard.Policy{Name: "orders"}))
		for range 3 {
			_, err := orders.Do(t.Context(), guard.Of("ann", "1"), func(context.Context) (string, error) { return "done", nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		_ = orders.Close(t.Context())
	}
	wantLines(t, scrape(t, metrics),
		`interlock_guard_calls_total{name="orders",verdict="granted"} 1`,
		`interlock_guard_calls_total{name="orders",verdict="replayed"} 5`,
		`interlock_guard_settled_total{ending="completed",name="orders"} 1`,
		`interlock_guard_execution_seconds_count{name="orders"} 1`,
		`interlock_guard_degraded_total{mode="unguarded",name="orders"} 0`)
}

func TestTokens(t *testing.T) {
	client := interlock.New(nil)
	tokens, err := guard.NewTokens(time.Minute, []byte(strings.Repeat("secret", 6)))
	if err != nil {
		t.Fatal(err)
	}
	tokens.ReportTo(client)
	token := tokens.Issue("ann", "checkout")
	orders := guard.Must(guard.New[string](client, guard.Policy{Name: "orders"}))
	for range 2 {
		key, err := tokens.Redeem(token, "ann", "checkout")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := orders.Do(t.Context(), key, func(context.Context) (string, error) { return "done", nil }); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = tokens.Redeem("forged", "ann", "checkout")
	wantLines(t, scrape(t, prom.New(client)),
		`interlock_token_issued_total{name="checkout"} 1`,
		`interlock_token_redeemed_total{name="checkout",result="ok"} 1`,
		`interlock_token_redeemed_total{name="checkout",result="used"} 1`,
		`interlock_token_redeemed_total{name="checkout",result="expired"} 0`,
		`interlock_token_redeemed_total{name="checkout",result="unknown"} 1`)
}

func TestSeriesAreBounded(t *testing.T) {
	client := interlock.New(nil)
	metrics := prom.New(client)
	for i := range 10_000 {
		_ = client.Mutex(fmt.Sprint("key:", i), interlock.WithName(fmt.Sprint("name ", i))).Do(t.Context(), func(context.Context) error { return nil })
	}
	for i := range 100_000 {
		_ = client.Mutex(fmt.Sprint("key:", i)).Do(t.Context(), func(context.Context) error { return nil })
	}
	text := scrape(t, metrics)
	wantLines(t, text, `interlock_lock_acquire_total{kind="exclusive",name="other",result="acquired"} 9001`,
		`interlock_lock_acquire_total{kind="exclusive",name="",result="acquired"} 100000`)
	if n := strings.Count(text, "interlock_lock_held{"); n > 1001 {
		t.Errorf("the gauge of held locks has %d series, want at most 1001", n)
	}
}

func TestRegistration(t *testing.T) {
	registry := prometheus.NewRegistry()
	orders, payments := prom.New(interlock.New(nil)), prom.New(interlock.New(nil))
	if err := registry.Register(orders); err != nil {
		t.Fatal(err)
	}
	var already prometheus.AlreadyRegisteredError
	if err := registry.Register(orders); !errors.As(err, &already) {
		t.Errorf("a second registration: %v, want %T", err, already)
	}
	labelled := prometheus.WrapRegistererWith(prometheus.Labels{"client": "payments"}, prometheus.NewRegistry())
	if err := labelled.Register(payments); err != nil {
		t.Error(err)
	}
}

func TestMetricsAreWellNamed(t *testing.T) {
	client := interlock.New(nil, interlock.WithName("bad \xff name"))
	_ = client.Mutex("k:1").Do(t.Context(), func(context.Context) error { return nil })
	text := scrape(t, prom.New(client))
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "interlock_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}
