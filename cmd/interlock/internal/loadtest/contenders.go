package loadtest

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo"
)

// often is how often progress is told.
const often = 100 * time.Millisecond

// Contenders are goroutines that want one lock.
type Contenders struct {
	demo.Contest
	Progress func(done int) // may be nil
}

// Run lets them contend.
func (c *Contenders) Run(ctx context.Context) (*Result, error) {
	began := time.Now()
	stop := tell(c.Progress, func() int { return c.Counter() + c.Refused() })
	v, err := c.Contest.Run(ctx)
	stop()
	if err != nil {
		return nil, err
	}
	events := c.Events()
	r := &Result{Spans: c.Spans(), Figures: []Figure{
		count("n", c.Clicks), count("executed", v.Report.Grants), count("refused", c.Refused()), count("lost", max(v.Report.Lost, int(v.Stats.Lost))),
		count("max-holders", demo.MostInside(events)), count("violations", len(v.Report.Violations)),
		span("p50", v.Report.WaitP50), span("p99", v.Report.WaitP99), span("elapsed", time.Since(began)),
	}}
	for _, violation := range v.Report.Violations {
		r.Violations = append(r.Violations, violation.String())
	}
	return r, nil
}

// tell reports how many are done, now and then, until stop is called.
func tell(progress func(int), done func() int) (stop func()) {
	if progress == nil {
		return func() {}
	}
	end := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() { // waited for by stop
		tick := time.NewTicker(often)
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
		told.Wait()
	}
}
