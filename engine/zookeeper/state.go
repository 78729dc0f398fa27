package zookeeper

import "slices"

// A state is what a document says at one time. Its methods are deterministic: every
// client that applies the same commands at the same moment gets the same state.
type state interface {
	// apply executes a command. It first removes what has expired. The answer is an
	// error if the command was refused.
	apply(c *command, x *effects) any

	// clone returns a copy that apply may change.
	clone() state

	// vacant reports whether nothing is left. It is asked after apply, which removes
	// what has expired.
	vacant() bool

	// lasts returns when the last part of the state expires, in milliseconds since 1970.
	lasts() int64

	// fences returns the highest fence granted or reserved.
	fences() uint64
}

// A moment is when a transaction was committed.
type moment struct {
	now  int64  // the leader's clock, in milliseconds since 1970
	zxid uint64 // the id of the transaction, which rises over the ensemble's life
}

// fenceBits are the bits of a fence below the transaction's id. They tell apart the
// fences of one transaction, and leave space for reserves: a short reserve ends before
// the fence of the next transaction.
const fenceBits = 6

// fence returns the lowest fence of the transaction.
func (m moment) fence() uint64 { return m.zxid << fenceBits }

// effects are what commands do beyond the state.
type effects struct {
	moment
	changed bool     // the document must be written
	wakes   []string // the topics to notify
}

// change notes that the document must be written.
func (x *effects) change() { x.changed = true }

// wake notes that a topic must be notified.
func (x *effects) wake(topic string) {
	if !slices.Contains(x.wakes, topic) {
		x.wakes = append(x.wakes, topic)
	}
}

// nextFence returns the fence of a new grant, above floor, the highest fence that was
// granted or reserved. It also returns the new floor.
func nextFence(floor, reserve uint64, at moment) (fence, newFloor uint64) {
	fence = max(floor+1, at.fence())
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
