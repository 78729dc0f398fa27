package memory

// records are the records of a shard.
//
// There may be millions, and few of them are read again. So they are stored in blocks,
// referred to by numbers instead of pointers, and reused: the garbage collector has
// little to scan.
type records struct {
	index    index
	blocks   [][]record
	spare    []number       // unused records
	buckets  []expiryBucket // schedule the expiry of the used records
	due      int64          // no record expires earlier
	textHint int            // size of the last settled record, as a hint for the next
}

// A number identifies a record in its shard. The first is 1.
type number uint32

const (
	// block is the number of records in a block. A record has 96 bytes, so a block has 3
	// KiB.
	block = 32

	// maxSpareText is the largest text buffer that an unused record keeps, in bytes.
	maxSpareText = 1 << 10
)

func newRecords() records { return records{due: never} }

// at returns the record with the given number.
func (x *records) at(n number) *record { return &x.blocks[(n-1)/block][(n-1)%block] }

// find returns the record at a key, or nil. hash is the hash of the key.
func (x *records) find(key string, hash uint64) *record {
	if x.index.n == 0 {
		return nil
	}
	tag := tagOf(hash)
	for at := x.index.wrap(tag); ; at = x.index.wrap(at + 1) {
		s := x.index.slots[at]
		if s.number == 0 {
			return nil
		}
		if s.tag == tag {
			if r := x.at(s.number); string(r.key()) == key {
				return r
			}
		}
	}
}

// add returns an empty record for a new key. The caller begins and schedules it.
func (x *records) add(key string, hash uint64) *record {
	r := x.at(x.unused())
	text := r.text[:0]
	if text == nil {
		// The hint is large enough for the usual result, so that settling does not
		// allocate.
		text = make([]byte, 0, max(len(key), min(x.textHint, maxSpareText)))
	}
	*r = record{number: r.number, tag: tagOf(hash), text: append(text, key...), keyLen: uint32(len(key))} //nolint:gosec // far below 4 GiB
	x.index.put(slot{r.tag, r.number})
	return r
}

// unused returns the number of an unused record.
func (x *records) unused() number {
	if len(x.spare) == 0 {
		x.extend()
	}
	last := len(x.spare) - 1
	n := x.spare[last]
	x.spare = x.spare[:last]
	return n
}

// extend adds a block.
func (x *records) extend() {
	more := make([]record, block)
	first := number(len(x.blocks)*block + 1) //nolint:gosec // less than four billion
	x.blocks = append(x.blocks, more)
	// spare is a stack: in this order, neighbours are used one after the other.
	for i := block - 1; i >= 0; i-- {
		more[i].number = first + number(i)
		x.spare = append(x.spare, more[i].number)
	}
}

// remove deletes r.
func (x *records) remove(r *record) {
	x.unschedule(r)
	x.index.remove(slot{r.tag, r.number})
	// With more spare records than used ones, their buffers would only waste memory.
	if cap(r.text) > maxSpareText || len(x.spare) > block+x.index.n {
		r.text = nil
	}
	x.spare = append(x.spare, r.number)
}

// schedule moves r to the bucket for span, its retention.
func (x *records) schedule(r *record, span int64) {
	x.unschedule(r)
	class := classOf(span)
	b := x.bucket(class)
	for b.class > class-maxProbe && r.expires < b.first && b.n > 0 {
		b = x.bucket(b.class - 1) // behind the first record of its own bucket, r would be removed late
	}
	b.add(x, r)
	x.due = min(x.due, b.first)
}

// unschedule removes r from its bucket.
func (x *records) unschedule(r *record) {
	if r.bucket != 0 {
		b := x.bucket(r.bucket)
		b.remove(r)
		x.due = min(x.due, b.first) // the next record may expire earlier
	}
}

// bucket returns the bucket of a class, which it creates if necessary. Programs use few
// retentions, so the list is short. A later call may move the buckets: do not keep the
// pointer.
func (x *records) bucket(class uint8) *expiryBucket {
	for i := range x.buckets {
		if x.buckets[i].class == class {
			return &x.buckets[i]
		}
	}
	x.buckets = append(x.buckets, expiryBucket{class: class, first: never})
	return &x.buckets[len(x.buckets)-1]
}

// expired returns an expired record, or nil.
func (x *records) expired(now int64) *record {
	if now < x.due {
		return nil
	}
	x.due = never
	for i := range x.buckets {
		b := &x.buckets[i]
		if now >= b.first {
			x.due = 0 // there may be more
			return x.at(b.queue[b.head].number)
		}
		x.due = min(x.due, b.first)
	}
	return nil
}

// all iterates over the records.
func (x *records) all(yield func(*record) bool) {
	for _, s := range x.index.slots {
		if s.number != 0 && !yield(x.at(s.number)) {
			return
		}
	}
}
