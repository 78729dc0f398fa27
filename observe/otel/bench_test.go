package otel_test

import (
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/observe/otel"
)

// BenchmarkLock measures what spans add to a lock on the embedded engine.
func BenchmarkLock(b *testing.B) {
	never := sdk.NewTracerProvider(sdk.WithSampler(sdk.NeverSample()))
	always := sdk.NewTracerProvider(sdk.WithBatcher(tracetest.NewNoopExporter()))
	for _, c := range []struct {
		name     string
		provider trace.TracerProvider
		request  trace.TracerProvider // of the caller's span; nil: it has none
	}{
		{"without spans", nil, nil},
		{"without an SDK", noop.NewTracerProvider(), nil},
		{"not sampled", never, nil},
		{"in a request that is not sampled", never, never},
		{"sampled", always, nil},
		{"in a request that is sampled", always, always},
	} {
		b.Run(c.name, func(b *testing.B) {
			var opts []interlock.Option
			if c.provider != nil {
				opts = append(opts, otel.Spans(otel.WithTracerProvider(c.provider)))
			}
			m := interlock.New(nil, opts...).Mutex("order:42")
			ctx := b.Context()
			if c.request != nil {
				ctx, _ = c.request.Tracer("test").Start(ctx, "request")
			}
			b.ReportAllocs()
			for b.Loop() {
				_, hold, err := m.Lock(ctx)
				if err != nil {
					b.Fatal(err)
				}
				_ = hold.Unlock()
			}
		})
	}
}
