package metrics_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/gateway/metrics"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/observe/prom"
	"github.com/interlock-go/interlock/rule"
)

// lockRule returns a rule with one lock for all requests to a path.
func lockRule(path, name string) config.Rule {
	key, err := rule.ParseTemplate("all", rule.Pos{Line: 1, Col: 1})
	if err != nil {
		panic(err)
	}
	return config.Rule{Match: config.Match{Path: path}, Key: key, Do: rule.Rule{Verb: rule.Lock, Name: name}, Policy: guard.Policy{Name: name}}
}

// open returns a gateway in front of a service, and its client.
func open(t *testing.T, rules ...config.Rule) (*gateway.Gateway, *interlock.Client, *config.Config) {
	t.Helper()
	service := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(service.Close)
	to, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &config.Config{Upstream: config.Upstream{To: []*url.URL{to}}, Principal: config.Principal{None: true}, Rules: rules}
	client := interlock.New(nil)
	g, err := gateway.New(cfg, gateway.Options{Client: client, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = g.Close(t.Context())
		_ = client.Close(t.Context())
	})
	return g, client, cfg
}

func scrape(t *testing.T, h http.Handler, accept string) (text, kind string) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	h.ServeHTTP(w, r)
	raw, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("the scrape failed with status %d, %v: %s", w.Code, err, raw)
	}
	return string(raw), w.Header().Get("Content-Type")
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the scrape has no line %q", want)
		}
	}
}

func send(g http.Handler, path string) {
	g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
}

func TestRequests(t *testing.T) {
	g, client, cfg := open(t, lockRule("/pay", "pay"), lockRule("/refund", "bad \xff name"))
	h := prom.New(client).Handler(metrics.New(g, nil))
	upstream := cfg.Upstream.To[0].Host
	text, _ := scrape(t, h, "")
	wantLines(t, text,
		`interlock_gateway_requests_total{outcome="ran",rule="pay"} 0`, // visible before the first request
		fmt.Sprintf(`interlock_gateway_upstream_errors_total{error="unreachable",upstream=%q} 0`, upstream))
	for range 3 {
		send(g, "/pay")
	}
	send(g, "/elsewhere")
	text, kind := scrape(t, h, "application/openmetrics-text; version=1.0.0")
	if !strings.HasPrefix(kind, "application/openmetrics-text") || !strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("the content type is %s, want OpenMetrics, with # EOF at the end", kind)
	}
	for _, m := range metrics.Metrics() {
		if !strings.Contains(text, "# TYPE "+strings.TrimSuffix(m.Name, "_total")+" "+m.Type+"\n") {
			t.Errorf("the scrape lacks the %s %s", m.Type, m.Name)
		}
	}
	text, _ = scrape(t, h, "")
	wantLines(t, text,
		`interlock_gateway_requests_total{outcome="unmatched",rule=""} 1`,
		`interlock_gateway_in_flight 0`,
		fmt.Sprintf(`interlock_gateway_upstream_seconds_count{upstream=%q} 4`, upstream),
		`interlock_lock_acquire_total{kind="exclusive",name="pay",result="acquired"} 3`,
		`interlock_config_last_reload_successful 1`)
}

func TestReloads(t *testing.T) {
	g, client, cfg := open(t, lockRule("/pay", "pay"))
	var at time.Time
	ok := false
	h := prom.New(client).Handler(metrics.New(g, func() (time.Time, bool) { return at, ok }))
	send(g, "/pay")
	text, _ := scrape(t, h, "")
	wantLines(t, text, `interlock_config_last_reload_successful 1`) // no reload yet
	at = time.Unix(1_700_000_000, 500_000_000)
	text, _ = scrape(t, h, "")
	wantLines(t, text, `interlock_config_last_reload_successful 0`, `interlock_config_last_reload_timestamp_seconds 1.7000000005e+09`)
	ok = true
	next := *cfg
	next.Rules = []config.Rule{lockRule("/refund", "refund")}
	if err := g.Reload(&next); err != nil {
		t.Fatal(err)
	}
	send(g, "/refund")
	text, _ = scrape(t, h, "")
	for _, name := range []string{"pay", "refund"} {
		if !strings.Contains(text, `interlock_gateway_requests_total{outcome="ran",rule="`+name+`"} 1`) && !strings.Contains(text, `outcome="waited",rule="`+name+`"} 1`) {
			t.Errorf("after the reload, the scrape lacks the request of rule %s", name)
		}
	}
	wantLines(t, text, `interlock_config_last_reload_successful 1`)
}

func TestRegisteringTwiceFails(t *testing.T) {
	g, _, _ := open(t)
	c, registry := metrics.New(g, nil), prometheus.NewRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	if err := registry.Register(c); err == nil {
		t.Error("a second registration succeeded, want an error")
	}
	if _, err := registry.Gather(); err != nil {
		t.Errorf("after a second registration: %v", err)
	}
}

// promtool is Prometheus's own check of names, types and help texts.
func TestPromtool(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed: apt-get install prometheus")
	}
	g, client, _ := open(t, lockRule("/pay", "pay"))
	orders := guard.Must(guard.New[string](client, guard.Policy{Name: "orders"}))
	defer orders.Close(t.Context())
	send(g, "/pay")
	text, _ := scrape(t, prom.New(client).Handler(metrics.New(g, nil)), "")
	var own []string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); strings.HasPrefix(line, "interlock_") || len(words) > 2 && strings.HasPrefix(words[2], "interlock_") {
			own = append(own, line)
		}
	}
	if len(own) < 100 {
		t.Fatalf("the scrape has %d lines of Interlock, want at least 100", len(own))
	}
	check := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	check.Stdin = strings.NewReader(strings.Join(own, ""))
	var out bytes.Buffer
	check.Stdout, check.Stderr = &out, &out
	if err := check.Run(); err != nil || out.Len() > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, &out)
	}
}

func TestTheListOfMetrics(t *testing.T) {
	if names := metrics.Metrics(); len(names) != 6 || !slices.ContainsFunc(names, func(m prom.Metric) bool { return m.Name == "interlock_gateway_in_flight" }) {
		t.Errorf("the list is %v, want 6 families with interlock_gateway_in_flight", names)
	}
}
