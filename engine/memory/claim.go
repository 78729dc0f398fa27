package memory

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

func (s *shard) claim(c *engine.Claim, hash uint64, now int64) (engine.Record, error) {
	if s.abandoned(identity{key: c.Key, attempt: c.Attempt}, now) {
		return engine.Record{}, engine.ErrAbandoned
	}
	r, about := s.record(c.Key, hash, now), c.Fingerprint
	switch {
	case r == nil:
		if r = s.newRecord(c, hash, now); r == nil {
			return engine.Record{}, errFull
		}
	case !r.is(about):
		return engine.Record{}, engine.ErrMismatch
	case r.runs(c.Attempt, now):
		s.hold(r, c, now)
		about = string(r.fingerprint())
	case c.TakeOver && r.at(now) == engine.Unknown:
		s.take(r, c, now)
		about = string(r.fingerprint())
	default:
		return r.seen(c.Key, now), nil
	}
	granted := r.outline(c.Key, about, now)
	granted.Granted, granted.TookOver = true, r.took
	return granted, nil
}

// newRecord returns the record of a first claim, or nil if there is no room.
func (s *shard) newRecord(c *engine.Claim, hash uint64, now int64) *record {
	if !s.room.take() {
		return nil
	}
	r := s.kept.records.add(c.Key, hash)
	s.begin(r, c, now)
	s.come()
	return r
}

// take grants a claim over an outcome that nobody knows.
func (s *shard) take(r *record, c *engine.Claim, now int64) {
	s.begin(r, c, now)
	r.took = true
}

func (s *shard) begin(r *record, c *engine.Claim, now int64) {
	r.begin(c, now)
	r.fence = s.nextFence(0, now)
	s.kept.records.wait(r, r.expires-now)
}

// hold lets the lease of a claim begin anew, and keeps the mark of its beginning.
// It shortens neither.
func (s *shard) hold(r *record, c *engine.Claim, now int64) {
	r.lease = max(r.lease, after(now, c.Lease))
	r.kept = max(r.kept, after(now, c.Retain))
	if until := max(r.lease, r.kept); until > r.expires {
		r.expires = until
		s.kept.records.wait(r, until-now)
	}
}

// admitClaim tells why a claim is not to be looked at, if it is not.
func admitClaim(ctx context.Context, c *engine.Claim) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case c.Key == "":
		return unclaimable(c.Key, "a key")
	case c.Attempt == "":
		return unclaimable(c.Key, "an attempt")
	case c.Lease <= 0:
		return unclaimable(c.Key, "a lease above zero")
	case c.Retain < 0:
		return unclaimable(c.Key, "a time to retain that is not below zero")
	}
	return nil
}

func unclaimable(key, what string) error {
	return fmt.Errorf("memory: the claim of %q lacks %s: set its Key, Attempt, Lease and Retain", key, what)
}

// admitLookup tells why a record is not to be looked up, if it is not.
func admitLookup(ctx context.Context, key string) error {
	if key == "" {
		return fmt.Errorf("memory: nothing is kept under %q: look up a key", key)
	}
	return ctx.Err()
}
