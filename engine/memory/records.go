package memory

// records are what a shard knows of work.
//
// There may be millions, of which nearly none is looked at again: so they lie side by
// side in blocks, have numbers instead of addresses, and are used again, and there is
// little for the garbage collector to look at.
type records struct {
	index  index
	blocks [][]record
	spare  []number // records that are not used
	lanes  []lane   // in which those that are wait for their ends
	due    int64    // before then none ends
	text   int      // how many bytes the one has that was settled last: the next may have as many
}

// A number is what a record is known by in its shard, from one on.
type number uint32

const (
	// block is how many records lie side by side.
	block = 32

	// roomyText is how much a record that is not used may have kept, in bytes.
	roomyText = 1 << 10
)

func newRecords() records { return records{due: never} }

// at returns the record with a number.
func (x *records) at(n number) *record { return &x.blocks[(n-1)/block][(n-1)%block] }

// find returns the record at a key, or nil. The hash is the key's.
func (x *records) find(key string, hash uint64) *record {
	if x.index.n == 0 {
		return nil
	}
	tag := tagOf(hash)
	for at := x.index.place(tag); ; at = x.index.place(at + 1) {
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

// add returns a record for a key that has none. Nothing is known of it yet: it has to
// be begun, and to wait for its end.
func (x *records) add(key string, hash uint64) *record {
	r := x.at(x.unused())
	text := r.text[:0]
	if text == nil {
		text = make([]byte, 0, max(len(key), min(x.text, roomyText)))
	}
	*r = record{number: r.number, tag: tagOf(hash), text: append(text, key...), keyLen: uint32(len(key))} //nolint:gosec // nobody has keys of gigabytes
	x.index.put(slot{r.tag, r.number})
	return r
}

// unused returns the number of a record that is not used.
func (x *records) unused() number {
	if len(x.spare) == 0 {
		x.extend()
	}
	last := len(x.spare) - 1
	n := x.spare[last]
	x.spare = x.spare[:last]
	return n
}

// extend makes room for more.
func (x *records) extend() {
	more := make([]record, block)
	first := number(len(x.blocks)*block + 1) //nolint:gosec // less than four billion
	x.blocks = append(x.blocks, more)
	for i := block - 1; i >= 0; i-- {
		more[i].number = first + number(i)
		x.spare = append(x.spare, more[i].number)
	}
}

// remove forgets r.
func (x *records) remove(r *record) {
	x.leave(r)
	x.index.take(slot{r.tag, r.number})
	if cap(r.text) > roomyText || len(x.spare) > block+x.index.n {
		r.text = nil
	}
	x.spare = append(x.spare, r.number)
}

// wait puts r among those that wait for their ends for about as long as span. It may
// have waited before.
func (x *records) wait(r *record, span int64) {
	x.leave(r)
	class := classOf(span)
	l := x.lane(class)
	for l.class > class-aside && r.expires < l.first && l.n > 0 {
		l = x.lane(l.class - 1) // behind that first one it would be found too late
	}
	l.add(x, r)
	x.due = min(x.due, l.first)
}

// leave ends the waiting of r, if it does.
func (x *records) leave(r *record) {
	if r.lane != 0 {
		l := x.lane(r.lane)
		l.remove(r)
		x.due = min(x.due, l.first) // the next may end before the one that has left
	}
}

func (x *records) lane(class uint8) *lane {
	for i := range x.lanes {
		if x.lanes[i].class == class {
			return &x.lanes[i]
		}
	}
	x.lanes = append(x.lanes, lane{class: class, first: never})
	return &x.lanes[len(x.lanes)-1]
}

// over returns one that has ended by now, or nil.
func (x *records) over(now int64) *record {
	if now < x.due {
		return nil
	}
	x.due = never
	for i := range x.lanes {
		l := &x.lanes[i]
		if now >= l.first {
			x.due = 0 // there may be more
			return x.at(l.queue[l.head].number)
		}
		x.due = min(x.due, l.first)
	}
	return nil
}

// all calls yield for each.
func (x *records) all(yield func(*record) bool) {
	for _, s := range x.index.slots {
		if s.number != 0 && !yield(x.at(s.number)) {
			return
		}
	}
}
