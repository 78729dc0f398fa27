package logs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// Slow is how long a request to a server takes before it is logged at level info.
const Slow = 100 * time.Millisecond

// To is an option of [interlock.New] that logs the client's locks, its guards (those of
// directives and middleware included), and the requests to the engine's servers. Each line
// has the attribute component. See docs/logs.md for all lines.
//
// A logger without a [Handler] works, too; it has one level and no limit for floods.
func To(logger *slog.Logger) interlock.Option {
	return interlock.Options(
		interlock.WithTrace(locks(Component(logger, Locks))),
		guard.TraceGuards(guard.Log(Component(logger, Guards))),
		interlock.ObserveEngine(requests(Component(logger, Engine))),
	)
}

// Component returns a logger for the lines of a component.
func Component(logger *slog.Logger, component string) *slog.Logger {
	return logger.With("component", component)
}

// locks returns the log of locks without the events of guards, which guards log
// themselves.
func locks(logger *slog.Logger) *interlock.Trace {
	t := interlock.Log(logger)
	t.Degraded = nil
	failed, lost := t.Failed, t.Lost
	t.Failed = func(e interlock.Failed) {
		if !e.Guard {
			failed(e)
		}
	}
	t.Lost = func(e interlock.Lost) {
		if !e.Guard {
			lost(e)
		}
	}
	return t
}

// requests returns a function that logs each request to a server. The line is written
// later, because the request may be the renewal of many locks.
func requests(logger *slog.Logger) func(engine.ServerCall) func() {
	return func(c engine.ServerCall) func() {
		level, text := slog.LevelDebug, "engine: request"
		switch {
		case errors.Is(c.Err, context.Canceled): // the caller gave up, and the server is not at fault
			text = "engine: request cancelled"
		case c.Err != nil:
			level, text = slog.LevelWarn, "engine: request failed"
		case c.Took >= Slow:
			level, text = slog.LevelInfo, "engine: slow request"
		}
		ctx := context.Background()
		if !logger.Enabled(ctx, level) {
			return nil
		}
		return func() {
			attrs := append(make([]slog.Attr, 0, 4), slog.String("operation", c.Operation), slog.String("node", c.Node), slog.Duration("took", c.Took))
			if c.Err != nil {
				attrs = append(attrs, slog.Any("err", c.Err))
			}
			logger.LogAttrs(ctx, level, text, attrs...)
		}
	}
}
