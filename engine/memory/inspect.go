package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// page is how many locks are enough for one answer.
const page = 100

// List implements [engine.Inspector]. The cursor is the number of the shard to go
// on with.
func (e *Engine) List(ctx context.Context, pattern, cursor string) (locks []engine.Lock, next string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	from, err := shardAt(cursor)
	if err != nil {
		return nil, "", err
	}
	for ; from < shards && len(locks) < page; from++ {
		locks = append(locks, e.list(from, pattern)...)
	}
	return locks, cursorAt(from), nil
}

// shardAt is the number of the shard that a cursor says to go on with.
func shardAt(cursor string) (int, error) {
	from, err := strconv.Atoi(cmp.Or(cursor, "0"))
	if err != nil || from < 0 || from >= shards {
		return 0, fmt.Errorf("memory: there is no page %q: begin with an empty cursor", cursor)
	}
	return from, nil
}

// cursorAt is the cursor that says to go on with a shard, or to end after the last.
func cursorAt(shard int) string {
	if shard >= shards {
		return ""
	}
	return strconv.Itoa(shard)
}

// list returns the locks in one shard.
func (e *Engine) list(shard int, pattern string) (locks []engine.Lock) {
	s := &e.shards[shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	now := e.now()
	for key, l := range s.kept.locks {
		if l.sort == aLatch || !engine.Match(pattern, key) {
			continue
		}
		if seen, err := s.see(key, now); err == nil && len(seen.Holders) > 0 {
			locks = append(locks, seen)
		}
	}
	return locks
}

// Inspect implements [engine.Inspector].
func (e *Engine) Inspect(ctx context.Context, key string) (engine.Lock, error) {
	if err := ctx.Err(); err != nil {
		return engine.Lock{}, err
	}
	s, now := e.enter(key)
	defer s.mu.Unlock()
	return s.see(key, now)
}

// see returns what is at key.
func (s *shard) see(key string, now int64) (engine.Lock, error) {
	seen := engine.Lock{Key: key, Listeners: len(s.ears[topic{key: key}])}
	l := s.lock(key, now)
	switch {
	case l == nil:
	case l.sort == aLatch:
		return seen, fmt.Errorf("memory: %q is a latch, which nobody holds: %w", key, engine.ErrKind)
	default:
		seen.Kind, seen.Holders = l.somebody().kind, holders(l, now)
	}
	s.seeLine(&seen, l, now)
	return seen, nil
}

// seeLine adds those who wait. Nobody waits for a lock of another family than the
// one that is held.
func (s *shard) seeLine(seen *engine.Lock, l *entry, now int64) {
	for _, kind := range []engine.Kind{engine.Fair, engine.Read, engine.Permit} {
		q := s.line(engine.Request{Key: seen.Key, Kind: kind}, now)
		if q == nil || l != nil && l.kind != q.kind {
			continue
		}
		for _, w := range q.waiters {
			if !w.over(now) {
				seen.Waiters = append(seen.Waiters, engine.Waiter{Name: w.holder, Kind: w.kind, Left: time.Duration(w.expires - now)})
			}
		}
		if len(seen.Waiters) == 0 {
			continue
		}
		if l == nil || kind == engine.Fair {
			seen.Kind = kind
		}
		return
	}
}

// holders are those who hold l, the writer first and then as they came.
func holders(l *entry, now int64) (all []engine.Holder) {
	holds := l.holds()
	slices.SortFunc(holds, func(a, b *entry) int {
		return cmp.Or(-cmp.Compare(a.kind, b.kind), cmp.Compare(a.fence, b.fence))
	})
	for _, h := range holds {
		all = append(all, engine.Holder{
			Name: h.holder, Kind: h.kind, Count: h.count(), Fence: h.fence, Left: time.Duration(h.expires - now),
		})
	}
	return all
}
