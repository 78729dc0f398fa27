package guard

import (
	"log/slog"
	"time"
)

// Log returns a [Trace] that logs every call and every claim. Keys are hashed, as
// the engine stores them.
//
// Normal operation is logged at debug level; events that need an operator are logged
// as warnings or errors.
func Log(logger *slog.Logger) *Trace {
	return &Trace{
		Checked: func(e Checked) { logChecked(logger, e) },
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

func logChecked(logger *slog.Logger, e Checked) {
	args := []any{"guard", e.Guard, "key", e.Key, "verdict", e.Verdict, "left", e.Left, "waited", e.Waited, "coalesced", e.Coalesced}
	switch e.Verdict {
	case Granted:
		logger.Debug("guard: checked", append(args, "fence", e.Fence)...)
	case Replayed:
		logger.Debug("guard: checked", args...)
	case Refused, Mismatch, FailedBefore:
		logger.Info("guard: checked", args...)
	case GaveUp:
		logger.Info("guard: checked", append(args, "err", e.Err)...)
	case Unguarded:
		logger.Warn("guard: checked", append(args, "err", e.Err)...)
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
