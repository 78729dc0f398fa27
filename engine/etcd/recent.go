package etcd

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// recentLimit is how many holds an engine remembers.
const recentLimit = 8192

// recent is what an engine remembers of its latest calls, to save reads. All of it may be
// outdated: a change whose condition does not hold reads the lock.
type recent struct {
	seed   maphash.Seed
	busy   [1024]atomic.Bool // by the hash of a lock's name: the last request was refused
	fences atomic.Pointer[fences]
	term   atomic.Uint64 // the highest raft term in an answer

	revision atomic.Int64 // the highest revision in an answer

	mu    sync.Mutex
	holds map[string]*hold // by key; they have a single attempt
}

func (r *recent) open() {
	r.seed = maphash.MakeSeed()
	r.fences.Store(&fences{})
	r.holds = make(map[string]*hold)
}

// saw remembers the raft term and the revision of an answer. Both only rise.
func (r *recent) saw(term uint64, revision int64) {
	for old := r.term.Load(); term > old && !r.term.CompareAndSwap(old, term); {
		old = r.term.Load()
	}
	for old := r.revision.Load(); revision > old && !r.revision.CompareAndSwap(old, revision); {
		old = r.revision.Load()
	}
}

// busyAt returns the mark of the lock of that name. Locks with the same hash share it.
func (r *recent) busyAt(name string) *atomic.Bool {
	return &r.busy[maphash.String(r.seed, name)%uint64(len(r.busy))]
}

// granted remembers a hold.
func (r *recent) granted(h *hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.holds) >= recentLimit { // many of them may have ended elsewhere
		clear(r.holds)
	}
	r.holds[h.key] = h
}

// forget removes a hold, and returns it if it was remembered.
func (r *recent) forget(key string) *hold {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.holds[key]
	delete(r.holds, key)
	return h
}
