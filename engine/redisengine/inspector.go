package redisengine

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

const (
	// page is about how many keys a call of List looks at: so few that no other
	// call waits a millisecond behind it.
	scanPage = 200

	// remembered is for how long a seizure is told to those who held the lock at
	// least.
	revocationLife = 2 * time.Minute
)

// List implements [engine.Inspector].
func (e *Engine) List(ctx context.Context, pattern, cursor string) (locks []engine.Lock, next string, err error) {
	if err := e.usable(ctx); err != nil {
		return nil, "", err
	}
	names, next, err := e.candidates(ctx, pattern, cursor)
	if err != nil {
		return nil, "", err
	}
	for _, name := range names {
		key, ours := strings.CutPrefix(name, e.prefix)
		if !ours || key == "" || isAuxiliary(name) || !engine.Match(pattern, key) {
			continue
		}
		l, err := e.Inspect(ctx, key)
		switch {
		case errors.Is(err, engine.ErrKind), errors.Is(err, errBraces): // somebody else's
		case err != nil:
			return nil, "", err
		case len(l.Holders) > 0:
			locks = append(locks, l)
		}
	}
	return locks, next, nil
}

// candidates returns names of keys that match and may be locks.
func (e *Engine) candidates(ctx context.Context, pattern, cursor string) (names []string, next string, err error) {
	reply, next, err := e.scan(ctx, cursor, func(cursor string) *Call {
		c := e.call(listScript)
		c.args(cursor, glob(e.prefix, pattern), strconv.Itoa(scanPage))
		return c
	})
	if err != nil {
		return nil, "", e.explain(ctx, pattern, listScript, err)
	}
	for _, item := range reply.List[1:] {
		names = append(names, item.Text)
	}
	return names, next, nil
}

// glob is a pattern of ours, behind a prefix that stands for itself, as Redis
// reads it.
func glob(prefix, pattern string) string {
	b := make([]byte, 0, len(prefix)+len(pattern)+8)
	for i := range len(prefix) {
		if strings.IndexByte(`*?[\`, prefix[i]) >= 0 {
			b = append(b, '\\')
		}
		b = append(b, prefix[i])
	}
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '[':
			b = append(b, '\\')
		case pattern[i] == '\\' && i+1 < len(pattern):
			b = append(b, '\\')
			i++
		}
		b = append(b, pattern[i])
	}
	return string(b)
}

// Inspect implements [engine.Inspector].
func (e *Engine) Inspect(ctx context.Context, key string) (engine.Lock, error) {
	found, err := e.inspect(ctx, key, inspectScript)
	return found.lock, err
}

// Seize implements [engine.Inspector].
func (e *Engine) ForceRelease(ctx context.Context, key string) (engine.Lock, error) {
	found, err := e.inspect(ctx, key, forceReleaseScript)
	if err != nil {
		return engine.Lock{}, err
	}
	// The lock is taken by now, whatever becomes of this: they learn of it when
	// they renew, too.
	e.notifyClients(ctx, found.clients())
	return found.lock, nil
}

// inspect runs one of the two scripts that tell what is at a key.
func (e *Engine) inspect(ctx context.Context, key string, s *Script) (inspection, error) {
	if err := e.usable(ctx); err != nil {
		return inspection{}, err
	}
	name, err := e.name(key)
	if err != nil {
		return inspection{}, err
	}
	if isAuxiliary(name) {
		return inspection{}, notLock(name)
	}
	c := e.call(s)
	defer c.free()
	c.keys(name, lockChannel(name), fairQueue(name), fairQueueExpiry(name), readerQueue(name), writerQueue(name),
		permitQueue(name), queueExpiry(name), queueLease(name), permitFences(name))
	ask := "NUMSUB"
	if e.publish == Sharded {
		ask = "SHARDNUMSUB"
	}
	c.args(ask)
	if s == forceReleaseScript {
		c.keys(revokedKey(name), rwChannel(name), permitChannel(name))
		c.args(string(e.publish), strconv.FormatInt(revocationLife.Milliseconds(), 10))
	}
	c.args(leasePrefix(name))
	reply, err := e.client.Eval(ctx, c)
	switch {
	case err != nil:
		return inspection{}, e.explain(ctx, name, s, err)
	case reply.List[0].Text == "?":
		return inspection{}, notLock(name)
	}
	return parseInspection(key, reply.List), nil
}

// tell lets clients know that something was taken from them.
func (e *Engine) notifyClients(ctx context.Context, ids []string) {
	for some := range slices.Chunk(ids, e.clientsPerCall()) {
		c := e.call(publishScript)
		for _, id := range some {
			c.keys(clientKey(id))
		}
		c.args(string(e.publish))
		_, _ = e.client.Eval(ctx, c)
		c.free()
	}
}
