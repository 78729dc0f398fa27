package retry

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A CleanUp undoes an attempt that the engine may have granted without our knowing.
type CleanUp struct {
	// Abandon tells the engine that the attempt is given up.
	Abandon func(context.Context) (engine.Outcome, error)

	Sent      time.Time     // when the attempt was last sent
	LateGrant time.Duration // how long after Sent the engine may still grant it
	Within    time.Duration // how long to retry: what the attempt leaves behind lasts no longer

	// Stop ends the retries early, given how long they have lasted; may be nil.
	Stop func(elapsed time.Duration) bool
}

// Run abandons the attempt. It reports whether the engine had granted it.
func (c *CleanUp) Run() (found bool, err error) {
	left := c.LateGrant - time.Since(c.Sent) // counted from before abandon is sent
	over := time.Now().Add(left + watchdog.Drift(left))
	found, err = c.abandon()
	if left > 0 {
		// A request that is still on its way could be granted after the first
		// abandon, so the engine is told again when that is no longer possible.
		time.Sleep(time.Until(over))
		var again bool
		again, err = c.abandon()
		found = found || again
	}
	return found, err
}

func (c *CleanUp) abandon() (found bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.Within)
	defer cancel()
	start := time.Now()
	for tries := 1; ; tries++ {
		out, err := c.Abandon(ctx)
		// A full engine is retried, since it stores a tombstone for the attempt.
		if err == nil || !engine.Temporary(err) && !errors.Is(err, engine.ErrFull) {
			return out == engine.Released, err
		}
		if c.Stop != nil && c.Stop(time.Since(start)) || Pause(ctx, tries) != nil {
			return false, err
		}
	}
}
