package memory

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A record is what is known of the work at a key.
type record struct {
	// text is the key, the attempt that decided or decides, the fingerprint and the
	// result, one behind the other.
	text                         []byte
	keyLen, attemptLen, printLen uint32

	number number       // what it is known by
	tag    uint32       // and found by
	place  uint32       // in its lane
	lane   uint8        // where it waits for its end; zero if it does not
	state  engine.State // as it was set: Running also after the lease has run out
	took   bool         // the claim was granted over an unknown outcome

	fence   uint64 // of the claim
	began   int64
	lease   int64 // until when the claim runs
	kept    int64 // until when its beginning is kept, or what became of it
	expires int64 // when nothing of the record is left
}

func (r *record) key() []byte         { return r.text[:r.keyLen] }
func (r *record) attempt() []byte     { return r.text[r.keyLen : r.keyLen+r.attemptLen] }
func (r *record) fingerprint() []byte { return r.text[r.keyLen+r.attemptLen : r.heading()] }
func (r *record) result() []byte      { return r.text[r.heading():] }

// heading is how long all is that comes before the result.
func (r *record) heading() uint32 { return r.keyLen + r.attemptLen + r.printLen }

// begin notes a claim. A fingerprint is not forgotten because of one who does not say
// it.
func (r *record) begin(c *engine.Claim, now int64) {
	about := c.Fingerprint
	if about == "" {
		about = string(r.fingerprint())
	}
	r.text = append(append(r.text[:r.keyLen], c.Attempt...), about...)
	r.attemptLen, r.printLen = uint32(len(c.Attempt)), uint32(len(about)) //nolint:gosec // nobody has gigabytes of them
	r.state, r.began = engine.Running, now
	r.lease, r.kept = after(now, c.Lease), after(now, c.Retain)
	r.expires = max(r.lease, r.kept)
}

// runs reports whether attempt has the claim.
func (r *record) runs(attempt string, now int64) bool {
	return string(r.attempt()) == attempt && r.at(now) == engine.Running
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
	return fingerprint == "" || r.printLen == 0 || string(r.fingerprint()) == fingerprint
}

// seen is the record as others see it. They get a result of their own.
func (r *record) seen(key string, now int64) engine.Record {
	seen := r.outline(key, string(r.fingerprint()), now)
	if result := r.result(); len(result) > 0 {
		seen.Result = slices.Clone(result)
	}
	return seen
}

// outline is the record without its result. Who asks knows the key, and may know the
// fingerprint: texts are far away.
func (r *record) outline(key, fingerprint string, now int64) engine.Record {
	state, until := r.at(now), r.kept
	if state == engine.Running {
		until = r.lease
	}
	return engine.Record{
		Key: key, State: state, Fence: r.fence, Began: time.Unix(0, r.began), Age: time.Duration(now - r.began),
		Left: time.Duration(until - now), Fingerprint: fingerprint,
	}
}

// record returns the record at key, or nil if there is none.
func (s *shard) record(key string, hash uint64, now int64) *record {
	r := s.kept.records.find(key, hash)
	if r != nil && now >= r.expires {
		s.erase(r)
		return nil
	}
	return r
}

// erase forgets r. Others may lie elsewhere afterwards.
func (s *shard) erase(r *record) {
	s.kept.records.remove(r)
	s.room.giveBack(1)
	s.left()
	if s.kept.records.sparse() {
		s.kept.records = s.kept.records.packed() // after many, what they took is not for ever
	}
}
