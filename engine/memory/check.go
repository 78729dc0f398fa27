package memory

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// checkRequest refuses an invalid request.
func checkRequest(ctx context.Context, r engine.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case r.Key == "":
		return missingField(r, "a key")
	case r.Holder == "":
		return missingField(r, "a holder")
	case r.Attempt == "":
		return missingField(r, "an attempt")
	case r.Lease <= 0:
		return missingField(r, "a lease above zero")
	}
	return nil
}

// checkAcquire is checkRequest for Acquire.
func checkAcquire(ctx context.Context, r engine.Request) error {
	switch {
	case r.Kind >= engine.Latch:
		return fmt.Errorf("memory: a %s has no holder: count down the latch at %q instead", r.Kind, r.Key)
	case r.Kind == engine.Permit && r.Limit <= 0:
		return badLimit(r)
	}
	return checkRequest(ctx, r)
}

// checkCountDown is checkRequest for CountDown, which needs neither holder nor
// attempt.
func checkCountDown(ctx context.Context, r engine.Request) error {
	if r.Limit <= 0 {
		return badLimit(r)
	}
	r.Holder, r.Attempt = "any", "any" // for the common checks; r is a copy
	return checkRequest(ctx, r)
}

// missingField returns the error of a request that lacks something.
func missingField(r engine.Request, what string) error {
	return fmt.Errorf("memory: request for %q lacks %s: set its Key, Holder, Attempt and Lease", r.Key, what)
}

// badLimit returns the error of a semaphore or latch that no request could ever pass.
func badLimit(r engine.Request) error {
	return fmt.Errorf("memory: the %s at %q has a limit of %d: set its Limit to 1 or more", r.Kind, r.Key, r.Limit)
}

// wrongKind returns the error of r, whose key holds another kind of lock.
func wrongKind(l *entry, r engine.Request) error {
	return fmt.Errorf("memory: %q holds a %s lock, and a %s lock was requested; use another key: %w", r.Key, l.kind, r.Kind, engine.ErrKind)
}
