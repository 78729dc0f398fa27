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
	// scanPage is about how many keys one call of List scans: few enough that it delays
	// other calls by less than 1 ms.
	scanPage = 200

	// revocationLife is the shortest time for which revoked attempts are recorded, so
	// that renewals of their holders fail with ErrRevoked.
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
		// SCAN matches Redis's patterns, which differ in detail from those of package
		// engine.
		if !ours || key == "" || isAuxiliary(name) || !engine.Match(pattern, key) {
			continue
		}
		l, err := e.Inspect(ctx, key)
		switch {
		case errors.Is(err, engine.ErrKind), errors.Is(err, errBraces): // not a lock
		case err != nil:
			return nil, "", err
		case len(l.Holders) > 0:
			locks = append(locks, l)
		}
	}
	return locks, next, nil
}

// candidates returns matching keys that may be locks.
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

// glob translates a pattern of package engine, after a literal prefix, to Redis's syntax.
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

// ForceRelease implements [engine.Inspector].
func (e *Engine) ForceRelease(ctx context.Context, key string) (engine.Lock, error) {
	found, err := e.inspect(ctx, key, forceReleaseScript)
	if err != nil {
		return engine.Lock{}, err
	}
	// The lock is released, so an error does not matter: the former holders also learn
	// of it when they renew.
	e.notifyClients(ctx, found.clients())
	return found.lock, nil
}

// inspect runs inspect.lua or force_release.lua.
func (e *Engine) inspect(ctx context.Context, key string, s *Script) (inspection, error) {
	if err := e.usable(ctx); err != nil {
		return inspection{}, err
	}
	name, err := e.name(key)
	if err != nil {
		return inspection{}, err
	}
	if isAuxiliary(name) { // a hash beside a lock may look like one
		return inspection{}, notLock(name)
	}
	c := e.call(s)
	defer c.free()
	// The kind is not known before the call, so the keys of all kinds are named.
	c.keys(name, lockChannel(name), fairQueue(name), fairQueueExpiry(name), readerQueue(name), writerQueue(name),
		permitQueue(name), queueExpiry(name), queueLease(name), permitFences(name))
	numsub := "NUMSUB"
	if e.mode() == Sharded {
		numsub = "SHARDNUMSUB"
	}
	c.args(numsub)
	if s == forceReleaseScript {
		c.keys(revokedKey(name), rwChannel(name), permitChannel(name))
		c.args(string(e.mode()), strconv.FormatInt(revocationLife.Milliseconds(), 10))
	}
	c.args(leasePrefix(name))
	reply, err := e.eval(ctx, c)
	switch {
	case err != nil:
		return inspection{}, e.explain(ctx, name, s, err)
	case reply.List[0].Text == "?":
		return inspection{}, notLock(name)
	}
	return parseInspection(key, reply.List), nil
}

// notifyClients tells clients that a lock of theirs was revoked.
func (e *Engine) notifyClients(ctx context.Context, ids []string) {
	for chunk := range slices.Chunk(ids, e.clientsPerCall()) {
		c := e.call(publishScript)
		for _, id := range chunk {
			c.keys(clientKey(id))
		}
		c.args(string(e.mode()))
		_, _ = e.eval(ctx, c)
		c.free()
	}
}
