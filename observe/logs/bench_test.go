package logs_test

import (
	"log/slog"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/observe/logs"
)

// BenchmarkLock measures an uncontended lock of the embedded engine without a log, with a
// log whose level is warn, and with a log that writes each line.
func BenchmarkLock(b *testing.B) {
	logger := func(level slog.Level, opts ...logs.Option) interlock.Option {
		return logs.To(slog.New(logs.NewHandler(slog.NewJSONHandler(new(blocking), &slog.HandlerOptions{Level: slog.LevelDebug}), logs.NewLevels(level), opts...)))
	}
	for _, x := range []struct {
		name string
		opt  interlock.Option
	}{
		{"without a log", interlock.Options()},
		{"level warn", logger(slog.LevelWarn)},
		{"level debug, sampled", logger(slog.LevelDebug)},
		{"level debug", logger(slog.LevelDebug, logs.Unsampled())},
	} {
		b.Run(x.name, func(b *testing.B) {
			m := interlock.New(nil, x.opt).Mutex("order:42")
			b.ReportAllocs()
			for b.Loop() {
				_, hold, err := m.Lock(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if err := hold.Unlock(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
