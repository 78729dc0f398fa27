package memory

import (
	"math"
	"math/bits"
)

// An expiryBucket queues records of about equal retention. They are queued in order
// of arrival, which is about the order in which they expire. So adding and removing
// needs no sorting and touches no other record. A record that expires a little before
// earlier ones is removed after them.
type expiryBucket struct {
	class uint8
	first int64 // when the first record expires, or never
	n     int   // number of records
	queue []bucketSlot
	head  int // index of the first record in queue
}

// A bucketSlot refers to a record. The number is zero after its removal.
type bucketSlot struct {
	until  int64
	number number
}

const (
	never = math.MaxInt64 // later than any time

	// maxProbe is how many lower buckets a record may go to when it expires before the
	// first record of its own bucket. More probes would cost time and help only rarely.
	maxProbe = 2
)

// classOf returns the bucket of a retention. Retentions in one bucket differ by a
// quarter at most.
func classOf(span int64) uint8 {
	u := uint64(max(span, 8)) //nolint:gosec // above zero
	// The two bits after the highest one split each octave into four buckets.
	octave := bits.Len64(u)
	return uint8(octave<<2 | int(u>>(octave-3))&3) //nolint:gosec // an octave is at most 63
}

// add queues r.
func (b *expiryBucket) add(x *records, r *record) {
	// If more than half of the queue is gaps, closing them is cheaper than growing it.
	if len(b.queue) == cap(b.queue) && b.n < len(b.queue)/2 {
		b.compact(x)
	}
	if b.n++; b.n == 1 {
		b.first = r.expires
	}
	r.bucket, r.position = b.class, uint32(len(b.queue)) //nolint:gosec // fewer than four billion
	b.queue = append(b.queue, bucketSlot{r.expires, r.number})
}

// compact closes the gaps.
func (b *expiryBucket) compact(x *records) {
	to := 0
	for _, w := range b.queue[b.head:] {
		if w.number != 0 {
			x.at(w.number).position = uint32(to) //nolint:gosec // see add
			b.queue[to] = w
			to++
		}
	}
	b.queue, b.head = b.queue[:to], 0
}

// remove removes r.
func (b *expiryBucket) remove(r *record) {
	b.queue[r.position].number, r.bucket = 0, 0
	if b.n--; b.n == 0 {
		b.queue, b.head, b.first = b.queue[:0], 0, never
		return
	}
	// Each gap is skipped once, so a removal takes constant time on average.
	for b.queue[b.head].number == 0 {
		b.head++
	}
	b.first = b.queue[b.head].until
}
