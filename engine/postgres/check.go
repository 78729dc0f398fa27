package postgres

import (
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// checkRequest refuses an invalid request.
func checkRequest(r *engine.Request) error {
	if r.Key == "" || r.Holder == "" || r.Attempt == "" || r.Lease <= 0 {
		return fmt.Errorf("postgres: the request for %q is incomplete: set Key, Holder, Attempt and a Lease above zero", r.Key)
	}
	switch {
	case r.Kind == engine.Latch:
		return fmt.Errorf("postgres: %q: a latch has no holder: count it down with CountDown", r.Key)
	case r.Kind > engine.Latch:
		return fmt.Errorf("postgres: %q: kind %d does not exist: use a constant of package engine", r.Key, r.Kind)
	}
	return nil
}

// checkLimit refuses a semaphore or latch that no request could pass.
func checkLimit(r *engine.Request) error {
	if r.Limit <= 0 {
		return fmt.Errorf("postgres: the %s at %q has a limit of %d: set its Limit to 1 or more", r.Kind, r.Key, r.Limit)
	}
	return nil
}

// maxFence is the largest fence that the server can store and raise.
const maxFence = 1 << 62

// checkFence refuses a fence or a reserve that the server cannot store.
func checkFence(key string, fence uint64) error {
	if fence > maxFence {
		return fmt.Errorf("postgres: %q: the fence or reserve %d is too large: the limit is %d", key, fence, uint64(maxFence))
	}
	return nil
}
