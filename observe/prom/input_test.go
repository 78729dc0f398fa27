package prom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/observe/prom"
)

// A remote engine counts as one that is not in this process.
type remote struct{ *memory.Engine }

func (r remote) Capabilities() engine.Capabilities {
	c := r.Engine.Capabilities()
	c.InProcess = false
	return c
}

// gather returns the sum of a counter's series with these labels.
func gather(t *testing.T, g prometheus.Gatherer, name string, labels map[string]string) (sum float64) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	has := func(m *dto.Metric) bool {
		matching := 0
		for _, l := range m.GetLabel() {
			if want, ok := labels[l.GetName()]; ok && want == l.GetValue() {
				matching++
			}
		}
		return matching == len(labels)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if has(m) {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// Requirement T10: at least 90 % of 1,000 duplicates are answered in this process, and the
// series show it.
func TestDuplicatesAreAnsweredInProcess(t *testing.T) {
	const calls = 1000
	client := interlock.New(remote{memory.New()})
	defer client.Close(t.Context())
	registry := prometheus.NewRegistry()
	registry.MustRegister(prom.New(client))
	orders := guard.Must(guard.New[string](client, guard.Policy{Name: "orders", OnDuplicate: guard.Wait}))
	release := make(chan struct{})
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			_, err := orders.Do(t.Context(), guard.Of("ann", "1"), func(context.Context) (string, error) {
				<-release
				return "done", nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for end := time.Now().Add(time.Minute); orders.Stats().Waiting < calls-1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d duplicates wait, want %d", orders.Stats().Waiting, calls-1)
		}
	}
	close(release)
	all.Wait()
	named := map[string]string{"name": "orders"}
	total := gather(t, registry, "interlock_guard_calls_total", named)
	coalesced := gather(t, registry, "interlock_guard_coalesced_total", named)
	claims := gather(t, registry, "interlock_guard_claims_total", named)
	granted := gather(t, registry, "interlock_guard_calls_total", map[string]string{"name": "orders", "verdict": "granted"})
	if total != calls || granted != 1 {
		t.Errorf("%v calls were counted and %v granted, want %d and 1", total, granted, calls)
	}
	if share := coalesced / (total - granted); share < 0.9 {
		t.Errorf("%.1f %% of the duplicates were answered in this process, want 90 %%", 100*share)
	}
	if claims+coalesced < calls || claims > calls/10 {
		t.Errorf("of %d calls, %v were sent to the engine as claims and %v were answered without it; want at most 10 %% sent, and none missing", calls, claims, coalesced)
	}
}

func TestTwoClientsInOneRegistry(t *testing.T) {
	registry := prometheus.NewRegistry()
	for i, name := range []string{"orders", "payments"} {
		client := interlock.New(nil)
		c := prom.New(client)
		labelled := prometheus.WrapRegistererWith(prometheus.Labels{"client": name}, registry)
		labelled.MustRegister(c)
		if err := labelled.Register(c); !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
			t.Errorf("a second registration: got %v, want an AlreadyRegisteredError", err)
		}
		for range i + 1 {
			_ = client.Mutex("k:1").Do(t.Context(), func(context.Context) error { return nil })
		}
	}
	for name, want := range map[string]float64{"orders": 1, "payments": 2} {
		if got := gather(t, registry, "interlock_lock_acquire_total", map[string]string{"client": name}); got != want {
			t.Errorf("client %s: %v locks, want %v", name, got, want)
		}
	}
}

func TestCountersOutliveTheirSources(t *testing.T) {
	client := interlock.New(nil)
	c := prom.New(client)
	orders := guard.Must(guard.New[string](client, guard.Policy{Name: "orders"}))
	_, err := orders.Do(t.Context(), guard.Of("ann", "1"), func(context.Context) (string, error) { return "done", nil })
	if err != nil {
		t.Fatal(err)
	}
	_ = client.With(interlock.WithName("pay")).Mutex("k:1").Do(t.Context(), func(context.Context) error { return nil })
	lines := []string{
		`interlock_guard_calls_total{name="orders",verdict="granted"} 1`,
		`interlock_lock_acquire_total{kind="exclusive",name="pay",result="acquired"} 1`,
	}
	for _, source := range []struct {
		what  string
		close func()
	}{
		{"the guard", func() { _ = orders.Close(t.Context()) }},
		{"the client", func() { _ = client.Close(t.Context()) }},
		{"the collector", c.Close},
		{"the collector, again", c.Close},
	} {
		source.close()
		t.Run("after "+source.what+" was closed", func(t *testing.T) { wantLines(t, scrape(t, c), lines...) })
	}
}

// Equal series would make the whole scrape fail.
func TestInvalidNamesStayDifferent(t *testing.T) {
	client := interlock.New(nil)
	for _, name := range []string{"x\xff", "x\xfe", "x\xff\xfe", "\xe4\xb8", "x\ufffd", `x\xff`, `x\\xff`, `x\\\xff`, `x\`, "支付\n\"\\", ""} {
		if err := client.Mutex("k:1", interlock.WithName(name)).Do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	text := scrape(t, prom.New(client))
	wantLines(t, text, `interlock_lock_held{kind="exclusive",name="x\\xff"} 0`, `interlock_lock_held{kind="exclusive",name="x\\xfe"} 0`,
		`interlock_lock_held{kind="exclusive",name="支付\n\"\\"} 0`)
	if n := strings.Count(text, "interlock_lock_held{"); n != 11 {
		t.Errorf("there are %d series, want 11", n)
	}
}

func TestNamesOfGuardsAreBounded(t *testing.T) {
	client := interlock.New(nil)
	c := prom.New(client)
	for i := range 10_000 {
		g := guard.Must(guard.New[string](client, guard.Policy{Name: fmt.Sprint("name ", i)}))
		_, err := g.Do(t.Context(), guard.Of("ann", fmt.Sprint("secret-key-", i)), func(context.Context) (string, error) { return "done", nil })
		if err != nil {
			t.Fatal(err)
		}
		_ = g.Close(t.Context())
	}
	text := scrape(t, c)
	wantLines(t, text, `interlock_guard_calls_total{name="other",verdict="granted"} 9000`)
	if n := strings.Count(text, "interlock_guard_running{"); n != 1001 {
		t.Errorf("the gauge of running claims has %d series, want 1001", n)
	}
	if strings.Contains(text, "secret-key-") {
		t.Error("the scrape contains an idempotency key")
	}
}
