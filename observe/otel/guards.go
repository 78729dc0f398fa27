package otel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-go/interlock/guard"
)

// guards returns the trace that makes the spans of guards.
func (s *spans) guards() *guard.Trace {
	return &guard.Trace{
		Checked:   s.checked,
		Executing: s.executing,
		Settled:   s.settled,
		Lost:      func(e guard.Lost) { s.finish(e.Context, e.Key, "", "lost", e.Err) },
	}
}

// executing begins the span of the work. The record keeps the span's id, if the span is
// sampled.
func (s *spans) executing(e guard.Executing) (context.Context, string) {
	if skips(e.Context) {
		return e.Context, ""
	}
	ctx, span := s.begin(e.Context, "interlock.execute", e.Key, "")
	if !span.IsRecording() {
		return ctx, "" // the context may have a span of the caller, which is not this execution
	}
	span.SetAttributes(nameKey.String(valid(e.Guard)), keyHashKey.String(e.Key), fence(e.Fence))
	return ctx, originOf(ctx)
}

// settled ends the span of the work.
func (s *spans) settled(e guard.Settled) {
	result, err := string(e.Ending), e.Err
	switch {
	case e.Ending == guard.LeftUnknown && err == nil:
		err = errUnknown
	case e.Ending == guard.Late:
		result = "lost" // as in Lost, which another goroutine reports
	}
	s.finish(e.Context, e.Key, "", result, err)
}

var errUnknown = errors.New("the outcome of the work is unknown")

// checked makes the span of a duplicate that got an earlier outcome. Granted work has the
// span interlock.execute. Any other verdict, such as a refusal or unguarded work, becomes an
// event of the caller's span.
func (s *spans) checked(e guard.Checked) {
	if e.Verdict == guard.Granted || skips(e.Context) {
		return
	}
	about := []attribute.KeyValue{nameKey.String(valid(e.Guard)), keyHashKey.String(e.Key), resultKey.String(string(e.Verdict)), waited(e.Waited)}
	if e.Verdict != guard.Replayed && e.Verdict != guard.FailedBefore {
		trace.SpanFromContext(e.Context).AddEvent("interlock.check", trace.WithAttributes(about...))
		return
	}
	end := time.Now()
	_, span := s.Start(e.Context, "interlock.replay", trace.WithTimestamp(end.Add(-e.Waited)), trace.WithAttributes(about...),
		trace.WithAttributes(attribute.Bool("interlock.coalesced", e.Coalesced)))
	if origin := parseOrigin(e.Origin); origin.IsValid() {
		span.AddLink(trace.Link{SpanContext: origin})
	}
	if e.Verdict == guard.FailedBefore {
		span.SetStatus(codes.Error, "an earlier call failed")
	}
	span.End(trace.WithTimestamp(end))
}

// field is the name of the field with the id of a span, in HTTP and in the propagator.
const field = "traceparent"

// originOf returns the id of the span in ctx, in the format of a traceparent field, or "" if it is
// not sampled.
func originOf(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[field]
}

// parseOrigin returns the span that a record names. It is invalid if the record was stored
// without a span, or by another program.
func parseOrigin(origin string) trace.SpanContext {
	if origin == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{field: origin})
	return trace.SpanContextFromContext(ctx)
}
