package memory

import (
	"context"
	"errors"

	"github.com/interlock-go/interlock/engine"
)

// A latch is closed until it has been counted down as often as its limit says.
type latch struct {
	entry
	limit   int
	counted map[string]struct{} // the attempts; none once it is open
	open    bool
}

// CountDown implements [engine.Latcher].
func (e *Engine) CountDown(ctx context.Context, r engine.Request) (left int, err error) {
	if err := admitCount(ctx, r); err != nil {
		return 0, err
	}
	left, err = e.countDown(r)
	if errors.Is(err, errFull) {
		e.shedEverywhere()
		left, err = e.countDown(r)
	}
	return left, e.explain(err)
}

func (e *Engine) countDown(r engine.Request) (left int, _ error) {
	s, now := e.enter(r.Key)
	defer s.mu.Unlock()
	l, err := s.latch(r, now)
	if err != nil {
		return 0, err
	}
	s.prolong(&l.entry, after(now, r.Lease))
	return s.count(l, r.Attempt, now)
}

// latch returns the latch that r is about. It comes into being closed.
func (s *shard) latch(r engine.Request, now int64) (*latch, error) {
	switch l := s.lock(r.Key, now); {
	case l == nil:
	case l.sort == aLatch:
		return s.kept.latches[r.Key], nil
	default:
		return nil, another(l, r)
	}
	l := &latch{limit: r.Limit, counted: make(map[string]struct{})}
	l.entry = entry{key: r.Key, kind: engine.Latch, sort: aLatch, expires: after(now, r.Lease)}
	if !s.keep(&l.entry) {
		return nil, errFull
	}
	s.kept.latches[r.Key] = l
	return l, nil
}

// count counts an attempt, unless it has been counted or is none, and returns how
// many are missing. Nobody has to be remembered once the latch is open.
func (s *shard) count(l *latch, attempt string, now int64) (left int, _ error) {
	if _, counted := l.counted[attempt]; l.open || counted || attempt == "" {
		return l.missing(), nil
	}
	if !s.room.take() {
		return 0, errFull
	}
	l.counted[attempt] = struct{}{}
	if l.missing() == 0 {
		s.room.giveBack(len(l.counted))
		l.open, l.counted = true, nil
		s.beckon(l.key, l.kind, now)
	}
	return l.missing(), nil
}

// missing is how often the latch is yet to be counted down.
func (l *latch) missing() int {
	if l.open {
		return 0
	}
	return l.limit - len(l.counted)
}
