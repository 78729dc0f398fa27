package memory

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A record says whether the work at a key was begun, and how it ended.
type record struct {
	// text holds the key, the attempt of the last claim, the fingerprint and the
	// result, one after the other.
	text                               []byte
	keyLen, attemptLen, fingerprintLen uint32

	number   number       // its number in the shard
	tag      uint32       // its tag in the index
	position uint32       // its index in the queue of its bucket
	bucket   uint8        // the bucket that schedules its expiry; zero if none does
	state    engine.State // stays Running after the lease has expired; see stateAt
	tookOver bool         // the claim took over an unknown outcome

	fence    uint64 // the fence of the claim
	began    int64
	lease    int64 // when the claim expires
	retained int64 // when the retention of the outcome ends
	expires  int64 // when the whole record expires
}

// These methods return slices of text. A caller that uses one after it has unlocked the
// shard must copy it.
func (r *record) key() []byte         { return r.text[:r.keyLen] }
func (r *record) attempt() []byte     { return r.text[r.keyLen : r.keyLen+r.attemptLen] }
func (r *record) fingerprint() []byte { return r.text[r.keyLen+r.attemptLen : r.headerLen()] }
func (r *record) result() []byte      { return r.text[r.headerLen():] }

// headerLen is the length of the text before the result.
func (r *record) headerLen() uint32 { return r.keyLen + r.attemptLen + r.fingerprintLen }

// begin records a claim. A claim without a fingerprint keeps the record's.
func (r *record) begin(c *engine.Claim, now int64) {
	fingerprint := c.Fingerprint
	if fingerprint == "" {
		fingerprint = string(r.fingerprint()) // copied, because the append overwrites the text
	}
	r.text = append(append(r.text[:r.keyLen], c.Attempt...), fingerprint...)
	r.attemptLen, r.fingerprintLen = uint32(len(c.Attempt)), uint32(len(fingerprint)) //nolint:gosec // far below 4 GiB
	r.state, r.began = engine.Running, now
	r.lease, r.retained = after(now, c.Lease), after(now, c.Retain)
	r.expires = max(r.lease, r.retained)
}

// isRunning reports whether attempt holds the claim.
func (r *record) isRunning(attempt string, now int64) bool {
	return string(r.attempt()) == attempt && r.stateAt(now) == engine.Running
}

// stateAt returns the state at a time: a claim that has expired without an outcome is
// Unknown.
func (r *record) stateAt(now int64) engine.State {
	if r.state == engine.Running && now >= r.lease {
		return engine.Unknown
	}
	return r.state
}

// matches reports whether the fingerprint is compatible with the record's.
func (r *record) matches(fingerprint string) bool {
	return fingerprint == "" || r.fingerprintLen == 0 || string(r.fingerprint()) == fingerprint
}

// snapshot returns the record with a copy of its result.
func (r *record) snapshot(key string, now int64) engine.Record {
	rec := r.outline(key, string(r.fingerprint()), now)
	if result := r.result(); len(result) > 0 {
		rec.Result = slices.Clone(result)
	}
	return rec
}

// outline returns the record without its result. The caller passes the key and the
// fingerprint if it has them: reading the text would cost a cache miss.
func (r *record) outline(key, fingerprint string, now int64) engine.Record {
	state, until := r.stateAt(now), r.retained
	if state == engine.Running {
		until = r.lease
	}
	return engine.Record{
		Key: key, State: state, Fence: r.fence, Began: time.Unix(0, r.began), Age: time.Duration(now - r.began),
		Left: time.Duration(until - now), Fingerprint: fingerprint,
	}
}

// record returns the record at key, or nil.
func (s *shard) record(key string, hash uint64, now int64) *record {
	r := s.store.records.find(key, hash)
	if r != nil && now >= r.expires {
		s.erase(r)
		return nil
	}
	return r
}

// erase deletes r. It may move other records.
func (s *shard) erase(r *record) {
	s.capacity.bytes.Add(-int64(len(r.result())))
	s.store.records.remove(r)
	s.capacity.free(1)
	s.removed()
	if s.store.records.sparse() {
		s.store.records = s.store.records.packed() // returns the memory of many deleted records
	}
}
