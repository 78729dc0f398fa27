package guard

import (
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// An inflight is the table of the keys that this process is claiming, works on, or has
// a recent answer for. Duplicates in this process use it instead of asking the engine.
type inflight struct {
	cacheFor         time.Duration // how long an answer is reused; zero: never
	maxWaitersPerKey int           // limit of callers that wait for one key
	maxWaiters       int           // limit of callers that wait for all keys together

	mu          sync.Mutex
	entries     map[string]*entry
	cached      []*entry // entries with an answer, oldest first
	cachedBytes int      // size of their results
	free        []*entry // evicted entries that no caller refers to, for reuse
	waiting     int
	timer       *time.Timer // runs sweep
	armed       bool
	closed      bool
}

const (
	// maxCached and maxCachedBytes bound the cached answers. The engine is asked
	// again for those that do not fit.
	maxCached      = 10_000
	maxCachedBytes = 16 << 20

	// maxFree bounds the entries kept for reuse. Entries are cached as fast as they
	// are evicted, so a few are enough.
	maxFree = 16
)

func newInflight(p Policy, s settings) *inflight {
	return &inflight{cacheFor: p.LocalCache, maxWaitersPerKey: s.maxWaitersPerKey, maxWaiters: s.maxWaiters, entries: make(map[string]*entry)}
}

// A snapshot is a copy of an entry's state.
type snapshot struct {
	entry     *entry
	mustClaim bool // the entry is new: its caller must ask the engine
	phase     phase
	rec       engine.Record
	changed   <-chan struct{}
}

// lookup returns the state of a key. If nothing usable is known, it adds an entry, and
// its caller must ask the engine.
func (f *inflight) lookup(key string, now time.Time) snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.evictExpired(now)
	e := f.entries[key]
	if e == nil || e.stale(now, f.cacheFor) {
		return snapshot{entry: f.replace(key, e), mustClaim: true}
	}
	v := snapshot{entry: e, phase: e.phase, rec: e.rec}
	switch e.phase {
	case running:
		v.rec = e.claim.record(now)
	case cached, remoteRunning, waitingRemote:
		v.rec.Left = max(0, v.rec.Left-now.Sub(e.updated))
		v.rec.Age += now.Sub(e.updated)
	}
	if e.phase == claiming || e.phase == waitingRemote || e.phase == running {
		if e.changed == nil {
			e.changed = make(chan struct{})
		}
		v.changed, e.shared = e.changed, true
	}
	return v
}

// replace adds an entry in place of old, which may be nil. It keeps old's subscription: a
// new subscription begins with a notification, which would make the next answer stale.
func (f *inflight) replace(key string, old *entry) *entry {
	e := f.newEntry(key)
	if old != nil {
		e.wake, e.stop, old.stop = old.wake, old.stop, nil
		f.drop(old)
	}
	f.entries[key] = e
	return e
}

// newEntry returns an entry for a key. It reuses old entries, since allocating one
// costs more than the rest of a lookup.
func (f *inflight) newEntry(key string) *entry {
	last := len(f.free) - 1
	if last < 0 {
		return &entry{key: key}
	}
	e := f.free[last]
	f.free = f.free[:last]
	*e = entry{key: key}
	return e
}

// setRunning records that this process works on the key.
func (f *inflight) setRunning(e *entry, c *claim) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.claim = c
	e.unsubscribe()
	f.setPhase(e, running)
}

// setWaitingRemote records that a caller waits for another process, which holds the claim.
func (f *inflight) setWaitingRemote(e *entry, rec engine.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.rec, e.updated = rec, time.Now()
	if e.phase == claiming {
		f.setPhase(e, waitingRemote)
	}
}

// cache stores an answer, which callers use for cacheFor.
func (f *inflight) cache(e *entry, rec engine.Record, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.phase == evicted {
		return
	}
	e.unsubscribe()
	f.store(e, rec, cached, now)
}

// cacheRemote records that another process holds the claim, until a notification says
// that the claim was settled.
func (f *inflight) cacheRemote(e *entry, a *answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.stop == nil {
		e.wake, e.stop = a.ledger.Watch(e.key)
	}
	f.store(e, a.rec, remoteRunning, a.received)
}

// store caches a record for its entry, and evicts the oldest answers above the limits.
func (f *inflight) store(e *entry, rec engine.Record, p phase, now time.Time) {
	if f.cacheFor == 0 {
		f.drop(e) // its waiters look up the key again
		return
	}
	e.rec, e.updated, e.claim = rec, now, nil
	f.setPhase(e, p)
	f.cached = append(f.cached, e)
	f.cachedBytes += len(rec.Result)
	for len(f.cached) > maxCached || f.cachedBytes > maxCachedBytes || f.closed && len(f.cached) > 0 {
		f.evictOldest()
	}
	f.armTimer()
}

// armTimer starts the timer, unless it runs or nothing is cached.
func (f *inflight) armTimer() {
	switch {
	case f.armed || len(f.cached) == 0:
		return
	case f.timer == nil:
		f.timer = time.AfterFunc(2*f.cacheFor, f.sweep)
	default:
		f.timer.Reset(2 * f.cacheFor)
	}
	f.armed = true
}

// sweep evicts expired answers, so that an idle guard keeps nothing.
func (f *inflight) sweep() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
	f.evictExpired(time.Now())
	f.armTimer()
}

// remove drops an entry. Its waiters get err, or look up the key again if err is nil.
func (f *inflight) remove(e *entry, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.err = err
	f.drop(e)
}

// evict drops the cached answer for a key.
func (f *inflight) evict(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.entries[key]; e != nil && (e.phase == cached || e.phase == remoteRunning) {
		f.drop(e)
	}
}

// errorOf returns why a removed entry has no answer; nil if it has one.
func (f *inflight) errorOf(e *entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return e.err
}

// evictExpired drops the answers that are older than twice cacheFor.
func (f *inflight) evictExpired(now time.Time) {
	for len(f.cached) > 0 && (f.cached[0].phase == evicted || now.Sub(f.cached[0].updated) >= 2*f.cacheFor) {
		f.evictOldest()
	}
}

// evictOldest drops the oldest answer. Its entry is reused, unless a waiter still refers to
// it.
func (f *inflight) evictOldest() {
	e := f.cached[0]
	f.cached[0] = nil
	f.cached = f.cached[1:]
	f.cachedBytes -= len(e.rec.Result)
	f.drop(e)
	if !e.shared && len(f.free) < maxFree { // no waiter can still read it
		f.free = append(f.free, e)
	}
}

// drop takes an entry out of the table and wakes its waiters.
func (f *inflight) drop(e *entry) {
	if e.phase == evicted {
		return
	}
	if f.entries[e.key] == e { // an operator's entry is not in the table
		delete(f.entries, e.key)
	}
	e.unsubscribe()
	e.claim = nil
	f.setPhase(e, evicted)
}

// setPhase changes the phase of an entry and wakes its waiters.
func (f *inflight) setPhase(e *entry, p phase) {
	e.phase = p
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// addWaiter counts a caller that waits for an entry. It reports false at the limit.
func (f *inflight) addWaiter(e *entry) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.waiters >= f.maxWaitersPerKey || f.waiting >= f.maxWaiters {
		return false
	}
	e.waiters++
	f.waiting++
	return true
}

// removeWaiter undoes addWaiter.
func (f *inflight) removeWaiter(e *entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.waiters--
	f.waiting--
}

// close drops all answers and their subscriptions.
func (f *inflight) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for len(f.cached) > 0 {
		f.evictOldest()
	}
	if f.timer != nil {
		f.timer.Stop()
	}
}
