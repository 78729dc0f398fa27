package memory

// expiry is a heap of entries, ordered by when they expire. Entries know their
// index, so that they can be moved and removed without a search. The heap is
// 4-ary and stores the times beside the entries, so that sifting touches little
// memory.
type expiry []heapNode

// A heapNode is an entry with a copy of its expiry time. Comparing copies reads no entry;
// fix keeps the copy up to date.
type heapNode struct {
	at int64
	*entry
}

// arity is the number of children of a node. Four nodes of 16 bytes fill a cache line, so
// finding the earliest child is cheap. The heap is half as deep as a binary one.
const arity = 4

// first returns the entry that expires first. The heap must not be empty.
func (x expiry) first() *entry { return x[0].entry }

// expired reports whether the first entry has expired.
func (x expiry) expired(now int64) bool { return len(x) > 0 && now >= x[0].at }

// add puts e into the heap by its expiry time. An entry is in one heap at a time, because
// it has one index.
func (x *expiry) add(e *entry) {
	*x = append(*x, heapNode{e.expires, e})
	x.up(len(*x) - 1)
}

// remove removes e from the heap. The last node fills the gap, and may then have to move
// up or down.
func (x *expiry) remove(e *entry) {
	h, i := *x, e.index
	last := len(h) - 1
	moved := h[last]
	h[last] = heapNode{} // lets the garbage collector free the entry
	*x = h[:last]
	if i < last {
		h[i] = moved
		x.sift(i)
	}
}

// fix restores the order after the time of e has changed.
func (x expiry) fix(e *entry) {
	x[e.index].at = e.expires
	x.sift(e.index)
}

// sift moves the node at i up or down to its position.
func (x expiry) sift(i int) {
	if !x.up(i) {
		x.down(i)
	}
}

// up moves the node at i up, and reports whether it moved.
func (x expiry) up(i int) bool {
	d, from := x[i], i
	for i > 0 {
		parent := (i - 1) / arity
		if x[parent].at <= d.at {
			break
		}
		x.put(i, x[parent])
		i = parent
	}
	x.put(i, d)
	return i < from
}

// down moves the node at i down. Like up, it writes the node once, at its final position.
func (x expiry) down(i int) {
	d := x[i]
	for {
		child := x.soonest(arity*i + 1)
		if child < 0 || d.at <= x[child].at {
			break
		}
		x.put(i, x[child])
		i = child
	}
	x.put(i, d)
}

// soonest returns the child that expires first among those that begin at i, or -1.
func (x expiry) soonest(i int) int {
	if i >= len(x) {
		return -1
	}
	first := i
	for child := i + 1; child < min(i+arity, len(x)); child++ {
		if x[child].at < x[first].at {
			first = child
		}
	}
	return first
}

// put stores d at i and records the index in its entry, so that remove and fix need no
// search.
func (x expiry) put(i int, d heapNode) {
	x[i] = d
	d.index = i
}
