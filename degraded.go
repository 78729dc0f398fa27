package interlock

import (
	"log/slog"

	"github.com/interlock-go/interlock/internal/trace"
)

// Degraded is reported when work of a guard runs with less protection than usual, because
// the engine is down and the guard's policy allows it.
type Degraded struct {
	Name  string // of the guard
	Key   string // as the engine stores it
	Local bool   // only this process guards the work; otherwise nothing does
	Err   error  // why the engine is down, if known
}

// ReportDegraded counts a degraded run and reports it to the client's trace. Package guard
// calls it.
func (c *Client) ReportDegraded(e Degraded) {
	if e.Local {
		c.core.stats.local.Add(1)
	} else {
		c.core.stats.unguarded.Add(1)
	}
	if t := c.opts.trace; t != nil && t.Degraded != nil {
		t.Degraded(e)
	}
}

// ReportFailed counts a failure of the engine and reports it to the client's trace.
// Directives call it for their guards.
func (c *Client) ReportFailed(e Failed) {
	c.core.stats.failed.Add(1)
	if t := c.opts.trace; t != nil && t.Failed != nil {
		t.Failed(e)
	}
}

// ReportLost counts a lost claim and reports it to the client's trace. Directives call it
// for their guards.
func (c *Client) ReportLost(e Lost) {
	c.core.stats.lost.Add(1)
	if t := c.opts.trace; t != nil && t.Lost != nil {
		t.Lost(e)
	}
}

// logDegraded logs one line per second and guard, with the number of lines left out.
func logDegraded(logger *slog.Logger, sample *trace.Sample, e Degraded) {
	skipped, ok := sample.Allow(e.Name)
	if !ok {
		return
	}
	text := "guard: engine down, running unguarded"
	if e.Local {
		text = "guard: engine down, guarded by this process alone"
	}
	logger.Warn(text, "guard", e.Name, "key", e.Key, "err", e.Err, "skipped", skipped)
}
