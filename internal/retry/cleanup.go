package retry

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A CleanUp undoes an attempt whose reply was lost, because the engine may have granted
// it.
type CleanUp struct {
	// Abandon tells the engine that the attempt is given up.
	Abandon func(context.Context) (engine.Outcome, error)

	Sent      time.Time     // when the attempt was last sent
	LateGrant time.Duration // how long after Sent the engine may still grant it
	Within    time.Duration // how long to retry; after that the engine keeps nothing of the attempt

	// Stop ends the retries early, given how long they have lasted; may be nil.
	Stop func(elapsed time.Duration) bool
}

// Run abandons the attempt. It reports whether the engine had granted it.
func (c *CleanUp) Run() (found bool, err error) {
	left := c.LateGrant - time.Since(c.Sent) // before the first abandon, which may take a while
	lateGrantEnds := time.Now().Add(left + watchdog.Drift(left))
	found, err = c.abandon()
	if left > 0 {
		// The engine may still grant a request that arrives after the first abandon.
		// So abandon again when it no longer can.
		time.Sleep(time.Until(lateGrantEnds))
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
		// A full engine is retried, because it has no memory for the tombstone yet.
		if err == nil || !engine.Temporary(err) && !errors.Is(err, engine.ErrFull) {
			return out == engine.Released, err
		}
		if c.Stop != nil && c.Stop(time.Since(start)) || Pause(ctx, tries) != nil {
			return false, err
		}
	}
}
