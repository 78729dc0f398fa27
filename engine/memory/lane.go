package memory

import (
	"math"
	"math/bits"
)

// A lane is records that are kept about equally long, in the order in which they
// came, which is about that in which they end. So nothing has to be sorted, and
// nothing of the others is touched when one comes or goes. One that ends a little
// before others that came earlier is taken away after them.
type lane struct {
	class uint8
	first int64 // when the first of them ends; never if there is none
	n     int   // how many there are
	queue []waiting
	head  int // where in queue the first of them is
}

// waiting is a record in a lane. Its number is zero if it has left.
type waiting struct {
	until  int64
	number number
}

const (
	never = math.MaxInt64 // later than anything

	// aside is how many lanes further one goes at most that ends before the first in its
	// own: more would only help if each ended before the one before it, and would cost.
	aside = 2
)

// classOf tells spans apart that differ by more than a quarter.
func classOf(span int64) uint8 {
	u := uint64(max(span, 8)) //nolint:gosec // above zero
	octave := bits.Len64(u)
	return uint8(octave<<2 | int(u>>(octave-3))&3) //nolint:gosec // an octave is at most 63
}

// add puts r at the end, and tells it its place.
func (l *lane) add(x *records, r *record) {
	if len(l.queue) == cap(l.queue) && l.n < len(l.queue)/2 {
		l.pack(x)
	}
	if l.n++; l.n == 1 {
		l.first = r.expires
	}
	r.lane, r.place = l.class, uint32(len(l.queue)) //nolint:gosec // there are less than four billion
	l.queue = append(l.queue, waiting{r.expires, r.number})
}

// pack closes the gaps.
func (l *lane) pack(x *records) {
	to := 0
	for _, w := range l.queue[l.head:] {
		if w.number != 0 {
			x.at(w.number).place = uint32(to) //nolint:gosec // see add
			l.queue[to] = w
			to++
		}
	}
	l.queue, l.head = l.queue[:to], 0
}

// remove takes r out.
func (l *lane) remove(r *record) {
	l.queue[r.place].number, r.lane = 0, 0
	if l.n--; l.n == 0 {
		l.queue, l.head, l.first = l.queue[:0], 0, never
		return
	}
	for l.queue[l.head].number == 0 {
		l.head++
	}
	l.first = l.queue[l.head].until
}
