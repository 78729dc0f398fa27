package memory

// sparse reports whether there is room for far more records than there are.
func (x *records) sparse() bool {
	room := len(x.blocks) * block
	return room > roomy && x.index.n < room/4
}

// packed returns the same records without what is not used. Their order in the lanes
// stays. It moves them, so nobody may have one at hand.
func (x *records) packed() records {
	y := newRecords()
	y.text = x.text
	for i := range x.lanes {
		l := &x.lanes[i]
		for _, w := range l.queue[l.head:] {
			if w.number != 0 {
				y.adopt(x.at(w.number))
			}
		}
	}
	return y
}

// adopt takes over a record of others, behind those that wait in its lane.
func (x *records) adopt(r *record) {
	n := x.unused()
	to := x.at(n)
	*to = *r
	to.number = n
	x.index.put(slot{to.tag, n})
	l := x.lane(to.lane)
	l.add(x, to)
	x.due = min(x.due, l.first)
}
