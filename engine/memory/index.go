package memory

// An index finds records by their tags. A tag is half of the hash of a key; two keys
// may share one. It is a hash table with linear probing: an operation usually touches
// one cache line, and the table has no pointers for the garbage collector to follow.
type index struct {
	slots []slot // their number is a power of two; at least a quarter are free
	n     int    // used slots
}

// A slot refers to a record. A free slot has number zero.
type slot struct {
	tag    uint32
	number number
}

// minSlots is the size of the first table: 128 bytes, or two cache lines.
const minSlots = 16

// tagOf returns the upper half of a hash. The lowest bits have picked the shard, so they
// are the same for all keys of a table.
func tagOf(hash uint64) uint32 { return uint32(hash >> 32) } //nolint:gosec // half of the hash

// wrap returns n modulo the size of the table.
func (x *index) wrap(n uint32) uint32 { return n & uint32(len(x.slots)-1) } //nolint:gosec // less than four billion

// put adds a record that is not in the table.
func (x *index) put(s slot) {
	if x.n >= len(x.slots)/4*3 {
		x.grow()
	}
	x.n++
	x.insert(s)
}

// insert stores s in the first free slot from its tag on. put keeps a quarter of the
// slots free, so the search ends.
func (x *index) insert(s slot) {
	at := x.wrap(s.tag)
	for x.slots[at].number != 0 {
		at = x.wrap(at + 1)
	}
	x.slots[at] = s
}

// grow doubles the table. The slots have the tags, so no record is read.
func (x *index) grow() {
	old := x.slots
	x.slots = make([]slot, max(minSlots, 2*len(old)))
	for _, s := range old {
		if s.number != 0 {
			x.insert(s)
		}
	}
}

// remove removes a record. Later records of the same probe sequence move up, so that
// no gap hides them.
func (x *index) remove(s slot) {
	gap := x.wrap(s.tag)
	for x.slots[gap] != s {
		gap = x.wrap(gap + 1)
	}
	for at := x.wrap(gap + 1); x.slots[at].number != 0; at = x.wrap(at + 1) {
		if home := x.wrap(x.slots[at].tag); x.wrap(at-home) >= x.wrap(at-gap) {
			x.slots[gap] = x.slots[at]
			gap = at
		}
	}
	x.slots[gap] = slot{}
	x.n--
}
