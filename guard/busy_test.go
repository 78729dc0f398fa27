package guard_test

import (
	"context"
	"log/slog"
	"strings"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

type busyKey struct{}

// formatted drops lines after they were formatted.
type formatted struct{}

func (formatted) Write(p []byte) (int, error) { return len(p), nil }

// busyClient returns a client that logs everything and keeps exemplars.
func busyClient(e engine.Engine) *interlock.Client {
	logger := slog.New(slog.NewTextHandler(formatted{}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	traceID := func(ctx context.Context) string {
		id, _ := ctx.Value(busyKey{}).(string)
		return id
	}
	return interlock.New(e, interlock.WithTrace(interlock.Log(logger)), guard.TraceGuards(guard.Log(logger)), interlock.WithExemplars(traceID))
}

// busyTrace returns a trace whose Executing changes the context of the work and returns the
// longest possible id. Its other functions panic.
func busyTrace() *guard.Trace {
	return &guard.Trace{
		Executing: func(e guard.Executing) (context.Context, string) {
			return context.WithValue(e.Context, busyKey{}, "id"), strings.Repeat("x", 255)
		},
		Checked: func(guard.Checked) { panic("checked") },
		Settled: func(guard.Settled) { panic("settled") },
		Renewed: func(guard.Renewed) { panic("renewed") },
		Lost:    func(guard.Lost) { panic("lost") },
		Cleaned: func(guard.Cleaned) { panic("cleaned") },
	}
}
