package keystate

import (
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// The checks refuse invalid arguments. Their errors are refusals, so the engine adds its
// name. The engine checks the key itself.

// CheckRequest refuses an incomplete request.
func CheckRequest(r *engine.Request) error {
	if r.Key == "" || r.Holder == "" || r.Attempt == "" || r.Lease <= 0 {
		return refusal("the request for %q is incomplete: set Key, Holder, Attempt and a Lease above zero", r.Key)
	}
	return nil
}

// CheckAcquire is CheckRequest for Acquire.
func CheckAcquire(r *engine.Request) error {
	switch {
	case r.Kind >= engine.Latch:
		return refusal("a %s has no holder: count down the latch at %q instead", r.Kind, r.Key)
	case r.Kind == engine.Permit && r.Limit <= 0:
		return limitError(r)
	}
	return CheckRequest(r)
}

// CheckCountDown refuses an invalid count, which needs neither holder nor attempt.
func CheckCountDown(r *engine.Request) error {
	switch {
	case r.Limit <= 0:
		return limitError(r)
	case r.Lease <= 0:
		return refusal("the count for %q has no lease: set a Lease above zero", r.Key)
	}
	return nil
}

// limitError is the error of a semaphore or latch that no request could ever pass.
func limitError(r *engine.Request) error {
	return refusal("the %s at %q has a limit of %d: set its Limit to 1 or more", r.Kind, r.Key, r.Limit)
}

// CheckRaise is CheckRequest for raising a fence.
func CheckRaise(r *engine.Request) error {
	if Family(r.Kind) != engine.Exclusive {
		return refusal("the fence of a %s lock cannot be raised: %w", r.Kind, errors.ErrUnsupported)
	}
	return CheckRequest(r)
}

// CheckClaim refuses an invalid claim.
func CheckClaim(c *engine.Claim) error {
	if c.Attempt == "" || c.Lease <= 0 || c.Retain < 0 {
		return refusal("the claim of %q is incomplete: set Key, Attempt, a Lease above zero and a Retain of zero or more", c.Key)
	}
	return nil
}

// CheckSettlement refuses an invalid settlement.
func CheckSettlement(x *engine.Settlement) error {
	wrong := ""
	switch {
	case x.Attempt == "":
		wrong = "has no attempt: set its Attempt"
	case x.Outcome == engine.Running || x.Outcome > engine.Unknown:
		wrong = "is not an outcome: set its Outcome to Done, Failed, Unknown or Absent"
	case x.Outcome != engine.Absent && x.Retain <= 0:
		wrong = "would expire at once: set its Retain above zero"
	case x.Abandon && x.Outcome != engine.Absent:
		wrong = "abandons a claim, which has no outcome: set its Outcome to Absent"
	case x.Abandon && x.Lease <= 0:
		wrong = "has no lease: set its Lease above zero"
	}
	if wrong != "" {
		return refusal("the settlement of %q as %s %s", x.Key, x.Outcome, wrong)
	}
	return nil
}

// CheckQuota refuses an invalid quota.
func CheckQuota(q *engine.Quota) error {
	wrong := ""
	switch {
	case q.Limit <= 0:
		wrong = fmt.Sprintf("has a limit of %d: set its Limit to 1 or more", q.Limit)
	case q.Until.IsZero() && q.Window <= 0:
		wrong = "has no window: set its Window above zero, or From and Until"
	case !q.Until.IsZero() && !q.From.Before(q.Until):
		wrong = "ends before it begins: set its From before Until"
	}
	if wrong != "" {
		return refusal("the quota %q %s", q.Key, wrong)
	}
	return nil
}
