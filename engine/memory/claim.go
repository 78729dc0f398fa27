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
	r := s.record(c.Key, hash, now)
	switch {
	case r == nil:
		if r = s.newRecord(c, hash, now); r == nil {
			return engine.Record{}, errFull
		}
	case !r.is(c.Fingerprint):
		return engine.Record{}, engine.ErrMismatch
	case r.runs(c.Attempt, now):
		s.hold(r, c, now)
	case c.Take && r.at(now) == engine.Unknown:
		s.take(r, c, now)
	default:
		return r.seen(now), nil
	}
	granted := r.outline(now)
	granted.Granted, granted.Took = true, r.took
	return granted, nil
}

// newRecord returns the record of a first claim, or nil if there is no room.
func (s *shard) newRecord(c *engine.Claim, hash uint64, now int64) *record {
	r := &record{entry: entry{key: c.Key, hash: hash, sort: aRecord}}
	r.begin(c, now)
	if !s.keep(&r.entry) {
		return nil
	}
	s.kept.records.add(r)
	r.fence = s.nextFence(0, now)
	return r
}

// take grants a claim over an outcome that nobody knows. What the record was
// about is not forgotten by one who does not say it.
func (s *shard) take(r *record, c *engine.Claim, now int64) {
	r.begin(c, now)
	r.took = true
	r.fence = s.nextFence(0, now)
	s.expiry.moved(&r.entry)
}

func (r *record) begin(c *engine.Claim, now int64) {
	r.attempt, r.state, r.began = c.Attempt, engine.Running, now
	r.lease, r.kept = after(now, c.Lease), after(now, c.Retain)
	r.expires = max(r.lease, r.kept)
	if c.Fingerprint != "" {
		r.fingerprint = c.Fingerprint
	}
}

// hold lets the lease of a claim begin anew, and keeps the mark of its beginning.
// It shortens neither.
func (s *shard) hold(r *record, c *engine.Claim, now int64) {
	r.lease = max(r.lease, after(now, c.Lease))
	r.kept = max(r.kept, after(now, c.Retain))
	s.prolong(&r.entry, max(r.lease, r.kept))
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
