package main_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// Requirement L8: the gateway serves its metrics, also while the engine does not answer.
func TestMetrics(t *testing.T) {
	t.Parallel()
	o, s := startService(t), redistest.Start(t)
	config := file(t, "engine: %[2]s\nlisten: 127.0.0.1:0\nto: %[1]s\nprincipal: none\nadmin: 127.0.0.1:0\n"+serviceRules, o.URL, s.URL())
	g := startGateway(t, "serve", "--config", config, "--metrics", "127.0.0.1:0")
	metrics := g.logged("listening")["metrics"].(string) + "/metrics"
	for range 2 {
		g.post("/orders", orderKey).want(t, 201)
	}
	lines := []string{
		`interlock_gateway_requests_total{outcome="ran",rule="order"} 1`,
		`interlock_gateway_requests_total{outcome="replayed",rule="order"} 1`,
		`interlock_guard_calls_total{name="order",verdict="granted"} 1`,
		`interlock_guard_calls_total{name="order",verdict="replayed"} 1`,
		`interlock_gateway_in_flight 0`,
		`interlock_config_last_reload_successful 1`,
		`interlock_engine_up{node="` + s.Addr() + `"} 1`,
		`go_goroutines `,
	}
	// The gateway counts a request after its response.
	await(t, "the scrape has both requests", func() bool { return strings.Contains(g.get(metrics).text, lines[1]+"\n") })
	await(t, "the scrape has the clock of the server", func() bool {
		return strings.Contains(g.get(metrics).text, `interlock_engine_clock_skew_seconds{node="`+s.Addr()+`"} `)
	})
	text := g.get(metrics).want(t, 200, lines...).text
	if strings.Contains(text, orderKey) {
		t.Error("the scrape contains an idempotency key")
	}
	if got := families(g.get(g.admin+"/metrics").want(t, 200, lines...).text); got != families(text) {
		t.Errorf("the admin API has the metrics\n%s, want those of the listener:\n%s", got, families(text))
	}
	t.Run("the admin API requires its token", func(t *testing.T) {
		r, err := http.Get(g.admin + "/metrics") //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusUnauthorized {
			t.Errorf("without a token: got %d, want 401", r.StatusCode)
		}
	})
	t.Run("the listener serves nothing else", func(t *testing.T) {
		base := strings.TrimSuffix(metrics, "/metrics")
		for _, path := range []string{"/", "/api/v1/locks", "/readyz", "/metrics/x"} {
			g.get(base+path).want(t, 404)
		}
		ask(t, http.MethodPost, metrics, "", "").want(t, 405)
		if a := ask(t, http.MethodHead, metrics, "", "").want(t, 200); a.text != "" {
			t.Errorf("HEAD: the response has the body %q", a.text)
		}
	})
	t.Run("a failed reload shows", func(t *testing.T) {
		good, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		write := func(content []byte, want string) {
			if err := os.WriteFile(config, content, 0o600); err != nil {
				t.Fatal(err)
			}
			await(t, want, func() bool { return strings.Contains(g.get(metrics).text, want+"\n") })
		}
		write(append(good, "nonsense: true\n"...), "interlock_config_last_reload_successful 0")
		write(good, "interlock_config_last_reload_successful 1")
		g.get(metrics).want(t, 200, lines[0])
	})
	t.Run("a scrape is complete while the engine is silent", func(t *testing.T) {
		before := families(g.get(metrics).text)
		s.Stop()
		defer s.Cont()
		after := g.get(metrics).want(t, 200, lines[0], lines[2]).text
		if got := families(after); got != before {
			t.Errorf("the families are\n%s, want\n%s", got, before)
		}
	})
}

func TestMetricsInTheFile(t *testing.T) {
	t.Parallel()
	o := startService(t)
	name := file(t, serviceHead+"metrics: 127.0.0.1:0\n"+serviceRules, o.URL)
	g := startGateway(t, "serve", "--config", name)
	metrics := g.logged("listening")["metrics"].(string) + "/metrics"
	g.get(metrics).want(t, 200, "interlock_gateway_in_flight 0")
	write(t, name, serviceHead+"metrics: 127.0.0.1:1\n"+serviceRules, o.URL)
	await(t, "the reload is refused", func() bool {
		failed := g.logged(reloadFailed)
		return failed != nil && strings.Contains(failed["err"].(string), "metrics cannot change during a reload")
	})
	g.get(metrics).want(t, 200, "interlock_config_last_reload_successful 0")
	t.Run("a flag comes before the file, and an address in use is reported", func(t *testing.T) {
		start(t, nil, "serve", "--config", file(t, serviceHead+"metrics: 127.0.0.1:0\n"+serviceRules, o.URL), "--metrics", strings.TrimPrefix(strings.TrimSuffix(metrics, "/metrics"), "http://")).
			expect(t, 1, "cannot listen on", "metrics")
	})
}

// families returns the names and types of a scrape.
func families(text string) string {
	var names []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "# TYPE interlock_") {
			names = append(names, line)
		}
	}
	return strings.Join(names, "")
}
