package otel

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	both "github.com/interlock-go/interlock/internal/trace"
)

// Spans returns an option of a client that makes spans of its locks and guards, those of
// directives and middleware included.
//
// An acquisition becomes a span when its outcome is known, so spans of a storage client
// below it are its siblings. A caller whose own span is not sampled gets no spans. The
// record of a guard keeps the id of the span of its work, if the span is sampled: 55 bytes.
func Spans(opts ...Option) interlock.Option {
	c := newConfig(opts)
	s := &spans{Tracer: c.tracers.Tracer(scope), keys: c.keys}
	return both.Both(interlock.WithTrace(s.locks()), guard.TraceGuards(s.guards()))
}

// spans makes the spans of a client.
type spans struct {
	trace.Tracer
	keys bool // see IncludeKeys
}

// An open is a span that begins with one event and ends with another.
type open struct {
	trace.Span
	key, holder string // of the lock; the span of a guard has no holder
}

// openKey is the context key of an open span. Each Spans has its own, so that two of them
// on one client do not end each other's spans.
type openKey struct{ *spans }

// skips reports whether ctx belongs to a span that is not sampled. Then no spans are made:
// their trace is not exported, and asking a sampler, which would usually refuse them, costs
// time.
func skips(ctx context.Context) bool {
	parent := trace.SpanContextFromContext(ctx)
	return parent.IsValid() && !parent.IsSampled()
}

// begin starts a span that finish ends. Its caller uses the returned context for the work.
func (s *spans) begin(ctx context.Context, name, key, holder string) (context.Context, trace.Span) {
	ctx, span := s.Start(ctx, name)
	if !span.IsRecording() {
		return ctx, span
	}
	return context.WithValue(ctx, openKey{s}, &open{span, key, holder}), span
}

// finish ends the span that the event's context belongs to. It does nothing if ctx has the
// span of another lock: directives also report a lost claim as a lost lock.
func (s *spans) finish(ctx context.Context, key, holder, result string, err error) {
	if ctx == nil {
		return
	}
	o, ok := ctx.Value(openKey{s}).(*open)
	if !ok || o.key != key || o.holder != holder {
		return
	}
	o.SetAttributes(resultKey.String(result))
	s.fail(o.Span, key, err)
	o.End()
}

// fail sets the status of a span, unless err is nil.
func (s *spans) fail(span trace.Span, key string, err error) {
	if err == nil || !span.IsRecording() {
		return
	}
	span.SetStatus(codes.Error, s.text(key, err))
}

// text returns the text of an error, without the key unless keys are included. It never
// has the id of a holder: knowing it is enough to release the lock.
func (s *spans) text(key string, err error) string {
	text := err.Error()
	var busy *interlock.ContendedError
	if errors.As(err, &busy) && busy.Holder != "" {
		text = strings.ReplaceAll(text, busy.Holder, hashed(busy.Holder))
	}
	if !s.keys && key != "" {
		quoted := strconv.Quote(key)
		text = strings.ReplaceAll(text, quoted[1:len(quoted)-1], hashed(key))
		text = strings.ReplaceAll(text, key, hashed(key))
	}
	return strings.ToValidUTF8(text, "�")
}

// valid replaces what is not UTF-8, which the exporters refuse.
func valid(text string) string { return strings.ToValidUTF8(text, "�") }
