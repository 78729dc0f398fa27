package postgres

import (
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// The codes of the function claim.
const (
	claimAbandoned = 1
	claimMismatch  = 2
	claimLocked    = 3 // another transaction has locked the key: the answer is a running record
)

// claimCall returns the call of a claim. wait is how long it waits on the server for a locked
// key, in ms; below zero in a caller's transaction.
func (e *Engine) claimCall(c *engine.Claim, wait int64) *statement {
	return e.call("claim", c.Key, []byte(c.Key), []byte(c.Attempt), []byte(c.Fingerprint), micros(c.Lease), micros(c.Retain), c.TakeOver, wait)
}

// A claimAnswer is what the function claim returns. The record is null if the claim was
// refused with a code.
type claimAnswer struct {
	code                    int64
	granted, tookOver       bool
	state, fence, began     *int64
	age, left               *int64
	fingerprint, resultData []byte
}

func (a *claimAnswer) fields() []any {
	return []any{&a.code, &a.state, &a.granted, &a.tookOver, &a.fence, &a.began, &a.age, &a.left, &a.fingerprint, &a.resultData}
}

// result returns the record, or the error of the code.
func (a *claimAnswer) result(s *statement, c *engine.Claim) (engine.Record, error) {
	switch a.code {
	case claimAbandoned:
		return engine.Record{}, fail(s, "the attempt was abandoned before it arrived", engine.ErrAbandoned)
	case claimMismatch:
		return engine.Record{}, fail(s, "the key was claimed for other work: use a new key for it", engine.ErrMismatch)
	}
	if a.state == nil || a.fence == nil || a.began == nil || a.age == nil || a.left == nil {
		return engine.Record{}, fail(s, "the answer is incomplete", engine.ErrUnknown)
	}
	r := recordAnswer{*a.state, *a.fence, *a.began, *a.age, *a.left, a.fingerprint, a.resultData}
	record := r.record(c.Key)
	record.Granted, record.TookOver = a.granted, a.tookOver
	return record, nil
}

// checkClaim refuses an invalid claim.
func checkClaim(c *engine.Claim) error {
	if c.Key == "" || c.Attempt == "" || c.Lease <= 0 || c.Retain < 0 {
		return fmt.Errorf("postgres: the claim of %q is incomplete: set a Key, an Attempt, a Lease above zero, and a Retain of zero or more", c.Key)
	}
	return nil
}
