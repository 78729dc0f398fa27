package quorum

import (
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// holds are the locks that this process was granted, for what no single node knows:
// which of their fences was the answer, so that a repeated attempt is answered with
// the same; and where an attempt may still be on its way.
type holds struct {
	mu  sync.Mutex
	all map[identity]*hold
}

type identity struct{ key, holder string }

func identityOf(r engine.Request) identity { return identity{r.Key, r.Holder} }

// A hold is a lock that somebody has, through one attempt or more.
type hold struct {
	fence    uint64   // that was the answer
	agreed   bool     // most nodes have it
	fences   []uint64 // that each node has granted; zero if it has not
	attempts []string
	unsure   []bool    // where an attempt may still be on its way
	until    time.Time // when it is certainly over, unless renewed
}

// find returns a copy of what is known of r's hold; nil if nothing is.
func (h *holds) find(r engine.Request) *hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.all[identityOf(r)]
	if known == nil {
		return nil
	}
	copied := *known
	copied.fences = slices.Clone(known.fences)
	return &copied
}

// granted remembers what r was granted. If it goes on with a hold that was known,
// the same is true of it as before.
func (h *holds) granted(r engine.Request, fence uint64, agreed, same bool, fences []uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = make(map[identity]*hold)
	}
	h.shed()
	known := h.all[identityOf(r)]
	if known == nil || !same {
		known = &hold{fences: make([]uint64, len(fences)), unsure: make([]bool, len(fences))}
		h.all[identityOf(r)] = known
	}
	known.fence, known.agreed = fence, agreed || same && known.agreed
	for i, f := range fences {
		if f > 0 {
			known.fences[i] = f
		}
	}
	if !slices.Contains(known.attempts, r.Attempt) {
		known.attempts = append(known.attempts, r.Attempt)
	}
	known.prolong(r.Lease)
}

// saw remembers what a node has answered to r after most had, and reports whether r's
// attempt has its lock still.
func (h *holds) saw(r engine.Request, node int, fence uint64, unsure bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.all[identityOf(r)]
	if known == nil || !slices.Contains(known.attempts, r.Attempt) {
		return false
	}
	if fence > 0 {
		known.fences[node] = fence
	}
	known.unsure[node] = known.unsure[node] || unsure
	return true
}

// renewed lets r's hold be remembered for longer.
func (h *holds) renewed(r engine.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known := h.all[identityOf(r)]; known != nil {
		known.prolong(r.Lease)
	}
}

// leave forgets the hold of r's attempt, and returns at which nodes it may still be
// on its way; nil if at none.
func (h *holds) leave(r engine.Request) (unsure []bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.all[identityOf(r)]
	if known == nil {
		return nil
	}
	known.attempts = slices.DeleteFunc(known.attempts, func(a string) bool { return a == r.Attempt })
	if len(known.attempts) == 0 {
		delete(h.all, identityOf(r))
	}
	return known.unsure
}

// prolong keeps a hold in mind for two leases from now: it is over by then.
func (k *hold) prolong(lease time.Duration) {
	if until := time.Now().Add(min(lease, 1<<61)).Add(min(lease, 1<<61)); until.After(k.until) {
		k.until = until
	}
}

// shed forgets some of what is over: those who hold a lock may die without a word.
func (h *holds) shed() {
	now, looked := time.Now(), 0
	for id, k := range h.all {
		if now.After(k.until) {
			delete(h.all, id)
		}
		if looked++; looked == 4 {
			return
		}
	}
}
