package otel_test

import (
	"context"
	"fmt"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/observe/otel"
)

func Example() {
	ctx := context.Background()
	spans := tracetest.NewInMemoryExporter() // a program uses otlptracehttp
	provider := sdk.NewTracerProvider(sdk.WithSyncer(spans))

	client := interlock.New(nil, otel.Spans(otel.WithTracerProvider(provider)))
	orders := guard.Must(guard.New[string](client, guard.Policy{Name: "orders"}))

	place := func(context.Context) (string, error) { return "placed", nil }
	_, _ = orders.Do(ctx, guard.Of("ann", "cart-7"), place)
	_, _ = orders.Do(ctx, guard.Of("ann", "cart-7"), place) // a duplicate

	all := spans.GetSpans()
	first, duplicate := all[0], all[1]
	fmt.Println(first.Name, "and", duplicate.Name)
	fmt.Println(duplicate.Links[0].SpanContext.SpanID() == first.SpanContext.SpanID())
	// Output:
	// interlock.execute and interlock.replay
	// true
}
