package main_test

import (
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// A receiver is a collector that keeps the spans it gets.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []*otlp.Span
	services map[string]bool // the values of service.name
}

func startReceiver(t *testing.T) *receiver {
	r := &receiver{services: make(map[string]bool)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var batch collector.ExportTraceServiceRequest
		if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(body, &batch) != nil {
			t.Errorf("the collector got %s %s, which is no batch of spans", req.Method, req.URL.Path)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.keep(&batch)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) keep(batch *collector.ExportTraceServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range batch.ResourceSpans {
		for _, a := range rs.Resource.Attributes {
			if a.Key == "service.name" {
				r.services[a.Value.GetStringValue()] = true
			}
		}
		for _, ss := range rs.ScopeSpans {
			r.spans = append(r.spans, ss.Spans...)
		}
	}
}

// one returns the only span of a name.
func (r *receiver) one(t *testing.T, name string) (found *otlp.Span) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, s := range r.spans {
		names = append(names, s.Name)
		if s.Name != name {
			continue
		}
		if found != nil {
			t.Fatalf("the collector got several spans %s", name)
		}
		found = s
	}
	if found == nil {
		t.Fatalf("the collector got %q, want %s", names, name)
	}
	return found
}

// traceparents is a service that keeps the fields of the traces.
type traceparents struct {
	*httptest.Server
	got http.Header // of the last request
}

func startTraced(t *testing.T) *traceparents {
	s := &traceparents{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { s.got = r.Header.Clone() }))
	t.Cleanup(s.Close)
	return s
}

func (g *gateway) stop(t *testing.T) {
	t.Helper()
	g.interrupt(t)
	if code := g.wait(t); code != 0 {
		t.Errorf("the gateway exits with %d, want 0:\n%s", code, &g.stderr)
	}
}

func TestTelemetry(t *testing.T) {
	t.Parallel()
	const (
		traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
		client  = "00-" + traceID + "-00f067aa0ba902b7-01"
		baggage = "tenant=shop%20a;p=1, user=7"
	)
	proxy := func(to string, more ...string) []string {
		return append([]string{"proxy", "--to", to, "--listen", "127.0.0.1:0", "--admin", "off"}, more...)
	}
	post := func(t *testing.T, g *gateway) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/orders?token=secret", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Idempotency-Key": {orderKey}, "Traceparent": {client}, "Baggage": {baggage}, "Content-Type": {"application/json"}}
		resp, err := http.DefaultClient.Do(r)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("the answer is %v, %v; want 200", resp, err)
		}
		resp.Body.Close()
	}
	t.Run("a request arrives at the collector as spans, and the upstream continues its trace", func(t *testing.T) {
		t.Parallel()
		r, s := startReceiver(t), startTraced(t)
		g := startGatewayWith(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL}, proxy(s.URL)...)
		post(t, g)
		g.stop(t) // exports the last spans
		server, work := r.one(t, "POST"), r.one(t, "interlock.execute")
		if got := hex.EncodeToString(server.TraceId); got != traceID || hex.EncodeToString(server.ParentSpanId) != "00f067aa0ba902b7" {
			t.Errorf("the request's span has the trace %s, want the client's", got)
		}
		if string(work.ParentSpanId) != string(server.SpanId) {
			t.Error("interlock.execute is not a child of the request's span")
		}
		if got, want := s.got.Get("Traceparent"), "00-"+traceID+"-"+hex.EncodeToString(work.SpanId)+"-01"; got != want {
			t.Errorf("the upstream got the traceparent %q, want %q", got, want)
		}
		if got := s.got.Get("Baggage"); got != baggage {
			t.Errorf("the upstream got the baggage %q, want %q", got, baggage)
		}
		if !r.services["interlock"] {
			t.Errorf("the services are %v, want interlock", r.services)
		}
		for _, span := range r.spans {
			if text := span.String(); strings.Contains(text, orderKey) || strings.Contains(text, "secret") {
				t.Errorf("a span has the key or the query: %s", text)
			}
		}
	})
	t.Run("an answer of another process is linked to the execution", func(t *testing.T) {
		t.Parallel()
		r, s, redis := startReceiver(t), startTraced(t), redistest.Start(t)
		env := []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + r.URL + "/v1/traces", "OTEL_SERVICE_NAME=orders"}
		for range 2 {
			g := startGatewayWith(t, env, proxy(s.URL, "--engine", redis.URL())...)
			post(t, g)
			g.stop(t)
		}
		work, replay := r.one(t, "interlock.execute"), r.one(t, "interlock.replay")
		if len(replay.Links) != 1 || string(replay.Links[0].SpanId) != string(work.SpanId) || string(replay.Links[0].TraceId) != string(work.TraceId) {
			t.Errorf("interlock.replay has the links %v, want one to the execution", replay.Links)
		}
		if !r.services["orders"] || len(r.services) != 1 {
			t.Errorf("the services are %v, want orders", r.services)
		}
	})
	t.Run("without the variables, or with an exporter of none, nothing is exported and the fields pass unchanged", func(t *testing.T) {
		t.Parallel()
		r, s := startReceiver(t), startTraced(t)
		for _, env := range [][]string{nil,
			{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL, "OTEL_TRACES_EXPORTER=none"},
			{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL, "OTEL_SDK_DISABLED=true"},
		} {
			g := startGatewayWith(t, env, proxy(s.URL)...)
			post(t, g)
			g.stop(t)
			if s.got.Get("Traceparent") != client || s.got.Get("Baggage") != baggage || len(r.spans) != 0 {
				t.Errorf("with %q, the upstream got %v and the collector %d spans", env, s.got, len(r.spans))
			}
		}
	})
	t.Run("a collector that never answers holds up neither requests nor the shutdown", func(t *testing.T) {
		t.Parallel()
		silent, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		s := startTraced(t)
		g := startGatewayWith(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + silent.Addr().String(), "OTEL_EXPORTER_OTLP_TIMEOUT=3600000"}, proxy(s.URL)...)
		post(t, g)
		g.stop(t)
		if g.logged("some spans were not exported") == nil {
			t.Errorf("the log does not say that spans were not exported:\n%s", &g.stderr)
		}
	})
	t.Run("an unreachable collector is logged once per minute", func(t *testing.T) {
		t.Parallel()
		s := startTraced(t)
		g := startGatewayWith(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_BSP_SCHEDULE_DELAY=1"}, proxy(s.URL)...)
		await(t, "the problem is logged", func() bool { post(t, g); return g.logged("OpenTelemetry reported a problem") != nil })
		for range 20 {
			post(t, g)
		}
		g.stop(t)
		if n := strings.Count(g.stderr.String(), `"OpenTelemetry reported a problem"`); n > 2 { // a slow machine may need a second minute
			t.Errorf("%d lines about the collector:\n%s", n, &g.stderr)
		}
	})
	t.Run("a command under exec continues the trace of its caller", func(t *testing.T) {
		t.Parallel()
		r, redis := startReceiver(t), redistest.Start(t)
		run := start(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL, "TRACEPARENT=" + client, "PATH=" + os.Getenv("PATH")},
			"exec", "nightly-report", "--engine", redis.URL(), "--", "sh", "-c", "echo $TRACEPARENT")
		code, hold := run.wait(t), r.one(t, "interlock.hold")
		if got, want := strings.TrimSpace(run.stdout.String()), "00-"+traceID+"-"+hex.EncodeToString(hold.SpanId)+"-01"; code != 0 || got != want {
			t.Errorf("exit code %d, and the command has the trace %q, want %q:\n%s", code, got, want, &run.stderr)
		}
		if r.one(t, "interlock.acquire").TraceId == nil || strings.Contains(hold.String(), "nightly-report") {
			t.Errorf("the spans are %v, want no key", r.spans)
		}
	})
	for _, c := range []struct{ name, variable, want string }{
		{"a protocol that is not supported is an error", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not supported: use http/protobuf"},
		{"an exporter that is not supported is an error", "OTEL_TRACES_EXPORTER=zipkin", "OTEL_TRACES_EXPORTER=zipkin is not supported: use otlp or none"},
		{"an endpoint without a scheme is an error", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=localhost:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not an http:// or https:// URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := start(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", c.variable}, proxy("http://127.0.0.1:1")...)
			if code := run.wait(t); code != 1 || !strings.Contains(run.stderr.String(), c.want) {
				t.Errorf("exit code %d, want 1, and %q:\n%s", code, c.want, &run.stderr)
			}
		})
	}
}
