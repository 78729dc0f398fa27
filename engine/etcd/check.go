package etcd

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// checkRequest refuses an invalid request.
func checkRequest(r *engine.Request) error {
	if r.Key == "" || r.Holder == "" || r.Attempt == "" || r.Lease <= 0 {
		return fmt.Errorf("etcd: the request for %q is incomplete: set Key, Holder, Attempt and a Lease above zero", r.Key)
	}
	return nil
}

// checkAcquire is checkRequest for Acquire.
func checkAcquire(r *engine.Request) error {
	switch {
	case r.Kind >= engine.Latch:
		return fmt.Errorf("etcd: a %s has no holder: count down the latch at %q instead", r.Kind, r.Key)
	case r.Kind == engine.Permit && r.Limit <= 0:
		return badLimit(r)
	}
	return checkRequest(r)
}

// checkCountDown is checkRequest for CountDown, which needs neither holder nor attempt.
func checkCountDown(r *engine.Request) error {
	switch {
	case r.Limit <= 0:
		return badLimit(r)
	case r.Key == "" || r.Lease <= 0:
		return fmt.Errorf("etcd: the count for %q is incomplete: set Key and a Lease above zero", r.Key)
	}
	return nil
}

// badLimit is the error of a semaphore or latch that no request could ever pass.
func badLimit(r *engine.Request) error {
	return fmt.Errorf("etcd: the %s at %q has a limit of %d: set its Limit to 1 or more", r.Kind, r.Key, r.Limit)
}

// maxLease is the longest lease of etcd, 9,000,000,000 seconds.
const maxLease = 9_000_000_000 * time.Second

// seconds returns d in whole seconds, the unit of etcd's leases. It rounds up, so that no
// lease ends early, and stops at etcd's longest lease, which is 285 years.
func seconds(d time.Duration) int64 {
	d = min(d, maxLease)
	s := int64(d / time.Second)
	if d > time.Duration(s)*time.Second {
		s++
	}
	return max(s, 1)
}
