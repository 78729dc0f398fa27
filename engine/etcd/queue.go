package etcd

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

// A blocker is a holder or a waiter that keeps a request from a lock.
type blocker struct {
	holder string
	lease  lease
}

// blocking returns what keeps r from the lock, or nil. A holder is named even if a waiter is
// the reason.
func (s *state) blocking(r *engine.Request) *blocker {
	if h := s.holderBlocking(r); h != nil || r.Kind == engine.Exclusive {
		return blockingHold(h)
	}
	if w := s.writer(); w != nil && w.Holder == text(r.Holder) {
		return nil // the writer may read without queueing
	}
	for _, w := range s.before(r) {
		// Readers may overtake each other, and any caller may overtake expired positions.
		if w.expired() || r.Kind == engine.Read && w.Kind != engine.Write.String() {
			continue
		}
		if len(s.holds) > 0 {
			return blockingHold(s.firstHolder())
		}
		return &blocker{string(w.Holder), w.turn.leased()}
	}
	return nil
}

func blockingHold(h *hold) *blocker {
	if h == nil {
		return nil
	}
	return &blocker{string(h.Holder), h.leased()}
}

// holderBlocking returns a holder that keeps r from the lock, or nil. It ignores the queue.
func (s *state) holderBlocking(r *engine.Request) *hold {
	w := s.writer()
	switch {
	case r.Kind == engine.Read && w != nil && w.Holder == text(r.Holder): // a writer may read beside its own write
		return nil
	case r.Kind == engine.Read:
		return w
	case r.Kind == engine.Permit && len(s.holds) < r.Limit: // the limit is the request's; it is not stored
		return nil
	}
	return s.firstHolder()
}

// firstHolder returns the writer, or else the holder that came first.
func (s *state) firstHolder() *hold {
	if w := s.writer(); w != nil {
		return w
	}
	if len(s.holds) == 0 {
		return nil
	}
	return s.holds[0]
}

// refuse returns the BusyError for the request, after it has queued it if it wants to wait.
// If the lock changes meanwhile so that the request may be granted, it returns the new
// state.
func (a *acquisition) refuse(ctx context.Context, s *state, b *blocker) (next *state, _ error) {
	r := a.r
	if r.Kind != engine.Exclusive && r.QueueLease > 0 {
		queued, err := a.queue(ctx, s)
		if err != nil {
			return nil, err
		}
		if queued.otherFamily(r) || queued.holdOf(r) != nil || queued.abandoned(r) {
			return queued, nil
		}
		if b = queued.blocking(r); b == nil {
			return queued, nil
		}
		s = queued
	}
	busy := &engine.BusyError{Holder: b.holder}
	if r.Kind != engine.Exclusive {
		for _, w := range s.before(r) {
			if !w.expired() {
				busy.Ahead++
			}
		}
	}
	// The refusal is certain even if this read fails, and the request may have a position.
	if left, err := a.left(ctx, r.Key, b.lease); err == nil {
		busy.Left = max(left, time.Millisecond) // zero would mean unknown; the lease has expired just now
	}
	return nil, busy
}

// queue keeps the position of the request, or puts it at the end of the queue. It returns
// the lock with that position.
func (a *acquisition) queue(ctx context.Context, s *state) (*state, error) {
	own := s.waiterOf(a.r)
	if own == nil {
		return a.enqueue(ctx)
	}
	queued, err := a.keepPosition(ctx, s, own)
	// The position has just been forgotten. The next try puts the request at the end.
	if errors.Is(err, errLeaseGone) {
		return a.readLock(ctx, a.r.Key)
	}
	return queued, err
}

// enqueue puts the request at the end of the queue. Waiters that arrive together do not
// disturb each other: their keys have an order.
func (a *acquisition) enqueue(ctx context.Context) (*state, error) {
	r := a.r
	wait, turn, err := a.positionLeases(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := a.commit(ctx, &change{
		name: r.Key, operation: "enqueue",
		when:      []clientv3.Cmp{absent(a.keys.tomb(r)), absent(a.keys.wait(r)), absent(a.keys.hold(r))},
		do:        append(a.position(wait, turn), a.lockReads(r.Key)...),
		otherwise: a.lockReads(r.Key),
	})
	switch {
	case err != nil:
		return nil, err
	case !resp.Succeeded:
		a.leases.put(wait, turn)
	default:
		a.queued = true
	}
	return a.parse(r.Key, resp)
}

// positionLeases returns the leases of a new position. The second one ends with the
// position, and the first one when the waiter is forgotten.
func (a *acquisition) positionLeases(ctx context.Context) (wait, turn lease, err error) {
	if wait, err = a.newLease(ctx, a.r.Key, a.forgetAfter()); err != nil {
		return lease{}, lease{}, err
	}
	turn, err = a.newLease(ctx, a.r.Key, seconds(a.r.QueueLease))
	return wait, turn, err
}

// forgetAfter is how long the position is remembered, in seconds.
func (a *acquisition) forgetAfter() int64 { return 2 * seconds(min(a.r.QueueLease, maxLease/2)) }

// position returns the changes that write a position.
func (a *acquisition) position(wait, live lease) []clientv3.Op {
	r := a.r
	w := &waiter{Kind: r.Kind.String(), Holder: text(r.Holder), Attempt: text(r.Attempt), terms: termsOf(wait)}
	return []clientv3.Op{
		clientv3.OpPut(a.keys.wait(r), value(w), clientv3.WithLease(wait.id)),
		clientv3.OpPut(a.keys.turn(r), value(&turn{terms: termsOf(live)}), clientv3.WithLease(live.id)),
	}
}

// keepPosition extends a position. A waiter that returns after its position expired, but
// before it was forgotten, has it again.
func (a *acquisition) keepPosition(ctx context.Context, s *state, own *waiter) (*state, error) {
	r := a.r
	wait, err := a.restart(ctx, r.Key, own.leased(), a.forgetAfter())
	if err != nil {
		return nil, err
	}
	live, err := a.restartTurn(ctx, own)
	if err != nil {
		return nil, err
	}
	if own.turn != nil && wait.id == own.lease && live.id == own.turn.lease {
		return s, nil
	}
	resp, err := a.commit(ctx, &change{
		name: r.Key, operation: "keep-position",
		when:      []clientv3.Cmp{absent(a.keys.tomb(r)), own.present()},
		do:        append(a.position(wait, live), a.lockReads(r.Key)...),
		otherwise: a.lockReads(r.Key),
	})
	if err != nil {
		return nil, err
	}
	return a.parse(r.Key, resp)
}

// restartTurn returns a lease for the turn of a position.
func (a *acquisition) restartTurn(ctx context.Context, own *waiter) (lease, error) {
	ttl := seconds(a.r.QueueLease)
	if own.turn != nil {
		live, err := a.restart(ctx, a.r.Key, own.turn.leased(), ttl)
		if !errors.Is(err, errLeaseGone) {
			return live, err
		}
	}
	return a.newLease(ctx, a.r.Key, ttl)
}
