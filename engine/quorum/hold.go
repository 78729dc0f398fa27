package quorum

import (
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// holds are the locks of this process, with what no single node knows: which fence was
// returned, so that a repeated attempt gets the same one, and at which nodes a request
// may still be pending.
type holds struct {
	mu  sync.Mutex // guards all, and the holds in it
	all map[holdKey]*hold
}

// A holdKey identifies a hold. All attempts of a holder share one, as they do at the
// nodes.
type holdKey struct{ key, holder string }

func holdKeyOf(r engine.Request) holdKey { return holdKey{r.Key, r.Holder} }

// A hold is a held lock with one or more attempts.
type hold struct {
	fence        uint64   // as returned to the caller
	agreed       bool     // a majority has that fence
	fences       []uint64 // by node; zero if not granted
	attempts     []string
	maybePending []bool    // by node: a request may still arrive
	until        time.Time // when sweep may remove the hold
}

// find returns a copy of r's hold, or nil.
func (h *holds) find(r engine.Request) *hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.all[holdKeyOf(r)]
	if known == nil {
		return nil
	}
	copied := *known
	// Late grants change fences in place, while a tally reads its copy without the mutex.
	copied.fences, copied.attempts = slices.Clone(known.fences), slices.Clone(known.attempts)
	return &copied
}

// add records a grant. With same, it continues a known hold.
func (h *holds) add(r engine.Request, fence uint64, agreed, same bool, fences []uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = make(map[holdKey]*hold)
	}
	h.sweep()
	known := h.all[holdKeyOf(r)]
	// The earlier hold was lost and the nodes made new grants, so its fences no longer apply.
	if known == nil || !same {
		known = &hold{fences: make([]uint64, len(fences)), maybePending: make([]bool, len(fences))}
		h.all[holdKeyOf(r)] = known
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
	known.extend(r.Lease)
}

// recordLate records the answer of a node that came after the majority, and reports
// whether r's attempt still holds the lock.
func (h *holds) recordLate(r engine.Request, node int, fence uint64, maybePending bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.all[holdKeyOf(r)]
	if known == nil || !slices.Contains(known.attempts, r.Attempt) {
		return false
	}
	if fence > 0 {
		known.fences[node] = fence
	}
	known.maybePending[node] = known.maybePending[node] || maybePending
	return true
}

// renew keeps r's hold for longer.
func (h *holds) renew(r engine.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known := h.all[holdKeyOf(r)]; known != nil {
		known.extend(r.Lease)
	}
}

// remove removes r's attempt, and returns at which nodes a request of it may still be
// pending.
func (h *holds) remove(r engine.Request) (maybePending []bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.all[holdKeyOf(r)]
	if known == nil {
		return nil
	}
	known.attempts = slices.DeleteFunc(known.attempts, func(a string) bool { return a == r.Attempt })
	if len(known.attempts) == 0 {
		delete(h.all, holdKeyOf(r))
	}
	return known.maybePending
}

// extend keeps a hold for two leases. Unless it is renewed, it has expired by then.
func (k *hold) extend(lease time.Duration) {
	// min keeps the time within its range for a lease without a limit.
	if until := time.Now().Add(min(lease, 1<<61)).Add(min(lease, 1<<61)); until.After(k.until) {
		k.until = until
	}
}

// sweep removes a few expired holds, whose holders never released them. Four per grant
// are enough, because a grant adds at most one, and a range over a map begins at a random
// element.
func (h *holds) sweep() {
	now, checked := time.Now(), 0
	for id, k := range h.all {
		if now.After(k.until) {
			delete(h.all, id)
		}
		if checked++; checked == 4 {
			return
		}
	}
}
