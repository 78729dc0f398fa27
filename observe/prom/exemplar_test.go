package prom_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/observe/prom"
)

type traceKey struct{}

// TestExemplars checks the exemplars of waits, holds and executions in OpenMetrics, which
// is the only text format with exemplars.
func TestExemplars(t *testing.T) {
	client := interlock.New(nil, interlock.WithName("pay"), interlock.WithExemplars(func(ctx context.Context) string {
		switch id, _ := ctx.Value(traceKey{}).(string); id {
		case "panic":
			panic("no trace")
		default:
			return id
		}
	}))
	orders := guard.Must(guard.New[string](client, guard.Policy{Name: "orders"}))
	work := func(id string) {
		ctx := context.WithValue(t.Context(), traceKey{}, id)
		err := client.Mutex("order:42").Do(ctx, func(context.Context) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		_, err = orders.Do(ctx, guard.Of("ann", "1"+id), func(context.Context) (string, error) { return "", nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	metrics := prom.New(client)
	work("")
	work("panic")
	work(strings.Repeat("x", 200)) // Prometheus would refuse it
	if text := openMetrics(t, metrics); strings.Contains(text, "trace_id") {
		t.Error("a scrape without traces has an exemplar")
	}
	work("4bf92f3577b34da6a3ce929d0e0e4736")
	text := openMetrics(t, metrics)
	for _, family := range []string{
		`interlock_lock_wait_seconds_bucket\{kind="exclusive",name="pay"`, `interlock_lock_hold_seconds_bucket\{kind="exclusive",name="pay"`,
		`interlock_guard_execution_seconds_bucket\{name="orders"`, `interlock_guard_wait_seconds_bucket\{name="orders"`,
	} {
		found := regexp.MustCompile(family + `,le="[^"]+"\} \d+ # \{trace_id="4bf92f3577b34da6a3ce929d0e0e4736"\} \S+ \S+\n`)
		if n := len(found.FindAllString(text, -1)); n != 1 {
			t.Errorf("%s: %d exemplars, want 1", family, n)
		}
	}
}

func openMetrics(t *testing.T, c *prom.Collector) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w := httptest.NewRecorder()
	c.Handler().ServeHTTP(w, r)
	text, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != http.StatusOK || !strings.HasSuffix(string(text), "# EOF\n") {
		t.Fatalf("the scrape failed with status %d, %v: %s", w.Code, err, text)
	}
	return string(text)
}
