package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// claim grants c, or returns the record that prevents it. The tombstone comes first: it
// refuses the attempt even if the key is free.
func (s *shard) claim(c *engine.Claim, hash uint64, now int64) (engine.Record, error) {
	if s.abandoned(attemptKey{key: c.Key, attempt: c.Attempt}, now) {
		return engine.Record{}, engine.ErrAbandoned
	}
	// fingerprint is the one in the answer. A new record has c's: reading the record's would
	// cost a cache miss.
	r, fingerprint := s.record(c.Key, hash, now), c.Fingerprint
	switch {
	case r == nil:
		if !s.capacity.bytesLeft() {
			return engine.Record{}, errFullBytes
		}
		if r = s.newRecord(c, hash, now); r == nil {
			return engine.Record{}, errFull
		}
	case !r.matches(fingerprint):
		return engine.Record{}, engine.ErrMismatch
	case r.isRunning(c.Attempt, now): // repeated, because the first reply was lost
		s.renewClaim(r, c, now)
		fingerprint = string(r.fingerprint())
	case c.TakeOver && r.stateAt(now) == engine.Unknown:
		s.takeOver(r, c, now)
		fingerprint = string(r.fingerprint())
	default:
		return r.snapshot(c.Key, now), nil
	}
	granted := r.outline(c.Key, fingerprint, now)
	granted.Granted, granted.TookOver = true, r.tookOver
	return granted, nil
}

// newRecord returns the record of a first claim, or nil without capacity.
func (s *shard) newRecord(c *engine.Claim, hash uint64, now int64) *record {
	if !s.capacity.take() {
		return nil
	}
	r := s.store.records.add(c.Key, hash)
	s.begin(r, c, now)
	s.added()
	return r
}

// takeOver grants a claim over an unknown outcome.
func (s *shard) takeOver(r *record, c *engine.Claim, now int64) {
	s.begin(r, c, now)
	r.tookOver = true
}

// begin starts a claim of r with a new fence. The claim sets the expiry of the record, so
// begin also moves the record to the bucket of that expiry.
func (s *shard) begin(r *record, c *engine.Claim, now int64) {
	s.capacity.bytes.Add(-int64(len(r.result())))
	r.begin(c, now)
	r.fence = s.nextFence(0, now)
	s.store.records.schedule(r, r.expires-now)
}

// renewClaim restarts the lease and the retention of a claim. It shortens neither.
func (s *shard) renewClaim(r *record, c *engine.Claim, now int64) {
	r.lease = max(r.lease, after(now, c.Lease))
	r.retained = max(r.retained, after(now, c.Retain))
	if until := max(r.lease, r.retained); until > r.expires {
		r.expires = until
		s.store.records.schedule(r, until-now)
	}
}

// checkClaim refuses an invalid claim.
func checkClaim(ctx context.Context, c *engine.Claim) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case c.Key == "":
		return badClaim(c.Key, "a key")
	case c.Attempt == "":
		return badClaim(c.Key, "an attempt")
	case c.Lease <= 0:
		return badClaim(c.Key, "a lease above zero")
	case c.Retain < 0:
		return badClaim(c.Key, "a Retain of zero or more")
	}
	return nil
}

// badClaim returns the error of a claim that lacks something.
func badClaim(key, what string) error {
	return fmt.Errorf("memory: the claim of %q lacks %s: set its Key, Attempt, Lease and Retain", key, what)
}

// checkLookup refuses an empty key.
func checkLookup(ctx context.Context, key string) error {
	if key == "" {
		return errors.New("memory: the key of the record is empty: set it")
	}
	return ctx.Err()
}
