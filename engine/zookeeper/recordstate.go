package zookeeper

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A recordState is the state of a record. Its rules are those of package memory.
type recordState struct {
	Floor uint64  `json:"f,omitempty"`
	Entry *record `json:"r,omitempty"`
	Tombs []mark  `json:"t,omitempty"` // of abandoned claims
	key   string
}

// A record says whether the work at a key was begun, and how it ended. It is never
// changed in place.
type record struct {
	Attempt     string       `json:"a"`
	Fingerprint string       `json:"p,omitempty"`
	Result      []byte       `json:"d,omitempty"`
	Blob        *blob        `json:"g,omitempty"` // instead of a large result
	State       engine.State `json:"s"`           // stays Running after the lease has expired; see stateAt
	TookOver    bool         `json:"o,omitempty"`
	Fence       uint64       `json:"f"`
	Began       int64        `json:"b"`
	Lease       int64        `json:"l"` // when the claim expires
	Retained    int64        `json:"t"` // when the retention of the outcome ends
}

func (s *recordState) apply(c *command, x *effects) any {
	s.Tombs = unexpired(s.Tombs, x.now)
	if s.Entry != nil && x.now >= s.Entry.expires() {
		s.Entry = nil
	}
	switch c.Do {
	case doClaim:
		return s.claim(c, x)
	case doRenewClaim:
		if s.Entry == nil || !s.Entry.isRunning(c.Attempt, x.now) {
			return engine.ErrNotHolder
		}
		s.renewClaim(c, x)
		return nil
	case doSettle:
		return s.settle(c, x)
	case doAbandonClaim:
		return s.abandonClaim(c, x)
	case doLookup:
		return s.lookup(x.now)
	case doErase:
		return s.erase(x)
	case doTidy:
		return tidied(s, x)
	}
	return unknownCommand(c)
}

func (s *recordState) clone() state {
	t := *s
	t.Tombs = slices.Clone(s.Tombs)
	return &t
}

func (s *recordState) vacant() bool   { return s.Entry == nil && len(s.Tombs) == 0 }
func (s *recordState) fences() uint64 { return s.Floor }

func (s *recordState) lasts() int64 {
	last := lastOf(s.Tombs)
	if s.Entry != nil {
		last = max(last, s.Entry.expires())
	}
	return last
}

// expires returns when the record expires.
func (r *record) expires() int64 {
	if r.State == engine.Running {
		return max(r.Lease, r.Retained)
	}
	return r.Retained
}

// stateAt returns the state at a time: a claim that has expired without an outcome is
// Unknown.
func (r *record) stateAt(now int64) engine.State {
	if r.State == engine.Running && now >= r.Lease {
		return engine.Unknown
	}
	return r.State
}

// isRunning reports whether attempt holds the claim.
func (r *record) isRunning(attempt string, now int64) bool {
	return r.Attempt == attempt && r.stateAt(now) == engine.Running
}

// claim grants c, or answers the record that prevents it. The tombstone comes first: it
// refuses the attempt even if the key is free.
func (s *recordState) claim(c *command, x *effects) any {
	r := s.Entry
	switch {
	case marked(s.Tombs, "", c.Attempt):
		return abandonedError(s.key)
	case r == nil:
		s.begin(c, false, x)
	case c.Fingerprint != "" && r.Fingerprint != "" && r.Fingerprint != c.Fingerprint:
		return mismatchError(s.key)
	case r.isRunning(c.Attempt, x.now): // repeated, because the first reply was lost
		s.renewClaim(c, x)
	case c.TakeOver && r.stateAt(x.now) == engine.Unknown:
		s.begin(c, true, x)
	default:
		return s.lookup(x.now)
	}
	granted := s.lookup(x.now)
	granted.Granted, granted.TookOver = true, s.Entry.TookOver
	return granted
}

// begin starts a claim with a new fence. A claim without a fingerprint keeps the
// record's.
func (s *recordState) begin(c *command, tookOver bool, x *effects) {
	x.change()
	fingerprint := c.Fingerprint
	if fingerprint == "" && s.Entry != nil {
		fingerprint = s.Entry.Fingerprint
	}
	r := &record{
		Attempt: c.Attempt, Fingerprint: fingerprint, State: engine.Running, TookOver: tookOver,
		Began: x.now, Lease: x.now + c.Lease, Retained: x.now + c.Retain,
	}
	r.Fence, s.Floor = nextFence(s.Floor, 0, x.moment)
	s.Entry = r
}

// renewClaim restarts the lease and the retention of a claim. It shortens neither.
func (s *recordState) renewClaim(c *command, x *effects) {
	x.change()
	r := *s.Entry
	r.Lease, r.Retained = max(r.Lease, x.now+c.Lease), max(r.Retained, x.now+c.Retain)
	s.Entry = &r
}

// settle ends the claim of c's attempt. A settled outcome does not change.
func (s *recordState) settle(c *command, x *effects) any {
	r := s.Entry
	switch {
	case r == nil:
		return engine.AlreadyFree
	case r.Attempt != c.Attempt:
		return engine.NotYours
	case r.State != engine.Running: // a repeated settlement, whose first reply was lost
		return engine.Released
	case x.now >= r.Lease: // readers may have seen the outcome as unknown already
		return engine.AlreadyFree
	}
	x.change()
	from := x.now
	if c.FromStart {
		from = r.Began
	}
	until := from + c.Retain
	// With FromStart, the retention may have passed before the work ended.
	if c.Outcome == engine.Absent || until <= x.now {
		s.Entry = nil
	} else {
		ended := *r
		ended.State, ended.Retained = c.Outcome, until
		if c.Outcome != engine.Unknown {
			ended.Result, ended.Blob = c.Result, c.Blob
		}
		s.Entry = &ended
	}
	x.wake(recordTopic(s.key))
	return engine.Released
}

// abandonClaim undoes the claim of c's attempt. The tombstone refuses a claim that
// arrives later.
func (s *recordState) abandonClaim(c *command, x *effects) any {
	x.change()
	s.Tombs = putMark(s.Tombs, "", c.Attempt, x.now+c.Lease)
	r := s.Entry
	if r == nil || r.Attempt != c.Attempt || r.State != engine.Running {
		switch { // nothing to undo: the claim is another attempt's, or has its outcome
		case r == nil:
			return engine.AlreadyFree
		case r.Attempt != c.Attempt:
			return engine.NotYours
		}
		return engine.Released
	}
	s.Entry = nil
	if r.TookOver && x.now < r.Retained { // the claim took over an outcome that is still unknown
		unknown := *r
		unknown.State = engine.Unknown
		s.Entry = &unknown
	}
	x.wake(recordTopic(s.key))
	return engine.Released
}

// erase deletes the record and answers it as it was. A running claim stays: its attempt
// will settle it.
func (s *recordState) erase(x *effects) any {
	before := s.lookup(x.now)
	before.Result, before.blob = nil, nil
	if before.State != engine.Absent && before.State != engine.Running {
		x.change()
		s.Entry = nil
		x.wake(recordTopic(s.key))
	}
	return before
}

// lookup returns the record as callers see it.
func (s *recordState) lookup(now int64) found {
	r := s.Entry
	if r == nil {
		return found{Record: engine.Record{Key: s.key}}
	}
	state, until := r.stateAt(now), r.Retained
	if state == engine.Running {
		until = r.Lease
	}
	return found{engine.Record{
		Key: s.key, State: state, Fence: r.Fence, Began: time.UnixMilli(r.Began), Age: duration(now - r.Began),
		Left: duration(until - now), Fingerprint: unpack(r.Fingerprint), Result: slices.Clone(r.Result),
	}, r.Blob}
}

// blob returns the large result of the record, or nil.
func (s *recordState) blob() *blob {
	if s.Entry == nil {
		return nil
	}
	return s.Entry.Blob
}

// usesBlob reports whether the record has the large result of that id.
func (s *recordState) usesBlob(id string) bool {
	b := s.blob()
	return b != nil && b.ID == id
}
