package memory

// expiry orders what a shard keeps by when it ends, soonest first: a binary heap
// whose entries know their places, so that one can be moved or taken out without
// being looked for.
type expiry []*entry

func (x *expiry) add(e *entry) {
	e.place = len(*x)
	*x = append(*x, e)
	x.up(e.place)
}

func (x *expiry) remove(e *entry) {
	h, i := *x, e.place
	last := len(h) - 1
	h.swap(i, last)
	h[last] = nil
	*x = h[:last]
	if i < last {
		x.moved((*x)[i])
	}
}

// moved puts e where it belongs after its time has changed.
func (x *expiry) moved(e *entry) {
	x.up(e.place)
	x.down(e.place)
}

func (x expiry) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if x[parent].expires <= x[i].expires {
			return
		}
		x.swap(i, parent)
		i = parent
	}
}

func (x expiry) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(x) {
			return
		}
		if right := child + 1; right < len(x) && x[right].expires < x[child].expires {
			child = right
		}
		if x[i].expires <= x[child].expires {
			return
		}
		x.swap(i, child)
		i = child
	}
}

func (x expiry) swap(i, j int) {
	x[i], x[j] = x[j], x[i]
	x[i].place, x[j].place = i, j
}
