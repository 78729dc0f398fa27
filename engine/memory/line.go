package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A line is those who wait for a lock, in order. Each place ends by itself. Its
// entry ends when the first of them does, or before: who comes back to its place
// does not look for the others.
type line struct {
	entry
	waiters []*entry
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
	if q != nil && now >= q.expires {
		s.advance(q, now)
		return s.kept.lines[id]
	}
	return q
}

// find returns how many stand before that seat, or -1 if nobody waits there.
func (q *line) find(at seat) int {
	if q == nil {
		return -1
	}
	return slices.IndexFunc(q.waiters, func(w *entry) bool { return w.seat() == at })
}

func (q *line) len() int {
	if q == nil {
		return 0
	}
	return len(q.waiters)
}

// before returns the first of those whom r must not pass, or nil. Readers pass
// each other.
func (q *line) before(r engine.Request) *entry {
	if q == nil {
		return nil
	}
	mine := seatOf(r)
	for _, w := range q.waiters {
		if w.seat() == mine {
			return nil
		}
		if r.Kind != engine.Read || w.kind == engine.Write {
			return w
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
	switch at := q.find(seatOf(r)); {
	case at >= 0:
		busy.Ahead = at
		if r.Place > 0 {
			q.waiters[at].expires = max(q.waiters[at].expires, after(now, r.Place))
		}
	default:
		busy.Ahead = q.len()
		if r.Place > 0 && !s.lineUp(q, r, after(now, r.Place)) {
			return errFull
		}
	}
	return busy
}

// lineUp puts r at the end of the line, and reports whether there was room.
func (s *shard) lineUp(q *line, r engine.Request, until int64) bool {
	if !s.room.take() {
		return false
	}
	if q == nil {
		q = &line{entry: entry{key: r.Key, kind: family(r.Kind), sort: aLine, expires: until}}
		s.kept.lines[lineID{q.key, q.kind}] = q
		s.put(&q.entry)
	}
	q.waiters = append(q.waiters, &entry{key: r.Key, kind: r.Kind, holder: r.Holder, attempt: r.Attempt, expires: until})
	s.cut(&q.entry, until)
	return true
}

// giveUp takes r out of the line, and reports whether it stood there.
func (s *shard) giveUp(r engine.Request, now int64) bool {
	q := s.line(r, now)
	at := q.find(seatOf(r))
	if at < 0 {
		return false
	}
	q.waiters = slices.Delete(q.waiters, at, at+1)
	s.room.giveBack(1)
	if len(q.waiters) == 0 {
		s.drop(&q.entry)
	}
	return true
}

// advance rids the line of those who did not come back in time, and tells who
// comes next then.
func (s *shard) advance(q *line, now int64) {
	stood := len(q.waiters)
	q.waiters = slices.DeleteFunc(q.waiters, func(w *entry) bool { return now >= w.expires })
	s.room.giveBack(stood - len(q.waiters))
	if len(q.waiters) == 0 {
		s.drop(&q.entry)
		return
	}
	q.expires = slices.MinFunc(q.waiters, func(a, b *entry) int { return cmp.Compare(a.expires, b.expires) }).expires
	s.expiry.moved(&q.entry)
	if len(q.waiters) < stood {
		s.beckon(q.key, q.kind)
	}
}
