package mysql

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// page is how many documents one call of List looks at. Records hold their results, so a
// page may be large.
const page = 200

// List implements [engine.Inspector].
func (e *Engine) List(ctx context.Context, pattern, cursor string) (locks []engine.Lock, next string, err error) {
	next, err = e.list(ctx, keystate.Locks, pattern, cursor, func(s keystate.State, now int64) {
		if l, ok := keystate.LockOf(s, now); ok {
			locks = append(locks, l)
		}
	})
	return locks, next, err
}

// list calls add for the documents of one page of a class whose keys match pattern. The
// cursor is the id of the last one.
func (e *Engine) list(ctx context.Context, class, pattern, cursor string, add func(s keystate.State, now int64)) (next string, _ error) {
	if err := e.ready(ctx); err != nil {
		return "", err
	}
	from, err := hex.DecodeString(cursor)
	if err != nil {
		return "", fmt.Errorf("mysql: unknown cursor %q: begin with an empty one", cursor)
	}
	limited, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	var found []listed
	err = e.observe(ctx, "list", func() (err error) {
		found, next, err = e.pageAfter(limited, class, pattern, from)
		return err
	})
	if err != nil {
		return "", e.explain(ctx, attempt{operation: "list", err: err})
	}
	for i := range found {
		d := &found[i]
		s, err := d.state(class, d.key)
		if err != nil {
			continue // another program's row is no lock
		}
		s.Apply(&keystate.Command{Do: keystate.DoInspect}, &keystate.Effects{Moment: d.moment()})
		add(s, d.now)
	}
	return next, nil
}

// A listed document is one of a page.
type listed struct {
	document
	key string
}

// pageAfter reads a page. The bodies of documents whose keys do not match stay on the
// server.
func (e *Engine) pageAfter(ctx context.Context, class, pattern string, from []byte) (found []listed, next string, _ error) {
	conn, err := e.conn(ctx)
	if err != nil {
		return nil, "", err
	}
	defer giveBack(conn, true)
	rows, err := conn.QueryContext(ctx, e.sql(`SELECT id, serial, name, IF(name LIKE ? ESCAPE '|', body, ''), 0 FROM {p}document
WHERE class = ? AND id > ? ORDER BY id LIMIT ?; SELECT ms FROM {p}clock`), like(pattern), class, notNull(from), page)
	if err != nil {
		return nil, "", err
	}
	defer rows.Close() //nolint:errcheck // Err has its error
	n, last := 0, []byte(nil)
	for rows.Next() {
		var (
			d    listed
			name []byte
		)
		if err := rows.Scan(&last, &d.serial, &name, &d.body, &d.now); err != nil {
			return nil, "", err
		}
		n++
		if d.key = string(name); len(d.body) > 0 && engine.Match(pattern, d.key) {
			found = append(found, d)
		}
	}
	var now int64
	if !rows.NextResultSet() || !rows.Next() {
		return nil, "", fmt.Errorf("the answer has no time: %w", rows.Err())
	}
	if err := rows.Scan(&now); err != nil {
		return nil, "", err
	}
	for i := range found {
		found[i].now = now
	}
	if n == page {
		next = hex.EncodeToString(last)
	}
	return found, next, rows.Err()
}

// like translates a pattern of package engine to LIKE, byte by byte.
func like(pattern string) []byte {
	b := make([]byte, 0, len(pattern)+8)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*':
			b = append(b, '%')
		case c == '?':
			b = append(b, '_')
		case c == '\\' && i+1 < len(pattern):
			i++
			b = append(b, escapes(pattern[i])...)
		default:
			b = append(b, escapes(c)...)
		}
	}
	return b
}

// escapes returns what matches one byte. The escape character is no backslash, which means
// itself in some modes of the server.
func escapes(c byte) []byte {
	if c == '%' || c == '_' || c == '|' {
		return []byte{'|', c}
	}
	return []byte{c}
}

// Inspect implements [engine.Inspector].
func (e *Engine) Inspect(ctx context.Context, key string) (engine.Lock, error) {
	if err := e.check(ctx, key, nil); err != nil {
		return engine.Lock{}, err
	}
	l, err := read[engine.Lock](ctx, e, keystate.Locks, key, keystate.Command{Do: keystate.DoInspect})
	return e.listeners(l, key, err)
}

// ForceRelease implements [engine.Inspector].
func (e *Engine) ForceRelease(ctx context.Context, key string) (engine.Lock, error) {
	if err := e.check(ctx, key, nil); err != nil {
		return engine.Lock{}, err
	}
	l, err := ask[engine.Lock](ctx, e, keystate.Locks, key, keystate.Command{Do: keystate.DoForceRelease})
	return e.listeners(l, key, err)
}

// listeners adds this process to the listeners of a lock, if it is one.
func (e *Engine) listeners(l engine.Lock, key string, err error) (engine.Lock, error) {
	if err == nil && l.Listeners == 0 && e.notices.subscribed(keystate.KindTopic(key, engine.Exclusive)) {
		l.Listeners = 1
	}
	return l, err
}

// Watch implements [engine.Inspector].
func (e *Engine) Watch(id string) (wake <-chan struct{}, stop func()) {
	return e.notices.subscribe(keystate.ClientTopic(id))
}
