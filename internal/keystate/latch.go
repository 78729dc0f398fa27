package keystate

import (
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// A latch opens after as many counts as its limit.
type latch struct {
	Limit   int      `json:"n"`           // the first request's; later requests do not change it
	Counted []string `json:"a,omitempty"` // the attempts that counted; none when the latch is open
	Open    bool     `json:"o,omitempty"`
	Until   int64    `json:"u"`
}

// left returns how many counts are left.
func (l *latch) left() int {
	if l.Open {
		return 0
	}
	return l.Limit - len(l.Counted)
}

// countDown counts an attempt once and answers how many counts are left. Every call
// extends the lease of the latch, even a call that only reads.
func (s *lockState) countDown(c *Command, x *Effects) any {
	if kind, held := s.held(); held && kind != engine.Latch {
		return kindError(s.key, kind, engine.Latch)
	}
	x.change()
	if s.Latch == nil {
		s.Latch = &latch{Limit: c.Limit}
	}
	l := s.Latch
	l.Until = max(l.Until, x.Now+c.Lease)
	if l.Open || c.Attempt == "" || slices.Contains(l.Counted, c.Attempt) {
		return l.left()
	}
	if l.Counted = append(l.Counted, c.Attempt); l.left() <= 0 {
		l.Open, l.Counted = true, nil
		x.wake(KindTopic(s.key, engine.Latch))
	}
	return l.left()
}
