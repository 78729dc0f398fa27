package guard

import (
	"log/slog"
	"time"

	"github.com/interlock-go/interlock/internal/trace"
)

// Log returns a [Trace] that logs every call and every claim. Keys are hashed, as
// the engine stores them.
//
// Normal operation is logged at debug level; events that need an operator are logged
// as warnings or errors.
func Log(logger *slog.Logger) *Trace {
	degraded := new(trace.Sample)
	return &Trace{
		Checked: func(e Checked) { logChecked(logger, degraded, e) },
		Settled: func(e Settled) { logSettled(logger, e) },
		Renewed: func(e Renewed) {
			if e.Err != nil {
				logger.Warn("guard: renewal failed, retrying", "guard", e.Guard, "key", e.Key, "err", e.Err)
			}
		},
		Lost: func(e Lost) {
			logger.Error("guard: claim lost", "guard", e.Guard, "key", e.Key, "fence", e.Fence,
				"took", e.Took.Round(time.Millisecond), "err", e.Err)
		},
		Cleaned: func(e Cleaned) {
			logger.Info("guard: cleaned up", "guard", e.Guard, "key", e.Key, "was_granted", e.Found, "err", e.Err)
		},
	}
}

// logChecked logs a call. During an outage, calls that run with less protection than usual
// write one line per second and guard.
func logChecked(logger *slog.Logger, degraded *trace.Sample, e Checked) {
	args := []any{"guard", e.Guard, "key", e.Key, "verdict", e.Verdict, "left", e.Left, "waited", e.Waited, "coalesced", e.Coalesced}
	if e.Verdict == Unguarded || e.Local {
		if skipped, ok := degraded.Allow(e.Guard); ok {
			logger.Warn("guard: checked", append(args, "local", e.Local, "skipped", skipped, "err", e.Err)...)
		}
		return
	}
	switch e.Verdict {
	case Granted:
		logger.Debug("guard: checked", append(args, "fence", e.Fence)...)
	case Replayed:
		logger.Debug("guard: checked", args...)
	case Refused, Mismatch, FailedBefore:
		logger.Info("guard: checked", args...)
	case GaveUp:
		logger.Info("guard: checked", append(args, "err", e.Err)...)
	default:
		logger.Error("guard: checked", append(args, "err", e.Err)...)
	}
}

func logSettled(logger *slog.Logger, e Settled) {
	args := []any{"guard", e.Guard, "key", e.Key, "ending", e.Ending, "fence", e.Fence, "took", e.Took}
	switch e.Ending {
	case Completed, Freed, KeptError:
		logger.Debug("guard: settled", args...)
	case StoredLate:
		logger.Info("guard: settled", args...)
	case LeftUnknown, Tombstoned:
		logger.Warn("guard: settled", append(args, "err", e.Err)...)
	default:
		logger.Error("guard: settled", append(args, "err", e.Err)...)
	}
}
