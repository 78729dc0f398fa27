// Package otel reports locks and guards to OpenTelemetry, as spans and metrics.
//
//	client := interlock.New(engine, otel.Spans())
//	stop, err := otel.Metrics(client)
//
// Spans makes four kinds of spans, all of kind INTERNAL:
//
//   - interlock.acquire, from the call to its outcome;
//   - interlock.hold, while a lock is held, with the spans of the work below it;
//   - interlock.execute, while the work of a guard runs;
//   - interlock.replay, for a duplicate that got the outcome of earlier work. It is linked
//     to the interlock.execute of that work, also if another process did it.
//
// Spans have hashes in place of the keys of locks, unless [IncludeKeys] is set. Metrics
// never have keys.
//
// The package uses only the API of OpenTelemetry. Without an SDK it does nothing.
package otel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the tracer and the meter.
const scope = "github.com/interlock-go/interlock/observe/otel"

// The attributes of spans and metrics.
const (
	nameKey    = attribute.Key("interlock.name")      // of the lock or guard
	kindKey    = attribute.Key("interlock.lock.kind") // such as exclusive
	resultKey  = attribute.Key("interlock.result")    // a verdict, an ending, or a reason
	fenceKey   = attribute.Key("interlock.fence")
	waitKey    = attribute.Key("interlock.wait_ms")
	plainKey   = attribute.Key("interlock.key")
	keyHashKey = attribute.Key("interlock.key_hash")
)

// An Option changes [Spans] or [Metrics].
type Option func(*config)

type config struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
	keys    bool // spans have the keys of locks
}

func newConfig(opts []Option) *config {
	c := &config{tracers: api.GetTracerProvider(), meters: api.GetMeterProvider()}
	for _, opt := range opts {
		opt(c)
	}
	return c
}

// WithTracerProvider sets the provider for [Spans]. Default: the global one.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(c *config) { c.tracers = p }
}

// WithMeterProvider sets the provider for [Metrics]. Default: the global one.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(c *config) { c.meters = p }
}

// IncludeKeys adds the keys of locks to spans, as interlock.key. Keys often contain
// identifiers of users and orders. Default: spans have interlock.key_hash. The keys of
// guards are hashed in any case.
func IncludeKeys() Option {
	return func(c *config) { c.keys = true }
}

// TraceID returns the trace id of a sampled span in ctx, and otherwise "". It is for
// exemplars: an id that no trace store has would lead nowhere.
func TraceID(ctx context.Context) string {
	if s := trace.SpanContextFromContext(ctx); s.IsSampled() && s.HasTraceID() {
		return s.TraceID().String()
	}
	return ""
}

// hashed returns the hash that the gateway's log and the admin API show for a key.
func hashed(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}
