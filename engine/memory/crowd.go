package memory

import (
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// A crowd is those who hold a lock together, each for a lease of its own. The
// entry it belongs to ends when the first of them does, and begins again with
// the next, until nobody is left.
type crowd struct {
	holds  map[seat]*entry
	writer *entry // one of them, or nil
	expiry expiry
}

// rival returns one who keeps r out, or nil.
func (c *crowd) rival(r engine.Request) *entry {
	switch {
	case r.Kind == engine.Read && c.writes(r.Holder):
		return nil
	case r.Kind == engine.Read:
		return c.writer
	case r.Kind == engine.Permit && len(c.holds) < r.Limit:
		return nil
	}
	return c.somebody()
}

// somebody returns the writer, or who leaves first if nobody comes back.
func (c *crowd) somebody() *entry {
	if c.writer != nil {
		return c.writer
	}
	return c.expiry.first()
}

// reads reports whether holder is among those who read.
func (c *crowd) reads(holder string) bool {
	return c.holds[seat{kind: engine.Read, holder: holder}] != nil
}

// writes reports whether holder is the one who writes.
func (c *crowd) writes(holder string) bool { return c.writer != nil && c.writer.holder == holder }

// full reports whether there may be no more of that kind.
func (c *crowd) full(k engine.Kind) bool {
	return k == engine.Read && len(c.holds) >= engine.MaxReaders
}

func (c *crowd) add(at seat, h *entry) {
	c.holds[at] = h
	c.expiry.add(h)
	if h.kind == engine.Write {
		c.writer = h
	}
}

func (c *crowd) remove(at seat) {
	h := c.holds[at]
	delete(c.holds, at)
	c.expiry.remove(h)
	if h == c.writer {
		c.writer = nil
	}
}

// join puts h among those who hold the lock at its key, which is l unless there
// is none yet.
func (s *shard) join(l, h *entry, at seat) error {
	if l != nil && l.crowd.full(h.kind) {
		return fmt.Errorf("memory: %w: %q has %d readers, which are as many as there may be: read less of it at a time",
			engine.ErrFull, h.key, engine.MaxReaders)
	}
	if !s.room.take() {
		return errFull
	}
	if l == nil {
		l = &entry{key: h.key, kind: family(h.kind), expires: h.expires, crowd: &crowd{holds: make(map[seat]*entry)}}
		s.put(l)
	}
	l.crowd.add(at, h)
	s.retime(l)
	return nil
}

// quit takes the hold at a seat out of those that l is held by, and tells who may
// come in its stead. A reader makes way for nobody before the last one.
func (s *shard) quit(l *entry, at seat, now int64) (told int) {
	l.crowd.remove(at)
	s.room.giveBack(1)
	switch {
	case len(l.crowd.holds) == 0:
		s.drop(l)
	case at.kind == engine.Read:
		s.retime(l)
		return 0
	default:
		s.retime(l)
	}
	return s.beckon(l.key, l.kind, now)
}

// thin rids l of those whose leases are over.
func (s *shard) thin(l *entry, now int64) {
	for c := l.crowd; c.expiry.over(now); {
		s.quit(l, c.expiry.first().seat(), now)
	}
}

// retime lets l end when the first of those who hold it does.
func (s *shard) retime(l *entry) {
	l.expires = l.crowd.expiry.first().expires
	s.expiry.moved(l)
}
