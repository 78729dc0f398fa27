// Package retry defines how locks and guards call an engine that may fail: how long
// they pause between tries, when they give up, and how they undo a grant whose
// reply was lost.
package retry

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/watchdog"
)

const (
	// Outage is how long a waiter retries a failing engine before it gives up.
	Outage = 5 * time.Second

	// BriefOutage is the same for a caller that wanted one attempt, and for guards.
	BriefOutage = 2 * time.Second

	// Silence is how long a request of a waiter may be unanswered. After that the
	// engine counts as unavailable, and its last answer as outdated.
	Silence = 250 * time.Millisecond

	// MaxPoll bounds how long a waiter relies on notifications, which may be lost.
	MaxPoll = time.Second

	// MinLeaseShare is a divisor: when a grant arrives, 1/MinLeaseShare of its lease
	// must be left. With less, the engine is too slow for the lease.
	MinLeaseShare = 10

	minPause = 50 * time.Millisecond
	maxPause = time.Second
)

// ErrSlow reports a grant that arrived too late to be used.
var ErrSlow = fmt.Errorf("%w: the engine took so long to answer that little of the lease was left; use a longer lease", engine.ErrUnavailable)

// TooLate reports whether a grant that was asked for at sent and arrived at received
// has too little of its lease left.
func TooLate(sent, received time.Time, lease time.Duration) bool {
	return watchdog.SafeUntil(sent, lease).Sub(received) < lease/MinLeaseShare
}

// Delay returns how long to pause after the given number of failed tries.
func Delay(tries int) time.Duration { return backoff.Pause(minPause, maxPause, tries) }

// Pause waits for Delay(tries). It returns early with ctx's error if ctx ends. A client
// or guard that is closing does not cut it short, since clean-up is part of closing.
func Pause(ctx context.Context, tries int) error { return Sleep(ctx, Delay(tries)) }

// Sleep waits for d, or returns ctx's error if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
