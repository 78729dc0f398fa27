// Package keystate has the rules of locks, records, quotas and notes for engines that store
// the whole state of a key as one document. An engine executes commands on the state with
// the server's time and the id of a transaction, and stores the new state.
//
// Times are whole milliseconds since 1970, and durations whole milliseconds.
package keystate

import (
	"encoding/json"
	"slices"
)

// The classes of documents.
const (
	Locks   = "locks"
	Records = "records"
	Quotas  = "quotas"
	Clients = "clients"
	Notes   = "notes"
)

// New returns an empty state for a document of a class.
func New(class, key string) State {
	switch class {
	case Locks:
		return &lockState{key: key}
	case Records:
		return &recordState{key: key}
	case Quotas:
		return &quotaState{}
	case Clients:
		return &memberState{}
	}
	return &noteState{name: key}
}

// Read returns the state that a text of JSON holds.
func Read(class, key string, text []byte) (State, error) {
	s := New(class, key)
	return s, json.Unmarshal(text, s)
}

// Execute applies commands to s, and returns their answers and effects. An answer is an
// error if the command was refused.
func Execute(s State, cs []Command, at Moment) (answers []any, x Effects) {
	x.Moment = at
	answers = make([]any, len(cs))
	for i := range cs {
		answers[i] = s.Apply(&cs[i], &x)
	}
	return answers, x
}

// Removable reports whether a transaction from a moment on may remove a document in this
// state. The next document at this key has the id of a later transaction, so its fences are
// higher, unless a reserve reaches that far.
func Removable(s State, at Moment) bool {
	return s.Vacant() && s.Fences() < Moment{ID: at.ID + 1}.Fence()
}

// A State is what a document says at one time. Its methods are deterministic: every
// client that applies the same commands at the same moment gets the same state.
type State interface {
	// Apply executes a command. It first removes what has expired. The answer is an
	// error if the command was refused.
	Apply(c *Command, x *Effects) any

	// Clone returns a copy that Apply may change.
	Clone() State

	// Vacant reports whether nothing is left. It is asked after Apply, which removes
	// what has expired.
	Vacant() bool

	// Lasts returns when the last part of the state expires, in milliseconds since 1970.
	Lasts() int64

	// Fences returns the highest fence granted or reserved.
	Fences() uint64
}

// A Moment is when a transaction was committed.
type Moment struct {
	Now int64  // the server's clock, in milliseconds since 1970
	ID  uint64 // the id of the transaction, which rises over the life of the server's data
}

// FenceBits are the bits of a fence below the transaction's id. They tell apart the
// fences of one transaction, and leave space for reserves: a short reserve ends before
// the fence of the next transaction.
const FenceBits = 6

// Fence returns the lowest fence of the transaction.
func (m Moment) Fence() uint64 { return m.ID << FenceBits }

// Effects are what commands do beyond the state.
type Effects struct {
	Moment
	Changed bool    // the document must be written
	Wakes   []Topic // the topics to notify
}

// change notes that the document must be written.
func (x *Effects) change() { x.Changed = true }

// wake notes that a topic must be notified.
func (x *Effects) wake(topic Topic) {
	if !slices.Contains(x.Wakes, topic) {
		x.Wakes = append(x.Wakes, topic)
	}
}

// nextFence returns the fence of a new grant, above floor, the highest fence that was
// granted or reserved. It also returns the new floor.
func nextFence(floor, reserve uint64, at Moment) (fence, newFloor uint64) {
	fence = max(floor+1, at.Fence())
	return fence, fence + reserve
}

// A mark is something that is known about an attempt until it expires: that it was
// abandoned or revoked.
type mark struct {
	Holder  string `json:"h,omitempty"` // empty for a claim
	Attempt string `json:"a"`
	Until   int64  `json:"u"`
}

// marked reports whether an attempt has a mark.
func marked(marks []mark, holder, attempt string) bool {
	return slices.ContainsFunc(marks, func(m mark) bool { return m.Holder == holder && m.Attempt == attempt })
}

// putMark adds a mark, or extends it.
func putMark(marks []mark, holder, attempt string, until int64) []mark {
	for i := range marks {
		if m := &marks[i]; m.Holder == holder && m.Attempt == attempt {
			m.Until = max(m.Until, until)
			return marks
		}
	}
	return append(marks, mark{holder, attempt, until})
}

// unexpired removes the marks that have expired.
func unexpired(marks []mark, now int64) []mark {
	return slices.DeleteFunc(marks, func(m mark) bool { return now >= m.Until })
}

// lastOf returns when the last of some marks expires.
func lastOf(marks []mark) (last int64) {
	for _, m := range marks {
		last = max(last, m.Until)
	}
	return last
}
