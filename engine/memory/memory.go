// Package memory is the engine that lives in one process: the default, and the
// reference every other engine is compared to.
//
// It needs no server, starts no goroutine and has nothing to close. What it
// grants ends with the process, and other processes know nothing of it.
package memory

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
)

var (
	_ engine.Engine       = (*Engine)(nil)
	_ engine.Notifier     = (*Engine)(nil)
	_ engine.Latcher      = (*Engine)(nil)
	_ engine.Inspector    = (*Engine)(nil)
	_ engine.Fencer       = (*Engine)(nil)
	_ engine.Incarnations = (*Engine)(nil)
	_ engine.Prober       = (*Engine)(nil)
)

// shards is how many parts the keys are spread over, each with a mutex of its
// own: enough that two of a hundred cores seldom meet.
const shards = 64

// An Engine grants locks to the goroutines of this process. Use [New].
type Engine struct {
	id      string // of this memory, another one for each engine
	start   time.Time
	stepped atomic.Int64
	seed    maphash.Seed
	room    room
	notes   notes
	shards  [shards]shard
}

// An Option changes what [New] makes.
type Option func(*Engine)

// MaxKeys bounds how many holds, places in line, latches and their counts,
// records, and tombstones the engine keeps at a time, all together; what goes
// beyond is refused with [engine.ErrFull]. Records that are over may count for up to a
// quarter longer than they were kept. The default is four million, about a
// gigabyte, to which come the results that are kept. MaxKeys panics if n is not
// above zero.
func MaxKeys(n int) Option {
	if n <= 0 {
		panic(fmt.Sprintf("memory: MaxKeys(%d) would refuse every lock: leave it out for the default", n))
	}
	return func(e *Engine) { e.room.limit = int64(n) }
}

// New returns an engine in which every lock is free.
func New(opts ...Option) *Engine {
	e := &Engine{id: rand.Text(), start: time.Now(), seed: maphash.MakeSeed(), room: room{limit: 4_000_000}}
	for _, opt := range opts {
		opt(e)
	}
	for i := range e.shards {
		e.shards[i].open(&e.room)
	}
	return e
}

// Acquire implements [engine.Engine].
func (e *Engine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	if err := admitKind(ctx, r); err != nil {
		return engine.Grant{}, err
	}
	g, err := e.acquire(r)
	if errors.Is(err, errFull) {
		e.shedEverywhere()
		g, err = e.acquire(r)
	}
	return g, e.explain(err)
}

func (e *Engine) acquire(r engine.Request) (engine.Grant, error) {
	s, now := e.enter(r.Key)
	defer s.mu.Unlock()
	return s.acquire(r, now)
}

// Renew implements [engine.Engine].
func (e *Engine) Renew(ctx context.Context, rs []engine.Request) []error {
	errs := make([]error, len(rs))
	for i, r := range rs {
		if errs[i] = admit(ctx, r); errs[i] == nil {
			errs[i] = e.renew(r)
		}
	}
	return errs
}

func (e *Engine) renew(r engine.Request) error {
	s, now := e.enter(r.Key)
	defer s.mu.Unlock()
	return s.renew(r, now)
}

// Release implements [engine.Engine].
func (e *Engine) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	if err := admit(ctx, r); err != nil {
		return engine.ReleaseResult{}, err
	}
	s, now := e.enter(r.Key)
	defer s.mu.Unlock()
	return s.release(r, now), nil
}

// Abandon implements [engine.Engine].
func (e *Engine) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	if err := admit(ctx, r); err != nil {
		return engine.ReleaseResult{}, err
	}
	p, err := e.abandon(r)
	if errors.Is(err, errFull) {
		e.shedEverywhere()
		p, err = e.abandon(r)
	}
	return p, e.explain(err)
}

func (e *Engine) abandon(r engine.Request) (engine.ReleaseResult, error) {
	s, now := e.enter(r.Key)
	defer s.mu.Unlock()
	return s.abandon(r, now)
}

// Capabilities implements [engine.Engine].
func (e *Engine) Capabilities() engine.Capabilities {
	return engine.Capabilities{
		Kinds:    []engine.Kind{engine.Fair, engine.Read, engine.Write, engine.Permit, engine.Latch},
		Notifier: e, Latcher: e, Inspector: e, Ledger: ledger{e}, InProcess: true, Eraser: ledger{e}, Fencer: e, Incarnations: e, Notes: e, Prober: e,
	}
}

// enter locks the shard that key belongs to and rids it of some of what is over.
// The time is read under the mutex, so that within a shard it never runs back.
func (e *Engine) enter(key string) (s *shard, now int64) {
	s, _, now = e.find(key)
	return s, now
}

// find is enter for those who also need the hash of the key.
func (e *Engine) find(key string) (s *shard, hash uint64, now int64) {
	hash = maphash.String(e.seed, key)
	s = &e.shards[hash%shards]
	s.mu.Lock()
	now = e.now()
	s.shed(now)
	return s, hash, now
}

// shedEverywhere makes room for a lock when the shards that hold what is over
// are not those that are being used.
func (e *Engine) shedEverywhere() {
	for i := range e.shards {
		s := &e.shards[i]
		s.mu.Lock()
		s.shed(e.now())
		s.mu.Unlock()
	}
}

// explain turns errFull into what a person can act on.
func (e *Engine) explain(err error) error {
	if !errors.Is(err, errFull) {
		return err
	}
	return fmt.Errorf("memory: %w: it keeps %d holds, places in line, records and tombstones; "+
		"shorten the leases and what is retained, or raise the bound with memory.MaxKeys", engine.ErrFull, e.room.limit)
}
