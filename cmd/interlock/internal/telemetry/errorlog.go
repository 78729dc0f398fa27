package telemetry

import (
	"log/slog"
	"sync"
	"time"
)

// logInterval is the time between two log lines about the exporter. Without it, an
// unreachable collector would cause a line for each batch of spans.
const logInterval = time.Minute

// An errorLog logs the problems of the SDK and its exporter.
type errorLog struct {
	log *slog.Logger

	mu      sync.Mutex
	next    time.Time // when the next line may be written
	skipped int       // problems since the last line
}

// Handle implements the ErrorHandler of OpenTelemetry.
func (e *errorLog) Handle(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if now.Before(e.next) {
		e.skipped++
		return
	}
	attrs := []any{"err", err}
	if e.skipped > 0 {
		attrs = append(attrs, "skipped", e.skipped)
	}
	e.log.Warn("OpenTelemetry reported a problem", attrs...) // not every problem loses spans
	e.next, e.skipped = now.Add(logInterval), 0
}
