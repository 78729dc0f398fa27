package memory

// sparse reports whether most of the blocks are unused. At a quarter, moving the rest
// costs less than the deletions before it.
func (x *records) sparse() bool {
	size := len(x.blocks) * block
	return size > shrinkAbove && x.index.n < size/4
}

// packed returns the records without unused ones, in the same order in their buckets.
// It moves them, so the caller must not keep pointers to records.
func (x *records) packed() records {
	y := newRecords()
	y.textHint = x.textHint
	for i := range x.buckets {
		l := &x.buckets[i]
		for _, w := range l.queue[l.head:] {
			if w.number != 0 {
				y.adopt(x.at(w.number))
			}
		}
	}
	return y
}

// adopt copies a record to the end of its bucket.
func (x *records) adopt(r *record) {
	n := x.unused()
	to := x.at(n)
	*to = *r
	to.number = n
	x.index.put(slot{to.tag, n})
	l := x.bucket(to.bucket)
	l.add(x, to)
	x.due = min(x.due, l.first)
}
