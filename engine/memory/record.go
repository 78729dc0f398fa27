package memory

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A record is what is known of the work at a key. Its entry has the attempt and
// the fence of the claim that decided or decides, and ends when nothing of the
// record is left.
type record struct {
	entry
	state       engine.State // as it was set: Running also after the lease has run out
	took        bool         // the claim was granted over an unknown outcome
	lease       int64        // until when the claim runs
	kept        int64        // until when its beginning is kept, or what became of it
	began       int64
	fingerprint string
	result      []byte
}

// runs reports whether attempt has the claim.
func (r *record) runs(attempt string, now int64) bool {
	return r.attempt == attempt && r.at(now) == engine.Running
}

// at is the state by the engine's time: a beginning without a claim is an outcome
// that nobody knows.
func (r *record) at(now int64) engine.State {
	if r.state == engine.Running && now >= r.lease {
		return engine.Unknown
	}
	return r.state
}

// is reports whether the record may be about what has that fingerprint.
func (r *record) is(fingerprint string) bool {
	return fingerprint == "" || r.fingerprint == "" || r.fingerprint == fingerprint
}

// seen is the record as others see it. They get a result of their own.
func (r *record) seen(now int64) engine.Record {
	seen := r.outline(now)
	seen.Result = slices.Clone(r.result)
	return seen
}

// outline is the record without its result.
func (r *record) outline(now int64) engine.Record {
	state, until := r.at(now), r.kept
	if state == engine.Running {
		until = r.lease
	}
	return engine.Record{
		Key: r.key, State: state, Fence: r.fence, Began: time.Unix(0, r.began), Age: time.Duration(now - r.began),
		Left: time.Duration(until - now), Fingerprint: r.fingerprint,
	}
}

// record returns the record at key, or nil if there is none.
func (s *shard) record(key string, hash uint64, now int64) *record {
	r := s.kept.records.find(key, hash)
	if r != nil && now >= r.expires {
		s.drop(&r.entry)
		return nil
	}
	return r
}
