package memory

// expiry orders what a shard keeps by when it ends, soonest first: a heap whose
// entries know their places, so that one can be moved or taken out without being
// looked for. It is four wide, and has the times beside the entries, so that to
// find the soonest of many touches little memory.
type expiry []due

type due struct {
	at int64
	*entry
}

// wide is how many children there are below each place.
const wide = 4

// first is what ends soonest. There must be something.
func (x expiry) first() *entry { return x[0].entry }

// over reports whether there is something that has ended by now.
func (x expiry) over(now int64) bool { return len(x) > 0 && now >= x[0].at }

func (x *expiry) add(e *entry) {
	*x = append(*x, due{e.expires, e})
	x.up(len(*x) - 1)
}

func (x *expiry) remove(e *entry) {
	h, i := *x, e.place
	last := len(h) - 1
	moved := h[last]
	h[last] = due{}
	*x = h[:last]
	if i < last {
		h[i] = moved
		x.settle(i)
	}
}

// moved puts e where it belongs after its time has changed.
func (x expiry) moved(e *entry) {
	x[e.place].at = e.expires
	x.settle(e.place)
}

// settle puts what is at i where it belongs.
func (x expiry) settle(i int) {
	if !x.up(i) {
		x.down(i)
	}
}

// up reports whether what was at i has gone up from there.
func (x expiry) up(i int) bool {
	d, from := x[i], i
	for i > 0 {
		parent := (i - 1) / wide
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
		child := x.soonest(wide*i + 1)
		if child < 0 || d.at <= x[child].at {
			break
		}
		x.put(i, x[child])
		i = child
	}
	x.put(i, d)
}

// soonest returns which of the children that begin at i ends first; -1 if there
// are none.
func (x expiry) soonest(i int) int {
	if i >= len(x) {
		return -1
	}
	first := i
	for other := i + 1; other < min(i+wide, len(x)); other++ {
		if x[other].at < x[first].at {
			first = other
		}
	}
	return first
}

func (x expiry) put(i int, d due) {
	x[i] = d
	d.place = i
}
