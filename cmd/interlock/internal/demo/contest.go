package demo

import (
	"context"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// A Contest is a storm at a lock as somebody wants to see it.
type Contest struct {
	Storm                // without its Lock
	Engine engine.Engine // nil for one in this process

	// Locker makes the lock that they want.
	Locker func(*interlock.Client) interlock.Locker
}

// Run holds the contest, and returns what became of it. Who did not get the lock
// in time is no error. If ctx ends before it is over, the error is an
// [InterruptedError].
func (c *Contest) Run(ctx context.Context) (Verdict, error) {
	e := watch(c.Engine)
	client := interlock.New(e)
	c.Lock = c.Locker(client)
	err := c.Storm.Run(ctx)
	goodbye(ctx, client)
	switch {
	case err != nil && ctx.Err() != nil:
		return Verdict{}, &InterruptedError{Left: e.left(), Err: err}
	case err != nil:
		return Verdict{}, err
	}
	return Judge(&c.Storm, client.Stats()), nil
}

// Spans returns what can be drawn of it.
func (c *Contest) Spans() []chart.Span { return spans(c.Events()) }

// MostInside returns how many held the lock at the same time, at most, in the order
// in which it was written down.
func MostInside(events []history.Event) int {
	inside, peak := 0, 0
	for _, e := range events {
		switch e.Kind {
		case history.Enter:
			inside++
		case history.Leave, history.Lost:
			inside--
		}
		peak = max(peak, inside)
	}
	return peak
}
