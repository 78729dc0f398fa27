package memory

// An index finds records by their tags, which are half of the hashes of their keys. It
// is a table in which each has the first free place from the one that its tag says: to
// find one, put it in or take it out nearly always touches one line of memory, and there
// is no address in it for the garbage collector to follow. Two keys may have one tag.
type index struct {
	slots []slot // as many as a power of two, of which a quarter at least is free
	n     int    // how many are used
}

// A slot is where a record is found; the number is zero if it is free.
type slot struct {
	tag    uint32
	number number
}

const leastSlots = 16

func tagOf(hash uint64) uint32 { return uint32(hash >> 32) } //nolint:gosec // half of it is meant

// place returns which place of the table n stands for: behind the last comes the first.
func (x *index) place(n uint32) uint32 { return n & uint32(len(x.slots)-1) } //nolint:gosec // less than four billion

// put lets a record be found that is not in the table.
func (x *index) put(s slot) {
	if x.n >= len(x.slots)/4*3 {
		x.grow()
	}
	x.n++
	x.fill(s)
}

func (x *index) fill(s slot) {
	at := x.place(s.tag)
	for x.slots[at].number != 0 {
		at = x.place(at + 1)
	}
	x.slots[at] = s
}

func (x *index) grow() {
	old := x.slots
	x.slots = make([]slot, max(leastSlots, 2*len(old)))
	for _, s := range old {
		if s.number != 0 {
			x.fill(s)
		}
	}
}

// take takes out a record that is in the table. Those behind it that would be nearer to
// where they belong in its place move up, so that no gap hides them.
func (x *index) take(s slot) {
	gap := x.place(s.tag)
	for x.slots[gap] != s {
		gap = x.place(gap + 1)
	}
	for at := x.place(gap + 1); x.slots[at].number != 0; at = x.place(at + 1) {
		if home := x.place(x.slots[at].tag); x.place(at-home) >= x.place(at-gap) {
			x.slots[gap] = x.slots[at]
			gap = at
		}
	}
	x.slots[gap] = slot{}
	x.n--
}
