package otel_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/observe/otel"
)

// read returns the values by the names of their metrics and by attributes.
func read(t *testing.T, reader sdk.Reader) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					values[m.Name+"{"+p.Attributes.Encoded(attribute.DefaultEncoder())+"}"] = float64(p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					values[m.Name+"{"+p.Attributes.Encoded(attribute.DefaultEncoder())+"}"] = float64(p.Value)
				}
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					values[m.Name+"{"+p.Attributes.Encoded(attribute.DefaultEncoder())+"}"] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					values[m.Name+"{"+p.Attributes.Encoded(attribute.DefaultEncoder())+"}"] = p.Sum
				}
			}
		}
	}
	return values
}

// An observedEngine reports one request, as an engine with servers does.
type observedEngine struct {
	*memory.Engine
	observer func(engine.ServerCall)
}

func (e *observedEngine) Capabilities() engine.Capabilities {
	c := e.Engine.Capabilities()
	c.Observe = func(f func(engine.ServerCall)) func() {
		e.observer = f
		return func() { e.observer = nil }
	}
	return c
}

func TestMetrics(t *testing.T) {
	reader := sdk.NewManualReader()
	server := &observedEngine{Engine: memory.New()}
	client := interlock.New(server, interlock.WithName("pay"))
	stop, err := otel.Metrics(client, otel.WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader))))
	if err != nil {
		t.Fatal(err)
	}
	_, hold, err := client.Mutex("order:42").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, _, _ = client.Mutex("order:42").TryLock(t.Context())
	orders := guard.Must(guard.New[string](client, guard.Policy{Name: "orders"}))
	for range 3 {
		_, _ = orders.Do(t.Context(), guard.Of("ann", "1"), func(context.Context) (string, error) { return "done", nil })
	}
	server.observer(engine.ServerCall{Operation: "acquire", Node: "a:6379", Took: 2e9})
	server.observer(engine.ServerCall{Operation: "acquire", Node: "a:6379", Took: 1e9, Err: engine.ErrUnavailable})
	got := read(t, reader)
	for name, want := range map[string]float64{
		"interlock.lock.acquire{interlock.lock.kind=exclusive,interlock.name=pay,interlock.result=acquired}": 1,
		"interlock.lock.acquire{interlock.lock.kind=exclusive,interlock.name=pay,interlock.result=busy}":     1,
		"interlock.lock.held{interlock.lock.kind=exclusive,interlock.name=pay}":                              1,
		"interlock.lock.wait.count{interlock.lock.kind=exclusive,interlock.name=pay}":                        1,
		"interlock.guard.calls{interlock.name=orders,interlock.verdict=granted}":                             1,
		"interlock.guard.calls{interlock.name=orders,interlock.verdict=replayed}":                            2,
		"interlock.guard.settled{interlock.ending=completed,interlock.name=orders}":                          1,
		"interlock.guard.execution.count{interlock.name=orders}":                                             1,
		"interlock.engine.request{interlock.node=a:6379,interlock.operation=acquire}":                        2,
		"interlock.engine.request{error.type=unavailable,interlock.node=a:6379,interlock.operation=acquire}": 1,
		"interlock.lock.lost{interlock.lock.kind=exclusive,interlock.name=pay,interlock.reason=expired}":     0,
		"interlock.guard.degraded{interlock.mode=local,interlock.name=orders}":                               0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	_ = hold.Unlock()
	stop()
	if server.observer != nil {
		t.Error("the engine is observed after stop")
	}
	for name := range read(t, reader) {
		if name[:len("interlock.lock")] == "interlock.lock" {
			t.Errorf("%s is exported after stop", name)
		}
	}
}
