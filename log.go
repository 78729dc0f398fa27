package interlock

import (
	"log/slog"
	"time"
)

// Log returns a [Trace] that writes the life of every lock to logger, so that
// it can be followed from the log alone: acquired, released, refused, lost. Keys
// are written as they are, holders as 8 hex digits.
//
// What happens all the time is logged at debug level, what an operator should
// look at as warning or error.
func Log(logger *slog.Logger) *Trace {
	return &Trace{
		Waiting: func(e Waiting) {
			logger.Debug("lock: waiting", "key", e.Key, "held_by", short(e.Holder), "left", e.Left)
		},
		Acquired: func(e Acquired) {
			logger.Debug("lock: acquired", "key", e.Key, "holder", short(e.Holder), "lease", e.Lease,
				"fence", e.Fence, "waited", e.Waited, "handed", e.HandedOver)
		},
		Contended: func(e Contended) {
			logger.Info("lock: not acquired", "key", e.Key, "held_by", short(e.Holder), "left", e.Left,
				"waited", e.Waited, "reason", reason(e.Err))
		},
		Failed: func(e Failed) {
			logger.Error("lock: engine failed", "key", e.Key, "waited", e.Waited, "err", e.Err)
		},
		Renewed: func(e Renewed) { logRenewed(logger, e) },
		Released: func(e Released) {
			logger.Debug("lock: released", "key", e.Key, "holder", short(e.Holder), "fence", e.Fence,
				"held", e.Held, "handed", e.HandedOver)
		},
		ReleaseFailed: func(e ReleaseFailed) {
			logger.Warn("lock: release refused", "key", e.Key, "holder", short(e.Holder), "held", e.Held, "err", e.Err)
		},
		Lost: func(e Lost) {
			logger.Error("lock: lost", "key", e.Key, "holder", short(e.Holder), "fence", e.Fence,
				"held", e.Held.Round(time.Millisecond), "err", e.Err)
		},
		CleanedUp: func(e CleanedUp) { logCleanedUp(logger, e) },
		Warned:    func(e Warned) { logger.Warn("lock: "+e.Problem, "key", e.Key) },
	}
}

func logRenewed(logger *slog.Logger, e Renewed) {
	if e.Err != nil {
		logger.Warn("lock: renewal failed, trying again", "key", e.Key, "holder", short(e.Holder), "err", e.Err)
		return
	}
	logger.Debug("lock: renewed", "key", e.Key, "holder", short(e.Holder))
}

func logCleanedUp(logger *slog.Logger, e CleanedUp) {
	if e.Err != nil {
		logger.Warn("lock: clean-up failed, the lease will run out", "key", e.Key, "holder", short(e.Holder), "err", e.Err)
		return
	}
	logger.Info("lock: cleaned up", "key", e.Key, "holder", short(e.Holder), "was_granted", e.Found)
}

func reason(err error) string {
	if err == nil {
		return "one attempt"
	}
	return err.Error()
}
