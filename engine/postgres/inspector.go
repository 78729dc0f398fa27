package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/engine"
)

// minRevocation is the shortest time for which renewals of former holders fail with
// ErrRevoked.
const minRevocation = 2 * time.Minute

// List implements [engine.Inspector].
func (e *Engine) List(ctx context.Context, pattern, cursor string) (locks []engine.Lock, next string, err error) {
	if err := e.usable(ctx); err != nil {
		return nil, "", err
	}
	from, err := after(cursor)
	if err != nil {
		return nil, "", err
	}
	s := &statement{name: "list", sql: e.pageSQL("hold", "x.key"), args: []any{from, like(pattern), int64(scanPage)}}
	var (
		p    page
		keys []string
		seen = make(map[string]bool)
	)
	s.scan = func(rows pgx.Rows) error {
		var key []byte
		if err := rows.Scan(&p.last, &p.full, &key); err != nil {
			return err
		}
		// A lock with several holders has several rows.
		if key != nil && !seen[string(key)] && matches(pattern, key) {
			seen[string(key)] = true
			keys = append(keys, string(key))
		}
		return nil
	}
	if err := e.run(ctx, s); err != nil || len(keys) == 0 {
		return nil, p.next(), err
	}
	found, err := e.inspect(ctx, keys)
	if err != nil {
		return nil, "", err
	}
	for _, key := range keys {
		if l, err := found[key].lock(key); err == nil && len(l.Holders) > 0 {
			locks = append(locks, l)
		}
	}
	return locks, p.next(), nil
}

// Inspect implements [engine.Inspector].
func (e *Engine) Inspect(ctx context.Context, key string) (engine.Lock, error) {
	if err := e.checkKey(ctx, key); err != nil {
		return engine.Lock{}, err
	}
	found, err := e.inspect(ctx, []string{key})
	if err != nil {
		return engine.Lock{}, err
	}
	return found[key].lock(key)
}

// ForceRelease implements [engine.Inspector].
func (e *Engine) ForceRelease(ctx context.Context, key string) (engine.Lock, error) {
	if err := e.checkKey(ctx, key); err != nil {
		return engine.Lock{}, err
	}
	var found inspection
	s := e.call("force_release", key, []byte(key), micros(minRevocation), e.wait())
	s.scan = func(rows pgx.Rows) error {
		_, err := found.read(rows)
		return err
	}
	if err := e.run(ctx, s); err != nil {
		return engine.Lock{}, err
	}
	if found.locked {
		return engine.Lock{}, lockedError(s)
	}
	return found.lock(key)
}

func (e *Engine) checkKey(ctx context.Context, key string) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if key == "" {
		return errors.New("postgres: the key of the lock is empty: set it")
	}
	return nil
}

// inspect returns what is at some keys.
func (e *Engine) inspect(ctx context.Context, keys []string) (map[string]inspection, error) {
	ids, byID := make([][]byte, len(keys)), make(map[string]string)
	for i, key := range keys {
		id := sha256.Sum256([]byte(key))
		ids[i], byID[string(id[:])] = id[:], key
	}
	s := e.call("inspect", "", ids)
	if len(keys) == 1 {
		s.key = keys[0]
	}
	found := make(map[string]inspection)
	s.scan = func(rows pgx.Rows) error {
		var one inspection
		id, err := one.read(rows)
		key := byID[string(id)]
		found[key] = found[key].merge(one)
		return err
	}
	return found, e.run(ctx, s)
}

// An inspection is the answer of the functions inspect and force_release about one key.
type inspection struct {
	holders   []engine.Holder
	waiters   []engine.Waiter
	listeners int
	latch     bool
	locked    bool
}

// read adds one row, and returns the ID of its key.
func (f *inspection) read(rows pgx.Rows) (id []byte, err error) {
	var (
		part, kind, entries, fence, left int64
		name                             []byte
		attempts                         [][]byte
	)
	if err := rows.Scan(&id, &part, &kind, &name, &entries, &fence, &left, &attempts); err != nil {
		return nil, err
	}
	k := engine.Kind(kind)
	switch part {
	case 1:
		f.holders = append(f.holders, engine.Holder{Name: string(name), Kind: k, Count: int(entries), Fence: uint64(fence), Left: duration(left)})
	case 2:
		f.waiters = append(f.waiters, engine.Waiter{Name: string(name), Kind: k, Left: duration(left)})
	case 3:
		f.latch = true
	case 4:
		f.listeners = int(entries)
	default:
		f.locked = true
	}
	return id, nil
}

// merge adds the rows of another answer about the same key.
func (f inspection) merge(g inspection) inspection {
	f.holders, f.waiters = append(f.holders, g.holders...), append(f.waiters, g.waiters...)
	f.listeners += g.listeners
	f.latch = f.latch || g.latch
	return f
}

// lock returns the lock at key.
func (f inspection) lock(key string) (engine.Lock, error) {
	l := engine.Lock{Key: key, Holders: f.holders, Listeners: f.listeners}
	if f.latch {
		return l, failureOf(fmt.Sprintf("postgres: %q holds a latch, not a lock, and was not changed", key), engine.ErrKind)
	}
	if len(f.holders) > 0 {
		l.Kind = f.holders[0].Kind
	}
	// A held lock has waiters of its own family only. A free one shows its first queue.
	for _, w := range f.waiters {
		switch {
		case len(f.holders) > 0 && family(w.Kind) != family(l.Kind):
			continue
		case len(f.holders) == 0 && len(l.Waiters) > 0 && family(w.Kind) != family(l.Waiters[0].Kind):
			continue
		}
		l.Waiters = append(l.Waiters, w)
	}
	if len(l.Waiters) == 0 {
		return l, nil
	}
	// Only its queue tells a fair lock from an exclusive one.
	switch first := l.Waiters[0].Kind; {
	case family(first) == engine.Exclusive:
		l.Kind = engine.Fair
	case len(l.Holders) == 0:
		l.Kind = family(first)
	}
	return l, nil
}
