package interlock

import (
	"context"
	"log/slog"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/trace"
)

// Log returns a [Trace] that logs the life of every lock. Keys are logged in plain
// text, holders as 16 hex digits. Routine events have level debug; events that
// an operator should look at have level warn or error. Lines of a disabled level cost
// almost nothing.
//
// Package observe/logs adds levels that can change while the program runs, and the log of
// guards and engines.
func Log(logger *slog.Logger) *Trace {
	l := lockLog{logger, &trace.Sample[string]{PerSecond: 1}}
	return &Trace{
		Waiting:       l.waiting,
		Acquired:      l.acquired,
		Contended:     l.contended,
		Failed:        l.failed,
		Renewed:       l.renewed,
		Released:      l.released,
		ReleaseFailed: l.releaseFailed,
		Lost:          l.lost,
		CleanedUp:     l.cleanedUp,
		Degraded:      l.degraded,
		Warned:        l.warned,
	}
}

// A lockLog writes the lines of Log.
type lockLog struct {
	*slog.Logger
	sample *trace.Sample[string] // of degraded runs, by guard
}

// off reports whether a level is disabled. It comes first, because attributes cost time.
func (l lockLog) off(level slog.Level) bool { return !l.Enabled(context.Background(), level) }

// write logs an event of one lock. Handlers find the values of the caller's context, such
// as a trace id. Some drop lines of a context that is done, so the end of ctx is hidden.
func (l lockLog) write(ctx context.Context, level slog.Level, text, name string, kind Kind, key string, attrs ...slog.Attr) {
	if ctx == nil {
		ctx = context.Background()
	}
	all := append(make([]slog.Attr, 0, len(attrs)+3), slog.String("name", name), slog.String("kind", kind.String()), slog.String("key", key))
	l.LogAttrs(context.WithoutCancel(ctx), level, text, append(all, attrs...)...)
}

func (l lockLog) waiting(e Waiting) {
	if l.off(slog.LevelDebug) {
		return
	}
	l.write(context.Background(), slog.LevelDebug, "lock: waiting", e.Name, e.Kind, e.Key, holder("held_by", e.Holder), slog.Duration("left", e.Left), slog.Int("ahead", e.Ahead))
}

func (l lockLog) acquired(e Acquired) {
	if l.off(slog.LevelDebug) {
		return
	}
	l.write(e.Context, slog.LevelDebug, "lock: acquired", e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Duration("lease", e.Lease),
		slog.Uint64("fence", e.Fence), slog.Duration("waited", e.Waited), slog.Bool("handed_over", e.HandedOver))
}

func (l lockLog) contended(e Contended) {
	if l.off(slog.LevelInfo) {
		return
	}
	l.write(e.Context, slog.LevelInfo, "lock: not acquired", e.Name, e.Kind, e.Key, holder("held_by", e.Holder), slog.Duration("left", e.Left),
		slog.Duration("waited", e.Waited), slog.String("reason", e.Result()))
}

func (l lockLog) failed(e Failed) {
	if l.off(slog.LevelError) {
		return
	}
	l.write(e.Context, slog.LevelError, "lock: engine failed", e.Name, e.Kind, e.Key, slog.Duration("waited", e.Waited), slog.Any("err", e.Err))
}

func (l lockLog) renewed(e Renewed) {
	switch {
	case e.Err != nil && !l.off(slog.LevelWarn):
		l.write(context.Background(), slog.LevelWarn, "lock: renewal failed, retrying", e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Any("err", e.Err))
	case e.Err == nil && !l.off(slog.LevelDebug):
		l.write(context.Background(), slog.LevelDebug, "lock: renewed", e.Name, e.Kind, e.Key, holder("holder", e.Holder))
	}
}

func (l lockLog) released(e Released) {
	if l.off(slog.LevelDebug) {
		return
	}
	l.write(e.Context, slog.LevelDebug, "lock: released", e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Uint64("fence", e.Fence),
		slog.Duration("held", e.Held), slog.Bool("handed_over", e.HandedOver))
}

func (l lockLog) releaseFailed(e ReleaseFailed) {
	if l.off(slog.LevelWarn) {
		return
	}
	l.write(e.Context, slog.LevelWarn, "lock: release failed", e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Duration("held", e.Held), slog.Any("err", e.Err))
}

func (l lockLog) lost(e Lost) {
	if l.off(slog.LevelError) {
		return
	}
	text := "lock: lost"
	if e.AtRelease {
		text = "lock: release refused"
	}
	l.write(e.Context, slog.LevelError, text, e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Uint64("fence", e.Fence),
		slog.Duration("held", e.Held.Round(time.Millisecond)), slog.String("reason", e.Reason()), slog.Any("err", e.Err))
}

func (l lockLog) cleanedUp(e CleanedUp) {
	switch {
	case e.Err != nil && !l.off(slog.LevelWarn):
		l.write(context.Background(), slog.LevelWarn, "lock: clean-up failed, the lease will expire", e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Any("err", e.Err))
	case e.Err == nil && !l.off(slog.LevelInfo):
		l.write(context.Background(), slog.LevelInfo, "lock: cleaned up", e.Name, e.Kind, e.Key, holder("holder", e.Holder), slog.Bool("was_granted", e.Found))
	}
}

// degraded logs one line per second and guard, with the number of lines left out.
func (l lockLog) degraded(e Degraded) {
	if l.off(slog.LevelWarn) {
		return
	}
	skipped, ok := l.sample.Allow(e.Name)
	if !ok {
		return
	}
	text := "guard: engine down, running unguarded"
	if e.Local {
		text = "guard: engine down, guarded by this process alone"
	}
	l.LogAttrs(context.Background(), slog.LevelWarn, text, slog.String("name", e.Name), slog.String("key", e.Key), slog.Any("err", e.Err), slog.Int("skipped", skipped))
}

func (l lockLog) warned(e Warned) { l.Warn("lock: "+e.Problem, "key", e.Key) }

// holder returns an attribute with the hash of a holder id. The id is a secret.
func holder(name, id string) slog.Attr { return slog.String(name, engine.ShortHolder(id)) }
