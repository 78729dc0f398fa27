package keystate

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
	Blob        *Blob        `json:"g,omitempty"` // instead of a large result
	State       engine.State `json:"s"`           // stays Running after the lease has expired; see stateAt
	TookOver    bool         `json:"o,omitempty"`
	Fence       uint64       `json:"f"`
	Began       int64        `json:"b"`
	Lease       int64        `json:"l"` // when the claim expires
	Retained    int64        `json:"t"` // when the retention of the outcome ends
}

func (s *recordState) Apply(c *Command, x *Effects) any {
	s.Tombs = unexpired(s.Tombs, x.Now)
	if r := s.Entry; r != nil && x.Now >= r.expires() && (!c.Locked || r.Attempt != c.Attempt) {
		s.Entry = nil
	}
	switch c.Do {
	case DoClaim:
		return s.claim(c, x)
	case DoRenewClaim:
		if s.Entry == nil || !s.Entry.isRunning(c.Attempt, x.Now) {
			return engine.ErrNotHolder
		}
		s.renewClaim(c, x)
		return nil
	case DoSettle:
		return s.settle(c, x)
	case DoAbandonClaim:
		return s.abandonClaim(c, x)
	case DoLookup:
		return s.lookup(x.Now)
	case DoErase:
		return s.erase(x)
	case DoTidy:
		return tidied(s, x)
	}
	return unknownCommand(c)
}

func (s *recordState) Clone() State {
	t := *s
	t.Tombs = slices.Clone(s.Tombs)
	return &t
}

func (s *recordState) Vacant() bool   { return s.Entry == nil && len(s.Tombs) == 0 }
func (s *recordState) Fences() uint64 { return s.Floor }

func (s *recordState) Lasts() int64 {
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
func (s *recordState) claim(c *Command, x *Effects) any {
	r := s.Entry
	switch {
	case marked(s.Tombs, "", c.Attempt):
		return abandonedError(s.key)
	case r == nil:
		s.begin(c, false, x)
	case c.Fingerprint != "" && r.Fingerprint != "" && r.Fingerprint != c.Fingerprint:
		return mismatchError(s.key)
	case r.isRunning(c.Attempt, x.Now): // repeated, because the first reply was lost
		s.renewClaim(c, x)
	case c.TakeOver && r.stateAt(x.Now) == engine.Unknown:
		s.begin(c, true, x)
	default:
		return s.lookup(x.Now)
	}
	granted := s.lookup(x.Now)
	granted.Granted, granted.TookOver = true, s.Entry.TookOver
	return granted
}

// begin starts a claim with a new fence. A claim without a fingerprint keeps the
// record's.
func (s *recordState) begin(c *Command, tookOver bool, x *Effects) {
	x.change()
	fingerprint := c.Fingerprint
	if fingerprint == "" && s.Entry != nil {
		fingerprint = s.Entry.Fingerprint
	}
	r := &record{
		Attempt: c.Attempt, Fingerprint: fingerprint, State: engine.Running, TookOver: tookOver,
		Began: x.Now, Lease: x.Now + c.Lease, Retained: x.Now + c.Retain,
	}
	r.Fence, s.Floor = nextFence(s.Floor, 0, x.Moment)
	s.Entry = r
}

// renewClaim restarts the lease and the retention of a claim. It shortens neither.
func (s *recordState) renewClaim(c *Command, x *Effects) {
	x.change()
	r := *s.Entry
	r.Lease, r.Retained = max(r.Lease, x.Now+c.Lease), max(r.Retained, x.Now+c.Retain)
	s.Entry = &r
}

// settle ends the claim of c's attempt. A settled outcome does not change.
func (s *recordState) settle(c *Command, x *Effects) any {
	r := s.Entry
	switch {
	case r == nil:
		return engine.AlreadyFree
	case r.Attempt != c.Attempt:
		return engine.NotYours
	case r.State != engine.Running: // a repeated settlement, whose first reply was lost
		return engine.Released
	case x.Now >= r.Lease && !c.Locked: // readers may have seen the outcome as unknown already
		return engine.AlreadyFree
	}
	x.change()
	from := x.Now
	if c.FromStart {
		from = r.Began
	}
	until := from + c.Retain
	// With FromStart, the retention may have passed before the work ended.
	if c.Outcome == engine.Absent || until <= x.Now {
		s.Entry = nil
	} else {
		ended := *r
		ended.State, ended.Retained = c.Outcome, until
		if c.Outcome != engine.Unknown {
			ended.Result, ended.Blob = c.Result, c.Blob
		}
		s.Entry = &ended
	}
	x.wake(RecordTopic(s.key))
	return engine.Released
}

// abandonClaim undoes the claim of c's attempt. The tombstone refuses a claim that
// arrives later.
func (s *recordState) abandonClaim(c *Command, x *Effects) any {
	x.change()
	s.Tombs = putMark(s.Tombs, "", c.Attempt, x.Now+c.Lease)
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
	if r.TookOver && x.Now < r.Retained { // the claim took over an outcome that is still unknown
		unknown := *r
		unknown.State = engine.Unknown
		s.Entry = &unknown
	}
	x.wake(RecordTopic(s.key))
	return engine.Released
}

// erase deletes the record and answers it as it was. A running claim stays: its attempt
// will settle it.
func (s *recordState) erase(x *Effects) any {
	before := s.lookup(x.Now)
	before.Result, before.Blob = nil, nil
	if before.State != engine.Absent && before.State != engine.Running {
		x.change()
		s.Entry = nil
		x.wake(RecordTopic(s.key))
	}
	return before
}

// lookup returns the record as callers see it.
func (s *recordState) lookup(now int64) Found {
	r := s.Entry
	if r == nil {
		return Found{Record: engine.Record{Key: s.key}}
	}
	state, until := r.stateAt(now), r.Retained
	if state == engine.Running {
		until = r.Lease
	}
	return Found{engine.Record{
		Key: s.key, State: state, Fence: r.Fence, Began: time.UnixMilli(r.Began), Age: Duration(now - r.Began),
		Left: Duration(until - now), Fingerprint: Unpack(r.Fingerprint), Result: slices.Clone(r.Result),
	}, r.Blob}
}

// A Found is a record, and where its large result is.
type Found struct {
	engine.Record
	Blob *Blob
}

// A Blob is a large result that the engine stores outside of the document.
type Blob struct {
	ID     string `json:"i"`
	Chunks int    `json:"n"`
}

// BlobOf returns the large result of a record, or nil.
func BlobOf(s State) *Blob {
	if r, ok := s.(*recordState); ok && r.Entry != nil {
		return r.Entry.Blob
	}
	return nil
}

// RecordOf returns the record of a state at a time, without its result. It reports false if
// there is none. Nothing that has expired may be left in s.
func RecordOf(s State, now int64) (engine.Record, bool) {
	r, ok := s.(*recordState)
	if !ok || r.Entry == nil {
		return engine.Record{}, false
	}
	found := r.lookup(now).Record
	found.Result = nil
	return found, true
}
