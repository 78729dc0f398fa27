package otel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-go/interlock"
)

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

// holding makes the span of the acquisition, and begins that of the hold.
func (s *spans) holding(e interlock.Acquired) context.Context {
	about := lock(e.Name, e.Kind)
	span, start, end := s.past(e.Context, "interlock.acquire", e.Waited, about)
	ctx, hold := s.begin(e.Context, "interlock.hold", e.Key, e.Holder, about...)
	if !span.IsRecording() && !hold.IsRecording() {
		return ctx // a key is not hashed in vain
	}
	key := s.key(e.Key)
	hold.SetAttributes(key, fence(e.Fence))
	span.SetAttributes(key, fence(e.Fence), resultKey.String("acquired"), waited(e.Waited),
		attribute.Int("interlock.tries", e.Tries), attribute.Bool("interlock.handed_over", e.HandedOver))
	if e.Queued > 0 {
		began := end.Add(-e.Queued)
		if began.Before(start) { // this package reads the clock later
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
	var err error
	result := e.Result()
	if result == "timeout" {
		err = e.Err
	}
	s.notAcquired(e.Context, e.Name, e.Kind, e.Key, e.Waited, result, err)
}

func (s *spans) failed(e interlock.Failed) {
	if e.Context == nil {
		return // of a guard, which has reported it as a verdict
	}
	s.notAcquired(e.Context, e.Name, e.Kind, e.Key, e.Waited, "error", e.Err)
}

// notAcquired makes the span of an acquisition without a lock.
func (s *spans) notAcquired(ctx context.Context, name string, kind interlock.Kind, key string, took time.Duration, result string, err error) {
	span, _, end := s.past(ctx, "interlock.acquire", took, lock(name, kind))
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(s.key(key), resultKey.String(result), waited(took))
	s.fail(span, key, err)
	span.End(trace.WithTimestamp(end))
}

// lock returns the attributes of a lock that samplers see.
func lock(name string, kind interlock.Kind) []attribute.KeyValue {
	return []attribute.KeyValue{nameKey.String(valid(name)), kindKey.String(kind.String())}
}

// key returns the key of a lock, or its hash.
func (s *spans) key(key string) attribute.KeyValue {
	if s.keys {
		return plainKey.String(valid(key))
	}
	return keyHashKey.String(hashed(key))
}

func waited(d time.Duration) attribute.KeyValue { return waitKey.Int64(d.Milliseconds()) }

// fence returns the fence as an attribute. Attributes have no unsigned integers, and no
// fence reaches 2^63: it is a count, or a time in nanoseconds since 1970.
func fence(f uint64) attribute.KeyValue { return fenceKey.Int64(int64(f)) } //nolint:gosec // see above
