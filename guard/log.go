package guard

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/trace"
)

// Log returns a [Trace] that logs every call and every claim. The attribute key is the id
// of the record, as [Records] and the operator's tools show it; the caller's key is hashed
// in it.
//
// Normal operation is logged at debug level; events that need an operator are logged
// as warnings or errors. Lines of a disabled level cost almost nothing.
func Log(logger *slog.Logger) *Trace {
	l := guardLog{logger, &trace.Sample[string]{PerSecond: 1}}
	return &Trace{Checked: l.checked, Settled: l.settled, Renewed: l.renewed, Lost: l.lost, Cleaned: l.cleaned}
}

// A guardLog writes the lines of Log.
type guardLog struct {
	*slog.Logger
	sample *trace.Sample[string] // of degraded runs, by guard
}

// off reports whether a level is disabled. It comes first, because attributes cost time.
func (l guardLog) off(level slog.Level) bool { return !l.Enabled(context.Background(), level) }

// write logs an event of one record. Handlers find the values of the caller's context,
// such as a trace id. Some drop lines of a context that is done, so the end of ctx is
// hidden.
func (l guardLog) write(ctx context.Context, level slog.Level, text, name, key string, attrs ...slog.Attr) {
	if ctx == nil {
		ctx = context.Background()
	}
	all := append(make([]slog.Attr, 0, len(attrs)+2), slog.String("name", name), slog.String("key", recordID(name, key)))
	l.LogAttrs(context.WithoutCancel(ctx), level, text, append(all, attrs...)...)
}

// recordID returns the id of a record: its key without the prefix of the client.
func recordID(name, key string) string {
	hash := strings.LastIndexByte(key, ':')
	if hash < 0 { // the caller's key was refused
		return key
	}
	return interlock.Key(name) + key[hash:]
}

// checkedLevel returns the level of a verdict.
func checkedLevel(e *Checked) slog.Level {
	switch {
	case e.Verdict == Unguarded || e.Local:
		return slog.LevelWarn
	case e.Verdict == Granted, e.Verdict == Replayed:
		return slog.LevelDebug
	case e.Verdict == Refused, e.Verdict == Mismatch, e.Verdict == FailedBefore, e.Verdict == GaveUp:
		return slog.LevelInfo
	}
	return slog.LevelError
}

// checked logs a call. During an outage, calls that run with less protection than usual
// write one line per second and guard.
func (l guardLog) checked(e Checked) {
	level := checkedLevel(&e)
	if l.off(level) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 8), slog.String("verdict", string(e.Verdict)), slog.Duration("left", e.Left), slog.Duration("waited", e.Waited),
		slog.Bool("coalesced", e.Coalesced))
	if level == slog.LevelWarn {
		skipped, ok := l.sample.Allow(e.Guard)
		if !ok {
			return
		}
		attrs = append(attrs, slog.Bool("local", e.Local), slog.Int("skipped", skipped))
	}
	if e.Verdict == Granted {
		attrs = append(attrs, slog.Uint64("fence", e.Fence))
	}
	if e.Err != nil && (level >= slog.LevelWarn || e.Verdict == GaveUp) {
		attrs = append(attrs, slog.Any("err", e.Err))
	}
	l.write(e.Context, level, "guard: checked", e.Guard, e.Key, attrs...)
}

// settledLevel returns the level of an ending.
func settledLevel(e Ending) slog.Level {
	switch e {
	case Completed, Freed, KeptError:
		return slog.LevelDebug
	case StoredLate:
		return slog.LevelInfo
	case LeftUnknown, Tombstoned:
		return slog.LevelWarn
	}
	return slog.LevelError
}

func (l guardLog) settled(e Settled) {
	level := settledLevel(e.Ending)
	if l.off(level) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 4), slog.String("ending", string(e.Ending)), slog.Uint64("fence", e.Fence), slog.Duration("took", e.Took))
	if level >= slog.LevelWarn {
		attrs = append(attrs, slog.Any("err", e.Err))
	}
	l.write(e.Context, level, "guard: settled", e.Guard, e.Key, attrs...)
}

func (l guardLog) renewed(e Renewed) {
	switch {
	case e.Err != nil && !l.off(slog.LevelWarn):
		l.write(context.Background(), slog.LevelWarn, "guard: renewal failed, retrying", e.Guard, e.Key, slog.Any("err", e.Err))
	case e.Err == nil && !l.off(slog.LevelDebug):
		l.write(context.Background(), slog.LevelDebug, "guard: renewed", e.Guard, e.Key)
	}
}

func (l guardLog) lost(e Lost) {
	if l.off(slog.LevelError) {
		return
	}
	l.write(e.Context, slog.LevelError, "guard: claim lost", e.Guard, e.Key, slog.Uint64("fence", e.Fence),
		slog.Duration("took", e.Took.Round(time.Millisecond)), slog.Any("err", e.Err))
}

func (l guardLog) cleaned(e Cleaned) {
	if l.off(slog.LevelInfo) {
		return
	}
	l.write(context.Background(), slog.LevelInfo, "guard: cleaned up", e.Guard, e.Key, slog.Bool("was_granted", e.Found), slog.Any("err", e.Err))
}
