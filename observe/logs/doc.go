// Package logs writes the life of every lock, every duplicate check of a guard, and the
// requests to the engine's servers through one slog handler.
//
//	levels := logs.NewLevels(slog.LevelInfo)
//	handler := logs.NewHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}), levels)
//	client := interlock.New(engine, logs.To(slog.New(handler)))
//	…
//	err := levels.Set(logs.Locks, slog.LevelDebug) // while the program runs
//
// The attribute component of a line names its source: [Locks], [Guards], [Engine] or
// [Gateway]. Each has its own level. To limit floods, the handler writes the first 100
// similar lines of a component in each second and skips the rest. The next similar line
// that it writes has the number of skipped lines in the attribute skipped.
//
// # What is not promised
//
// The handler writes in the goroutine of the caller. If its output blocks, the caller
// waits. If a flood ends, the lines that were skipped last are not counted until a similar
// line is written.
package logs
