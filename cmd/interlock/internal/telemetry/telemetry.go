// Package telemetry exports the spans of this process by OTLP over HTTP, if the
// environment variables of OpenTelemetry ask for it.
//
// A collector that is slow or unreachable delays no request: spans wait in a bounded queue
// and are dropped when it is full.
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	metrics "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/observe/otel"
)

// flushTimeout bounds how long Shutdown sends the last spans.
const flushTimeout = 5 * time.Second

// Telemetry exports spans, or does nothing. The zero value does nothing.
type Telemetry struct {
	provider *trace.TracerProvider // nil: nothing is exported
}

// Start begins to export spans if the environment has an endpoint. These variables count:
//
//   - OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: where spans are sent;
//   - OTEL_TRACES_EXPORTER: otlp, or none to export nothing;
//   - OTEL_SDK_DISABLED: true to export nothing;
//   - OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: http/protobuf;
//   - OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES: default service.name=interlock;
//   - those that the SDK and its exporter read, such as OTEL_TRACES_SAMPLER and
//     OTEL_EXPORTER_OTLP_HEADERS.
//
// Problems of the exporter are logged, once per minute at most.
func Start(ctx context.Context, version string, log *slog.Logger) (*Telemetry, error) {
	if on, err := enabled(); err != nil || !on {
		return &Telemetry{}, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	// The environment is read last, so that it wins.
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "interlock"), attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("telemetry: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	api.SetErrorHandler(&errorLog{log: log})
	return &Telemetry{trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))}, nil
}

// enabled reports whether spans are exported. It fails for a setting that this program
// does not support. Otherwise operators would learn of it only when a trace is missing.
func enabled() (bool, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	name, endpoint := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); {
	case exporter == "none", exporter == "" && endpoint == "":
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("telemetry: OTEL_TRACES_EXPORTER=%s is not supported: use otlp or none", exporter)
	}
	if name, protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return false, fmt.Errorf("telemetry: %s=%s is not supported: use http/protobuf, by default on port 4318 of the collector", name, protocol)
	}
	if endpoint == "" {
		return true, nil // the exporter has a default
	}
	// The exporter would ignore a mistake and use its default.
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false, fmt.Errorf("telemetry: %s is not an http:// or https:// URL, such as http://localhost:4318", name)
	}
	return true, nil
}

// first returns the first variable that is not empty.
func first(names ...string) (name, value string) {
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// Options returns the options of a client whose locks and guards become spans.
func (t *Telemetry) Options() []interlock.Option {
	if t.provider == nil {
		return nil
	}
	return []interlock.Option{otel.Spans(otel.WithTracerProvider(t.provider)), interlock.WithExemplars(otel.TraceID)}
}

// Handler returns h with a span around each request. It continues the trace of the
// client's traceparent field.
func (t *Telemetry) Handler(h http.Handler) http.Handler {
	if t.provider == nil {
		return h
	}
	return otelhttp.NewHandler(h, "interlock", otelhttp.WithTracerProvider(t.provider), otelhttp.WithMeterProvider(metrics.NewMeterProvider()),
		otelhttp.WithPropagators(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})))
}

// Sending adds the trace of the request's context to a request that is about to be sent.
// Other fields, such as baggage, stay unchanged.
func (t *Telemetry) Sending(r *http.Request) {
	if t.provider != nil {
		propagation.TraceContext{}.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
	}
}

// variable is the environment variable with the trace of a program's caller.
const variable = "TRACEPARENT"

// Continue returns ctx with the trace of the program that started this one.
func (t *Telemetry) Continue(ctx context.Context) context.Context {
	if t.provider == nil {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": os.Getenv(variable)})
}

// Environ returns the variables with which a command continues the trace of ctx.
func (t *Telemetry) Environ(ctx context.Context) []string {
	if t.provider == nil {
		return nil
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if carrier["traceparent"] == "" {
		return nil
	}
	return []string{variable + "=" + carrier["traceparent"]}
}

// Shutdown exports the last spans, for 5 seconds at most.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	return nil
}
