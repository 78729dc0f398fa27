package memory

import (
	"context"
	"errors"

	"github.com/interlock-go/interlock/engine"
)

// A latch opens after as many counts as its limit.
type latch struct {
	entry
	limit   int                 // the first request's; later requests do not change it
	counted map[string]struct{} // the attempts that counted; nil when the latch is open
	open    bool
}

// CountDown implements [engine.Latcher].
func (e *Engine) CountDown(ctx context.Context, r engine.Request) (left int, err error) {
	if err := checkCountDown(ctx, r); err != nil {
		return 0, err
	}
	left, err = e.countDown(r)
	if errors.Is(err, errFull) {
		e.sweepAll()
		left, err = e.countDown(r)
	}
	return left, e.explain(err)
}

// countDown makes one try; see Engine.acquire. Every call extends the lease of the latch,
// even a call that only reads.
func (e *Engine) countDown(r engine.Request) (left int, _ error) {
	s, now := e.lockShard(r.Key)
	defer s.mu.Unlock()
	l, err := s.latch(r, now)
	if err != nil {
		return 0, err
	}
	s.prolong(&l.entry, after(now, r.Lease))
	return s.count(l, r.Attempt, now)
}

// latch returns the latch of r, which it creates if necessary.
func (s *shard) latch(r engine.Request, now int64) (*latch, error) {
	switch l := s.lockAt(r.Key, now); {
	case l == nil:
	case l.class == classLatch:
		return s.store.latches[r.Key], nil
	default:
		return nil, wrongKind(l, r)
	}
	l := &latch{limit: r.Limit, counted: make(map[string]struct{})}
	l.entry = entry{key: r.Key, kind: engine.Latch, class: classLatch, expires: after(now, r.Lease)}
	if !s.tryPut(&l.entry) {
		return nil, errFull
	}
	s.store.latches[r.Key] = l
	return l, nil
}

// count counts an attempt once and returns how many counts are left. An empty attempt
// is not counted. An open latch needs no attempts, so they are dropped.
func (s *shard) count(l *latch, attempt string, now int64) (left int, _ error) {
	if _, counted := l.counted[attempt]; l.open || counted || attempt == "" {
		return l.left(), nil
	}
	if !s.capacity.take() {
		return 0, errFull
	}
	l.counted[attempt] = struct{}{}
	if l.left() == 0 {
		s.capacity.free(len(l.counted))
		l.open, l.counted = true, nil
		s.notifyNext(l.key, l.kind, now)
	}
	return l.left(), nil
}

// left returns how many counts are left.
func (l *latch) left() int {
	if l.open {
		return 0
	}
	return l.limit - len(l.counted)
}
