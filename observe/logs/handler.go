package logs

import (
	"context"
	"hash/maphash"
	"log/slog"
	"slices"

	"github.com/interlock-go/interlock/internal/trace"
)

// A Handler passes lines on to another handler if the level of their component allows it,
// and limits floods. The component of a line is the attribute component that was set with
// [slog.Logger.With], outside of any group.
type Handler struct {
	next      slog.Handler
	levels    *Levels
	level     *slog.LevelVar // of the component
	grouped   bool
	component string // empty: not one of ours
	flood     *flood // nil: all lines are written
}

// An Option changes a [Handler].
type Option func(*Handler)

// PerSecond sets how many similar lines are written per second. Lines are similar if they
// have the same component, level, message, and attributes name, verdict, ending, outcome,
// code, reason and operation. Lines of other packages, and audit entries, are not limited.
// Default: 100.
func PerSecond(n int) Option {
	return func(h *Handler) {
		h.flood = &flood{seed: maphash.MakeSeed(), sample: trace.Sample[uint64]{PerSecond: max(n, 1)}}
	}
}

// Unsampled writes all lines.
func Unsampled() Option { return func(h *Handler) { h.flood = nil } }

// NewHandler returns a handler that passes lines on to next. A line must pass the levels of
// both, so next must accept the lowest level that levels will ever have.
func NewHandler(next slog.Handler, levels *Levels, opts ...Option) *Handler {
	h := &Handler{next: next, levels: levels, level: levels.of("")}
	PerSecond(defaultPerSecond)(h)
	for _, opt := range opts {
		opt(h)
	}
	return h
}

const defaultPerSecond = 100

// Every returns a context for lines that the handler never skips.
func Every(ctx context.Context) context.Context { return context.WithValue(ctx, everyKey{}, true) }

type everyKey struct{}

// Enabled implements [slog.Handler].
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level.Level() && h.next.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if h.flood != nil && h.component != "" && ctx.Value(everyKey{}) == nil {
		skipped, ok := h.flood.sample.Allow(h.flood.key(h.component, &r))
		if !ok {
			return nil
		}
		if skipped > 0 {
			r = r.Clone()
			r.AddAttrs(slog.Int("skipped", skipped))
		}
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	with := *h
	with.next = h.next.WithAttrs(attrs)
	for _, a := range attrs {
		if a.Key == "component" && !h.grouped {
			with.component = h.levels.known(a.Value.Resolve().String())
			with.level = h.levels.of(with.component)
		}
	}
	return &with
}

// WithGroup implements [slog.Handler].
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	with := *h
	with.next, with.grouped = h.next.WithGroup(name), true
	return &with
}

// A flood counts similar lines. Handlers of WithAttrs and WithGroup share it.
type flood struct {
	seed   maphash.Seed
	sample trace.Sample[uint64]
}

// similar are the attributes that similar lines share.
var similar = []string{"name", "verdict", "ending", "outcome", "code", "reason", "operation"}

// key returns a hash of what similar lines share.
func (f *flood) key(component string, r *slog.Record) uint64 {
	var h maphash.Hash
	h.SetSeed(f.seed)
	write := func(s string) {
		_, _ = h.WriteString(s)
		_ = h.WriteByte(0)
	}
	write(component)
	write(r.Message)
	maphash.WriteComparable(&h, r.Level)
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindString && slices.Contains(similar, a.Key) {
			write(a.Key)
			write(a.Value.String())
		}
		return true
	})
	return h.Sum64()
}
