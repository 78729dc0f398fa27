package demo

import (
	"context"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/engine"
)

// A LockedStorm is a storm with a lock on an engine.
type LockedStorm struct {
	Storm                // Run sets its Lock
	Engine engine.Engine // nil: the embedded engine

	// Locker returns the lock of the storm.
	Locker func(*interlock.Client) interlock.Locker
}

// Run runs the storm and returns its verdict. A goroutine that does not acquire the lock
// in time is not an error. If ctx ends first, the error is an [InterruptedError].
func (s *LockedStorm) Run(ctx context.Context) (Verdict, error) {
	e := track(s.Engine)
	client := interlock.New(e)
	s.Lock = s.Locker(client)
	err := s.Storm.Run(ctx)
	closeClient(ctx, client) // before counting: Close releases the remaining locks
	if err != nil {
		return Verdict{}, interrupted(ctx, err, e.unreleased())
	}
	return Judge(&s.Storm, client.Stats()), nil
}

// Timeline returns the spans of the storm, for a chart.
func (s *LockedStorm) Timeline() []chart.Span { return timeline(s.Events()) }
