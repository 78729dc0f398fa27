package memory

// expiry is a heap of entries, ordered by when they expire. Entries know their
// index, so that they can be moved and removed without a search. The heap is
// 4-ary and stores the times beside the entries, so that sifting touches little
// memory.
type expiry []due

type due struct {
	at int64
	*entry
}

// arity is the number of children of a node.
const arity = 4

// first returns the entry that expires first. The heap must not be empty.
func (x expiry) first() *entry { return x[0].entry }

// expired reports whether an entry has expired.
func (x expiry) expired(now int64) bool { return len(x) > 0 && now >= x[0].at }

func (x *expiry) add(e *entry) {
	*x = append(*x, due{e.expires, e})
	x.up(len(*x) - 1)
}

func (x *expiry) remove(e *entry) {
	h, i := *x, e.index
	last := len(h) - 1
	moved := h[last]
	h[last] = due{}
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

// sift moves the node at i to its position.
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
	for other := i + 1; other < min(i+arity, len(x)); other++ {
		if x[other].at < x[first].at {
			first = other
		}
	}
	return first
}

func (x expiry) put(i int, d due) {
	x[i] = d
	d.index = i
}
