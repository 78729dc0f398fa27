package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A line is those who wait for a lock, in order. Its entry ends when something is
// to be done about the first of them, or before: who comes back to its place does
// not look for the others.
type line struct {
	entry
	waiters []*waiter
	looked  int64 // when somebody last did
}

// lineID is what a line is found by. Those who wait for locks of another family
// stand elsewhere.
type lineID struct {
	key  string
	kind engine.Kind
}

// line returns the line in which r waits, or nil if there is none. Exclusive
// locks have none.
func (s *shard) line(r engine.Request, now int64) *line {
	if len(s.kept.lines) == 0 || r.Kind == engine.Exclusive {
		return nil
	}
	id := lineID{r.Key, family(r.Kind)}
	q := s.kept.lines[id]
	if q != nil && (now >= q.expires || now < q.looked) {
		s.tidy(q, now)
		q = s.kept.lines[id]
	}
	if q != nil {
		q.looked = now
	}
	return q
}

// find returns how many places there are before that seat, or -1 if nobody waits
// there.
func (q *line) find(at seat) int {
	if q == nil {
		return -1
	}
	return slices.IndexFunc(q.waiters, func(w *waiter) bool { return w.seat() == at })
}

// upTo returns those who come before that place, or all if it is none.
func (q *line) upTo(at int) []*waiter {
	switch {
	case q == nil:
		return nil
	case at < 0:
		return q.waiters
	}
	return q.waiters[:at]
}

// before returns the first of those whom r must not pass, or nil. Readers pass
// each other, and everybody passes those whose places have run out.
func (q *line) before(r engine.Request, now int64) *entry {
	for _, w := range q.upTo(q.find(seatOf(r))) {
		if !w.over(now) && (r.Kind != engine.Read || w.kind == engine.Write) {
			return &w.entry
		}
	}
	return nil
}

// refuse tells r that by comes before it, and lets it stand in line if it wants to.
func (s *shard) refuse(by *entry, r engine.Request, now int64) error {
	busy := &engine.BusyError{Holder: by.holder, Left: time.Duration(by.expires - now)}
	if r.Kind == engine.Exclusive {
		return busy
	}
	q := s.line(r, now)
	at := q.find(seatOf(r))
	for _, w := range q.upTo(at) {
		if !w.over(now) {
			busy.Ahead++
		}
	}
	switch {
	case r.QueueLease <= 0:
	case at >= 0:
		q.waiters[at].keep(r.QueueLease, now)
	case !s.lineUp(q, r, now):
		return errFull
	}
	return busy
}

// lineUp puts r at the end of the line, and reports whether there was room.
func (s *shard) lineUp(q *line, r engine.Request, now int64) bool {
	if !s.room.take() {
		return false
	}
	w := newWaiter(r, now)
	if q == nil {
		q = &line{entry: entry{key: r.Key, kind: family(r.Kind), sort: aLine, expires: w.expires}, looked: now}
		s.kept.lines[lineID{q.key, q.kind}] = q
		s.put(&q.entry)
	}
	q.waiters = append(q.waiters, w)
	s.cut(&q.entry, w.expires)
	return true
}

// giveUp takes r out of the line, and reports whether it stood there.
func (s *shard) giveUp(r engine.Request, now int64) bool {
	q := s.line(r, now)
	at := q.find(seatOf(r))
	if at < 0 {
		return false
	}
	s.remain(q, slices.Delete(q.waiters, at, at+1))
	return true
}

// pass is giveUp for one who is granted the lock: those before it who did not come
// back in time have lost their places now.
func (s *shard) pass(r engine.Request, now int64) bool {
	q := s.line(r, now)
	if q == nil {
		return false
	}
	at := q.find(seatOf(r))
	passed := q.upTo(at)
	end := len(passed)
	if at >= 0 {
		end++
	}
	alive := slices.DeleteFunc(passed, func(w *waiter) bool { return w.over(now) })
	s.remain(q, slices.Delete(q.waiters, len(alive), end))
	return at >= 0
}

// remain lets only those stay in the line, which ends with the last.
func (s *shard) remain(q *line, waiters []*waiter) {
	s.room.giveBack(len(q.waiters) - len(waiters))
	q.waiters = waiters
	if len(waiters) == 0 {
		s.drop(&q.entry)
	}
}

// tidy rids the line of those who are forgotten, and tells who comes next if a
// place has run out. If the clock was set back, no place is kept for longer than
// it was asked for.
func (s *shard) tidy(q *line, now int64) {
	ranOut := false
	for _, w := range q.waiters {
		w.expires = min(w.expires, after(now, w.kept))
		ranOut = ranOut || w.over(now) && q.looked < w.expires
	}
	q.looked = now
	s.remain(q, slices.DeleteFunc(q.waiters, func(w *waiter) bool { return now >= w.forgotten() }))
	if len(q.waiters) == 0 {
		return
	}
	q.expires = slices.MinFunc(q.waiters, func(a, b *waiter) int { return cmp.Compare(a.due(now), b.due(now)) }).due(now)
	s.expiry.moved(&q.entry)
	if ranOut {
		s.beckon(q.key, q.kind, now)
	}
}
