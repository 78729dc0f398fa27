// Package memory is the embedded engine: the default, and the reference for every
// other engine.
//
// It needs no server, starts no goroutine and needs no Close. Its locks end with
// the process, and other processes do not see them.
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

// shards is the number of parts that the keys are spread over, each with its own
// mutex. It is large enough that a hundred cores seldom contend.
const shards = 64

// An Engine grants locks to the goroutines of this process. Use [New].
type Engine struct {
	id       string       // identifies this incarnation
	start    time.Time    // when New was called; now adds the monotonic time since
	stepped  atomic.Int64 // how far Step has moved the clock, in nanoseconds
	seed     maphash.Seed // seeds the hash that picks a key's shard
	capacity capacity     // shared by all shards
	notes    notes
	shards   [shards]shard
}

// An Option configures the engine that [New] returns.
type Option func(*Engine)

// MaxKeys bounds the number of holds, queue positions, latches and their counts,
// records, units of quotas, and tombstones, all together. Beyond it the engine returns
// [engine.ErrFull]. Expired records may count toward the limit for up to 25 % past
// their retention. Default: 4,000,000, about a gigabyte without stored results.
// MaxKeys panics if n is not above zero.
func MaxKeys(n int) Option {
	if n <= 0 {
		panic(fmt.Sprintf("memory: MaxKeys(%d): must be above zero; omit it for the default", n))
	}
	return func(e *Engine) { e.capacity.limit = int64(n) }
}

// MaxBytes bounds the bytes of stored results. Beyond it the engine refuses new claims
// with [engine.ErrFull], before their work begins. Results of running claims are always
// stored, so the sum may exceed MaxBytes by those. The process uses up to twice as much
// memory. Default: 268,435,456 (256 MiB). MaxBytes panics if n is not above zero.
func MaxBytes(n int64) Option {
	if n <= 0 {
		panic(fmt.Sprintf("memory: MaxBytes(%d): must be above zero; omit it for the default", n))
	}
	return func(e *Engine) { e.capacity.maxBytes = n }
}

// New returns an engine in which every lock is free.
func New(opts ...Option) *Engine {
	// The random ID tells a quorum that the locks of an earlier engine are gone.
	e := &Engine{id: rand.Text(), start: time.Now(), seed: maphash.MakeSeed()}
	e.capacity.limit, e.capacity.maxBytes = 4_000_000, 256<<20
	for _, opt := range opts {
		opt(e)
	}
	for i := range e.shards {
		e.shards[i].open(&e.capacity)
	}
	return e
}

// Acquire implements [engine.Engine].
func (e *Engine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	if err := checkAcquire(ctx, r); err != nil {
		return engine.Grant{}, err
	}
	g, err := e.acquire(r)
	if errors.Is(err, errFull) {
		e.sweepAll()
		g, err = e.acquire(r)
	}
	return g, e.explain(err)
}

// acquire makes one try under the mutex of the key's shard. Acquire repeats it after
// sweepAll, which locks every shard and must run without this mutex.
func (e *Engine) acquire(r engine.Request) (engine.Grant, error) {
	s, now := e.lockShard(r.Key)
	defer s.mu.Unlock()
	return s.acquire(r, now)
}

// Renew implements [engine.Engine].
func (e *Engine) Renew(ctx context.Context, rs []engine.Request) []error {
	errs := make([]error, len(rs))
	for i, r := range rs {
		if errs[i] = checkRequest(ctx, r); errs[i] == nil {
			errs[i] = e.renew(r)
		}
	}
	return errs
}

// renew is Renew for one request. It creates no entry, so it needs no capacity and no
// second try.
func (e *Engine) renew(r engine.Request) error {
	s, now := e.lockShard(r.Key)
	defer s.mu.Unlock()
	return s.renew(r, now)
}

// Release implements [engine.Engine].
func (e *Engine) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	if err := checkRequest(ctx, r); err != nil {
		return engine.ReleaseResult{}, err
	}
	s, now := e.lockShard(r.Key)
	defer s.mu.Unlock()
	return s.release(r, now), nil
}

// Abandon implements [engine.Engine].
func (e *Engine) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	if err := checkRequest(ctx, r); err != nil {
		return engine.ReleaseResult{}, err
	}
	p, err := e.abandon(r)
	if errors.Is(err, errFull) {
		e.sweepAll()
		p, err = e.abandon(r)
	}
	return p, e.explain(err)
}

// abandon makes one try; see acquire. Only the tombstone needs capacity.
func (e *Engine) abandon(r engine.Request) (engine.ReleaseResult, error) {
	s, now := e.lockShard(r.Key)
	defer s.mu.Unlock()
	return s.abandon(r, now)
}

// Capabilities implements [engine.Engine].
func (e *Engine) Capabilities() engine.Capabilities {
	return engine.Capabilities{
		Kinds:    []engine.Kind{engine.Fair, engine.Read, engine.Write, engine.Permit},
		Notifier: e, Latcher: e, Inspector: e, Ledger: ledger{e}, InProcess: true, Eraser: ledger{e}, Quotas: quotas{e}, Fencer: e, Incarnations: e, Notes: e, Prober: e,
	}
}

// lockShard locks the shard of key and sweeps it. It reads the time under the mutex, so
// that time never runs backwards within a shard.
func (e *Engine) lockShard(key string) (s *shard, now int64) {
	s, _, now = e.find(key)
	return s, now
}

// find is lockShard for callers that also need the hash of the key.
func (e *Engine) find(key string) (s *shard, hash uint64, now int64) {
	hash = maphash.String(e.seed, key)
	s = &e.shards[hash%shards]
	s.mu.Lock()
	now = e.now()
	s.sweep(now)
	return s, hash, now
}

// sweepAll sweeps every shard, to free capacity that expired entries of idle shards
// use. It locks one shard at a time, so that calls to the other shards continue.
func (e *Engine) sweepAll() {
	for i := range e.shards {
		s := &e.shards[i]
		s.mu.Lock()
		s.sweep(e.now())
		s.mu.Unlock()
	}
}

// explain turns errFull into an error with advice.
func (e *Engine) explain(err error) error {
	switch {
	case errors.Is(err, errFullBytes):
		return fmt.Errorf("memory: %w: its results have %d bytes, and %d are allowed; shorten the retention, "+
			"raise the limit with memory.MaxBytes, or use Redis", engine.ErrFull, e.capacity.bytes.Load(), e.capacity.maxBytes)
	case !errors.Is(err, errFull):
		return err
	}
	return fmt.Errorf("memory: %w: it has %d holds, queue positions, records and tombstones; "+
		"shorten leases and retention, or raise the limit with memory.MaxKeys", engine.ErrFull, e.capacity.limit)
}
