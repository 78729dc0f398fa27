// Package consume decides what a consumer tells its broker about a message: the adapters of
// message brokers share it. It maps the answers of package guard, and has no policy.
package consume

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// An Action is what the consumer tells the broker.
type Action uint8

// The actions.
const (
	Ack   Action = iota // the message has taken effect: never deliver it again
	Retry               // the handler returned an error: deliver it again by the broker's rules
	Nack                // nothing ran: deliver it again after Outcome.Delay
	Park                // set it aside: a redelivery would get the same answer
)

// An Outcome is what became of one delivery.
type Outcome struct {
	Action Action
	Delay  time.Duration // before the next delivery; only for Nack
	Err    error         // nil only for Ack
}

const (
	minDelay  = 200 * time.Millisecond // so that redeliveries do not spin
	slack     = 50 * time.Millisecond  // after the lease of another consumer
	downDelay = 2 * time.Second        // while the engine is down, or this consumer shuts down
	maxID     = 512                    // bytes; a guard accepts 1 KiB
)

// Check returns an error if the policy of g does not fit messages.
func Check[T any](g *guard.Guard[T]) error {
	if g == nil {
		return errors.New("the guard is nil: make one with guard.New")
	}
	var result T
	switch p := g.Policy(); {
	case p.Scope != guard.Global:
		return fmt.Errorf("%w %q: a message has no user, but the scope is %q: set Scope to guard.Global", guard.ErrPolicy, p.Name, p.Scope)
	case p.After != guard.Keep:
		return fmt.Errorf("%w %q: After is %q, so a late redelivery would run again: set After to guard.Keep", guard.ErrPolicy, p.Name, p.After)
	case p.OnDuplicate == guard.Refuse && !isEmpty(result):
		return fmt.Errorf("%w %q: OnDuplicate is %q, so a redelivery would lose the result: set OnDuplicate to guard.Replay", guard.ErrPolicy, p.Name, p.OnDuplicate)
	}
	return nil
}

// ErrNoID means that a message has no ID. Such a message cannot be guarded, so it does not run.
var ErrNoID = errors.New("the message has no ID, so a repeat could not be recognized: let the producer set one, or set another source of IDs")

// Do runs work once for the message with the given ID and payload. A result is returned with
// Ack only.
func Do[T any](ctx context.Context, g *guard.Guard[T], id string, payload [][]byte, work func(context.Context) (T, error)) (T, Outcome) {
	var zero T
	if id == "" {
		return zero, Outcome{Park, 0, ErrNoID}
	}
	ran := false
	v, err := g.Do(ctx, guard.ID(bounded(id)).For(payload...), func(ctx context.Context) (T, error) {
		ran = true
		return work(ctx)
	})
	switch {
	case err == nil:
		return v, Outcome{Action: Ack}
	case ran: // even if the error looks like one of the guard's own: it is the handler's
		return zero, Outcome{Retry, 0, err}
	}
	return zero, outcomeOf(err, isEmpty(zero))
}

// outcomeOf maps an error of a guard that did not run the work. A guard without results
// has nothing to lose if the result of earlier work is not available.
func outcomeOf(err error, noResults bool) Outcome {
	var dup *guard.DuplicateError
	var unknown *guard.UnknownError
	switch {
	case errors.As(err, &dup) && !dup.Running:
		return Outcome{Action: Ack} // done before
	case errors.As(err, &dup):
		return Outcome{Nack, max(minDelay, dup.RetryAfter+slack), err}
	case errors.As(err, &unknown) && unknown.Err != nil:
		return Outcome{Nack, downDelay, err} // the resolver failed; it may succeed later
	case errors.Is(err, guard.ErrNoResult) && noResults && !errors.Is(err, guard.ErrCorrupt):
		return Outcome{Action: Ack} // done before
	case errors.Is(err, guard.ErrUnknown), errors.Is(err, guard.ErrMismatch), errors.Is(err, guard.ErrFailed), errors.Is(err, guard.ErrNoResult):
		return Outcome{Park, 0, err}
	}
	return Outcome{Nack, downDelay, err} // the engine is down or refuses requests, or the guard was closed
}

// isEmpty reports whether a result carries nothing.
func isEmpty(v any) bool {
	_, ok := v.(struct{})
	return ok
}

// bounded returns an ID that a guard accepts, however long the producer made it.
func bounded(id string) string {
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// SafeID calls of and returns the ID of a message, or none if of panics. Brokers whose clients
// do not recover panics would deliver such a message again after each crash.
func SafeID(log *slog.Logger, of func() string) (id string) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("the ID function panicked, so the message has no ID", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			id = ""
		}
	}()
	return of()
}

// Recovered returns work that turns a panic into an error and logs its stack, for brokers
// whose clients do not recover panics. The outcome of such work is unknown.
func Recovered(log *slog.Logger, work func(context.Context) error) func(context.Context) (struct{}, error) {
	return func(ctx context.Context) (none struct{}, err error) {
		defer func() {
			if p := recover(); p != nil {
				log.ErrorContext(ctx, "the handler of a message panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				err = guard.OutcomeUnknown(fmt.Errorf("the handler panicked: %v", p))
			}
		}()
		return none, work(ctx)
	}
}

// Backoff returns the pause after the nth failure of a handler, for brokers that have no
// rule: 1s, 2s, 4s and so on, up to one minute.
func Backoff(n int) time.Duration {
	return min(time.Minute, time.Second<<min(max(n-1, 0), 6))
}
