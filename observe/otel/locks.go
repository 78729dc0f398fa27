package otel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-go/interlock"
)

// acquire is the name of the span of an acquisition.
const acquire = "interlock.acquire"

// locks returns the trace that makes the spans of locks.
func (s *spans) locks() *interlock.Trace {
	return &interlock.Trace{
		Holding:   s.holding,
		Contended: s.contended,
		Failed:    s.failed,
		Released: func(e interlock.Released) {
			result := "released"
			if e.HandedOver {
				result = "handed-over"
			}
			s.finish(e.Context, e.Key, e.Holder, result, nil)
		},
		ReleaseFailed: func(e interlock.ReleaseFailed) { s.finish(e.Context, e.Key, e.Holder, "release-failed", e.Err) },
		Lost:          func(e interlock.Lost) { s.finish(e.Context, e.Key, e.Holder, e.Reason(), e.Err) },
	}
}

// holding makes the span of the acquisition, and begins that of the hold. Without a span of
// the caller, the acquisition is the parent of the hold, so that both are in one trace.
func (s *spans) holding(e interlock.Acquired) context.Context {
	if skips(e.Context) {
		return e.Context
	}
	end := time.Now()
	start := end.Add(-e.Waited)
	inner, span := s.Start(e.Context, acquire, trace.WithTimestamp(start))
	parent := e.Context
	if !trace.SpanContextFromContext(parent).IsValid() {
		if parent = inner; !span.IsRecording() {
			return parent
		}
	}
	ctx, hold := s.begin(parent, "interlock.hold", e.Key, e.Holder)
	if !span.IsRecording() && !hold.IsRecording() {
		return ctx
	}
	about := s.lock(e.Name, e.Kind, e.Key)
	hold.SetAttributes(append(about, fence(e.Fence))...)
	span.SetAttributes(append(about, fence(e.Fence), resultKey.String("acquired"), waited(e.Waited),
		attribute.Int("interlock.tries", e.Tries), attribute.Bool("interlock.handed_over", e.HandedOver))...)
	if e.Queued > 0 {
		began := end.Add(-e.Queued)
		if began.Before(start) {
			began = start
		}
		span.AddEvent("wait.start", trace.WithTimestamp(began))
	}
	span.AddEvent("acquired", trace.WithTimestamp(end))
	span.End(trace.WithTimestamp(end))
	return ctx
}

// contended makes the span of a caller that gave up. Only a wait that was too long has the
// status of an error: TryLock expects a refusal, and a canceled caller has an error of its
// own.
func (s *spans) contended(e interlock.Contended) {
	if skips(e.Context) {
		return
	}
	var err error
	result := e.Result()
	if result == "timeout" {
		err = e.Err
	}
	s.notAcquired(e.Context, s.lock(e.Name, e.Kind, e.Key), e.Key, e.Waited, result, err)
}

func (s *spans) failed(e interlock.Failed) {
	// A failure without a context is that of a guard, which has reported it as a verdict.
	if e.Context == nil || skips(e.Context) {
		return
	}
	s.notAcquired(e.Context, s.lock(e.Name, e.Kind, e.Key), e.Key, e.Waited, "error", e.Err)
}

// notAcquired makes the span of an acquisition without a lock.
func (s *spans) notAcquired(ctx context.Context, about []attribute.KeyValue, key string, took time.Duration, result string, err error) {
	end := time.Now()
	_, span := s.Start(ctx, acquire, trace.WithTimestamp(end.Add(-took)))
	span.SetAttributes(append(about, resultKey.String(result), waited(took))...)
	s.fail(span, key, err)
	span.End(trace.WithTimestamp(end))
}

// lock returns the attributes of a lock.
func (s *spans) lock(name string, kind interlock.Kind, key string) []attribute.KeyValue {
	id := keyHashKey.String(hashed(key))
	if s.keys {
		id = plainKey.String(valid(key))
	}
	return []attribute.KeyValue{nameKey.String(valid(name)), kindKey.String(kind.String()), id}
}

func waited(d time.Duration) attribute.KeyValue { return waitKey.Int64(d.Milliseconds()) }

// fence returns the fence as an attribute. Attributes have no unsigned integers, and no
// fence reaches 2^63: it is a count, or a time in nanoseconds since 1970.
func fence(f uint64) attribute.KeyValue { return fenceKey.Int64(int64(f)) } //nolint:gosec // see above
