package memory

// sparse reports whether less than a quarter of the allocated records are used. Moving
// that quarter costs less than the deletions that emptied the rest.
func (x *records) sparse() bool {
	size := len(x.blocks) * block
	return size > shrinkAbove && x.index.n < size/4
}

// packed returns the used records, keeping the order of each bucket. It moves them, so
// the caller must not keep pointers to records.
func (x *records) packed() records {
	y := newRecords()
	y.textHint = x.textHint
	for i := range x.buckets {
		b := &x.buckets[i]
		for _, item := range b.queue[b.head:] {
			if item.number != 0 {
				y.adopt(x.at(item.number))
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
	b := x.bucket(to.bucket)
	b.add(x, to)
	x.due = min(x.due, b.first)
}
