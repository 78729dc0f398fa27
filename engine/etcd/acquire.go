package etcd

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

const (
	// quietConflicts is how many conflicts a call meets before it begins to pause.
	quietConflicts = 3

	// conflictPause is the pause after a conflict. A lock changes hands about as fast.
	conflictPause = 4 * time.Millisecond

	// maxCleared is how many expired positions a grant removes. A transaction has at
	// most 128 operations. The others are removed by later grants, or expire.
	maxCleared = 50

	// nearlyFull is how many readers below MaxReaders a read lock begins to refuse readers
	// that arrive at the same moment. Below, readers do not wait for each other.
	nearlyFull = 32
)

// An acquisition is a call of Acquire. It reads the lock, and tries to change it as long
// as others change it in between.
type acquisition struct {
	*Engine
	r      *engine.Request
	ready  lease // a lease without a key, for the hold
	queued bool  // this call has put the request into the queue
}

// Acquire implements [engine.Engine].
func (e *Engine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	if err := checkAcquire(&r); err != nil {
		return engine.Grant{}, err
	}
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		return engine.Grant{}, err
	}
	defer cancel()
	a := &acquisition{Engine: e, r: &r}
	s, err := a.guess(ctx)
	for conflicts := 0; err == nil; conflicts++ {
		if conflicts > quietConflicts && pause(ctx, conflictPause) != nil {
			err = conflictError(ctx, r.Key)
			break
		}
		var g engine.Grant
		if g, s, err = a.try(ctx, s); err == nil && s == nil {
			return g, nil
		}
		if errors.Is(err, errLeaseGone) { // a hold or a position has just expired
			s, err = e.readLock(ctx, r.Key)
		}
	}
	// After a lost reply, the transaction may still attach the hold to the lease. So may a full
	// database, and another engine that ends the hold then keeps the lease.
	if !errors.Is(err, engine.ErrUnknown) && !errors.Is(err, engine.ErrFull) {
		e.leases.put(a.ready)
	}
	if a.queued {
		err = queuedError(r.Key, err)
	}
	return engine.Grant{}, err
}

// guess returns the state of the lock. If the engine has an unused lease at hand, guess
// saves the read and assumes that the lock is free. If that is wrong, the grant has no
// effect and reads the lock: its condition is that the lock has no key newer than
// revision zero.
func (a *acquisition) guess(ctx context.Context) (*state, error) {
	r := a.r
	if r.Retry || a.recent.busyAt(r.Key).Load() {
		return a.readLock(ctx, r.Key)
	}
	l, ok := a.leases.take(seconds(r.Lease))
	if !ok || a.keepAlive(ctx, r.Key, l) != nil {
		return a.readLock(ctx, r.Key)
	}
	a.ready = l
	return &state{name: r.Key, fences: *a.recent.fences.Load()}, nil
}

// try grants or refuses the request, if the lock is still as in s. Otherwise it returns the
// new state. The order matters: a tombstone refuses its attempt even if the holder has
// the lock, and a holder that enters again does not queue.
func (a *acquisition) try(ctx context.Context, s *state) (engine.Grant, *state, error) {
	r := a.r
	switch h := s.holdOf(r); {
	case s.abandoned(r):
		return engine.Grant{}, nil, abandonedError(r.Key)
	case s.otherFamily(r):
		return engine.Grant{}, nil, kindError(r.Key, s.held(), r.Kind)
	case h != nil:
		return a.reenter(ctx, s, h)
	// A reader that waits for the write lock would wait for its own read lock.
	case r.Kind == engine.Write && s.reads(r.Holder):
		return engine.Grant{}, nil, upgradeError(r.Key)
	}
	if b := s.blocking(r); b != nil {
		a.recent.busyAt(r.Key).Store(true)
		next, err := a.refuse(ctx, s, b)
		return engine.Grant{}, next, err
	}
	if r.Kind == engine.Read && s.readers() >= engine.MaxReaders {
		return engine.Grant{}, nil, fullError(r.Key)
	}
	return a.grant(ctx, s)
}

// grant grants a free lock, or one more hold of a shared lock.
func (a *acquisition) grant(ctx context.Context, s *state) (engine.Grant, *state, error) {
	r := a.r
	ttl := seconds(r.Lease)
	if a.ready.id == clientv3.NoLease {
		var err error
		if a.ready, err = a.newLease(ctx, r.Key, ttl); err != nil {
			return engine.Grant{}, nil, err
		}
	}
	h := &hold{Kind: storedKind(r.Kind), Holder: text(r.Holder), Attempts: []text{text(r.Attempt)}, terms: termsOf(a.ready), Base: s.fences.base}
	h.key = a.keys.hold(r)
	c := &change{name: r.Key, operation: "acquire", when: a.free(s), otherwise: a.lockReads(r.Key)}
	// A writer that also reads keeps its fence, because the holder does not change.
	if w := s.writer(); w != nil {
		h.Fence = w.fence()
		c.when = append(c.when, w.present())
	}
	c.do = append(c.do, clientv3.OpPut(h.key, value(h), clientv3.WithLease(a.ready.id)))
	deletes, freed := s.dequeue(r, true)
	c.do = append(append(c.do, deletes...), s.fences.reserve(a.keys, r.FenceReserve)...)
	resp, err := a.commit(ctx, c)
	switch {
	case errors.Is(err, errLeaseGone):
		a.ready = lease{}
		return engine.Grant{}, nil, err
	case err != nil:
		return engine.Grant{}, nil, err
	case !resp.Succeeded:
		next, err := a.parse(r.Key, resp)
		return engine.Grant{}, next, err
	}
	a.leases.put(lost(resp, freed)...)
	a.recent.busyAt(r.Key).Store(false)
	h.created, h.modified, h.lease = resp.Header.Revision, resp.Header.Revision, a.ready.id
	a.recent.granted(h)
	// The leader was replaced since it began the lease, which may end early. renew moves the
	// hold to another.
	if resp.Header.RaftTerm != a.ready.term {
		if err := a.renew(ctx, r, readHolding{hold: h}); err != nil {
			return engine.Grant{}, nil, fail(r.Key, "the lock was granted during an election, and may be lost: "+err.Error(), engine.ErrUnknown, err)
		}
	}
	return h.grant(), nil, nil
}

// free is the condition that no other caller has changed the lock between s and the grant:
// the lock has no key that is newer than s. Keys that were deleted since then do not matter.
// Readers that arrive together do not conflict with each other.
func (a *acquisition) free(s *state) []clientv3.Cmp {
	lock := a.keys.lock(a.r.Key)
	parts := []string{""}
	if a.r.Kind == engine.Read && s.revision > 0 && s.readers() < engine.MaxReaders-nearlyFull {
		own := "hold/" + holdID(a.r.Kind.String(), a.r.Holder, "")
		parts = []string{"hold/exclusive/", "hold/write/", "hold/permit/", "latch", "tomb/", "turn/", "wait/", own}
	}
	when := []clientv3.Cmp{s.fences.unchanged(a.keys)}
	for _, part := range parts {
		when = append(when, clientv3.Compare(clientv3.ModRevision(lock+part).WithPrefix(), "<", s.revision+1))
	}
	return when
}

// reenter grants the lock again to its holder, whose hold is h. A repeated request of one
// attempt counts once.
func (a *acquisition) reenter(ctx context.Context, s *state, h *hold) (engine.Grant, *state, error) {
	r := a.r
	l, err := a.restart(ctx, r.Key, h.leased(), seconds(r.Lease))
	if err != nil {
		return engine.Grant{}, nil, err
	}
	deletes, freed := s.dequeue(r, false)
	if h.has(r.Attempt) && l == h.leased() && len(deletes) == 0 {
		return h.grant(), nil, nil
	}
	entered := *h
	entered.terms = termsOf(l)
	if !h.has(r.Attempt) {
		entered.Attempts = append(entered.Attempts[:len(h.Attempts):len(h.Attempts)], text(r.Attempt))
	}
	resp, err := a.commit(ctx, &change{
		name: r.Key, operation: "enter-again", when: []clientv3.Cmp{h.unchanged(), absent(a.keys.tomb(r))},
		do:        append(deletes, clientv3.OpPut(h.key, value(&entered), clientv3.WithLease(l.id))),
		otherwise: a.lockReads(r.Key),
	})
	switch {
	case err != nil:
		return engine.Grant{}, nil, err
	case !resp.Succeeded:
		next, err := a.parse(r.Key, resp)
		return engine.Grant{}, next, err
	}
	a.leases.put(lost(resp, freed)...)
	return entered.grant(), nil, nil
}

// dequeue returns the changes that remove r's position, and the leases that they free; see
// lost. With granted, they also remove the expired positions before it, which r has overtaken.
func (s *state) dequeue(r *engine.Request, granted bool) (deletes []clientv3.Op, freed []lease) {
	var gone []*waiter
	if own := s.waiterOf(r); own != nil {
		gone = append(gone, own)
	}
	if granted && r.Kind != engine.Exclusive {
		for _, w := range s.before(r) {
			if w.expired() && len(gone) < maxCleared {
				gone = append(gone, w)
			}
		}
	}
	for _, w := range gone {
		deletes = append(deletes, clientv3.OpDelete(w.key, clientv3.WithPrevKV()))
		freed = append(freed, w.leased())
		if w.turn != nil {
			deletes = append(deletes, clientv3.OpDelete(w.turn.key, clientv3.WithPrevKV()))
			freed = append(freed, w.turn.leased())
		}
	}
	return deletes, freed
}
