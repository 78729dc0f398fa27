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

// page is how many locks fill a page. A page ends with a whole shard, so it may be
// longer.
const page = 100

// List implements [engine.Inspector]. The cursor is the number of the next shard.
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

// shardAt returns the shard of a cursor.
func shardAt(cursor string) (int, error) {
	from, err := strconv.Atoi(cmp.Or(cursor, "0"))
	if err != nil || from < 0 || from >= shards {
		return 0, fmt.Errorf("memory: unknown cursor %q: begin with an empty one", cursor)
	}
	return from, nil
}

// cursorAt returns the cursor of a shard, or "" after the last.
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
	for key, l := range s.store.locks {
		if l.class == classLatch || !engine.Match(pattern, key) {
			continue
		}
		// inspect may delete expired locks, which is allowed during a range over a map.
		if info, err := s.inspect(key, now); err == nil && len(info.Holders) > 0 {
			locks = append(locks, info)
		}
	}
	return locks
}

// Inspect implements [engine.Inspector].
func (e *Engine) Inspect(ctx context.Context, key string) (engine.Lock, error) {
	if err := ctx.Err(); err != nil {
		return engine.Lock{}, err
	}
	s, now := e.lockShard(key)
	defer s.mu.Unlock()
	return s.inspect(key, now)
}

// inspect returns the lock at key.
func (s *shard) inspect(key string, now int64) (engine.Lock, error) {
	info := engine.Lock{Key: key, Listeners: len(s.subscribers[topic{key: key}])}
	l := s.lockAt(key, now)
	switch {
	case l == nil:
	case l.class == classLatch:
		return info, fmt.Errorf("memory: %q holds a latch, not a lock: %w", key, engine.ErrKind)
	default:
		info.Kind, info.Holders = l.firstHolder().kind, holders(l, now)
	}
	s.inspectQueue(&info, l, now)
	return info, nil
}

// inspectQueue adds the waiters. A held lock has waiters of its own family only.
func (s *shard) inspectQueue(info *engine.Lock, l *entry, now int64) {
	// The list has one kind of each family that has queues.
	for _, kind := range []engine.Kind{engine.Fair, engine.Read, engine.Permit} {
		q := s.queue(engine.Request{Key: info.Key, Kind: kind}, now)
		if q == nil || l != nil && l.kind != q.kind {
			continue
		}
		for _, w := range q.waiters {
			if !w.expired(now) {
				info.Waiters = append(info.Waiters, engine.Waiter{Name: w.holder, Kind: w.kind, Left: time.Duration(w.expires - now)})
			}
		}
		if len(info.Waiters) == 0 {
			continue
		}
		// Only its queue tells a fair lock from an exclusive one.
		if l == nil || kind == engine.Fair {
			info.Kind = kind
		}
		return
	}
}

// holders returns the holders of l, the writer first, then in order of arrival.
func holders(l *entry, now int64) (all []engine.Holder) {
	holds := l.holds()
	slices.SortFunc(holds, func(a, b *entry) int {
		return cmp.Or(-cmp.Compare(a.kind, b.kind), cmp.Compare(a.fence, b.fence)) // fences rise in order of arrival
	})
	for _, h := range holds {
		all = append(all, engine.Holder{
			Name: h.holder, Kind: h.kind, Count: h.count(), Fence: h.fence, Left: time.Duration(h.expires - now),
		})
	}
	return all
}
