package loadtest

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo"
)

// progressInterval is the time between two progress reports. Ten updates per second look
// smooth and cost the test little.
const progressInterval = 100 * time.Millisecond

// Contenders are goroutines that contend for one lock.
type Contenders struct {
	demo.LockedStorm
	Progress func(done int) // may be nil
}

// Run runs them until all have acquired the lock or were refused. A refused goroutine is
// a figure, not an error.
func (c *Contenders) Run(ctx context.Context) (*Result, error) {
	began := time.Now()
	stop := reportProgress(c.Progress, func() int { return c.Counter() + c.Refused() })
	v, err := c.LockedStorm.Run(ctx)
	stop()
	if err != nil {
		return nil, err
	}
	events := c.Events()
	r := &Result{Spans: c.Timeline(), Figures: []Figure{
		count("n", c.Clicks), count("executed", v.Report.Grants), count("refused", c.Refused()), count("lost", max(v.Report.Lost, int(v.Stats.Lost))),
		// The order is that of LockFigures, and of the printed table.
		count("max-holders", demo.MaxHolders(events)), count("violations", len(v.Report.Violations)),
		span("p50", v.Report.WaitP50), span("p99", v.Report.WaitP99), span("elapsed", time.Since(began)),
	}}
	for _, violation := range v.Report.Violations {
		r.Violations = append(r.Violations, violation.String())
	}
	return r, nil
}

// reportProgress calls progress at intervals, until stop is called. The function stop
// waits, so that no report follows the result.
func reportProgress(progress func(int), done func() int) (stop func()) {
	if progress == nil {
		return func() {}
	}
	end := make(chan struct{})
	var reporter sync.WaitGroup
	reporter.Go(func() { // waited for by stop
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				progress(done())
			case <-end:
				return
			}
		}
	})
	return func() {
		close(end)
		reporter.Wait()
	}
}
