package interlock

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A renewer is the watchdog of all leases of a client. It renews those that are
// to be renewed, many with one call, and ends those that can no longer be
// relied on. It has no goroutine while nothing is due: a timer calls it.
type renewer struct {
	core *core

	mu      sync.Mutex
	leases  leaseHeap         // every live lease, what is due next first
	timer   *time.Timer       // calls fire
	armed   time.Time         // when it will; zero if it will not
	flights map[lane]*renewal // calls on their way
	mono    time.Duration     // what the two clocks showed when last compared
	wall    int64
	drained chan struct{} // closed when the last lease is gone; nil unless asked for
	ear     ear           // hears that an operator has taken locks away
}

// dueTimes is what a renewer knows of a lease.
type dueTimes struct {
	index  int       // in the heap; -1 if not in it
	next   time.Time // when something is due
	sent   time.Time // when the lease was last asked for
	renew  time.Time // when it is to be renewed; zero if never
	tried  int       // renewals that failed in a row
	terms  terms     // whether it is to be renewed, and for how long
	begun  time.Time // since when that counts
	flying bool      // a renewal is on its way, or waits for one
}

// A lane is what leases share that are renewed together: the shard, and how long
// a call may take, so that a short lease does not cut short the call of a long one.
type lane struct {
	shard int
	bound time.Duration
}

// A renewal is a call on its way to one shard, and who waits for the next.
type renewal struct{ waiting []*lease }

const (
	// renewPart is how many times a lease is renewed before it would end.
	renewPart = 3

	// mostRenewed bounds one call.
	mostRenewed = 1000

	// clockTick is how often the wall clock is compared with the monotonic
	// one, which stands still while the machine sleeps. A difference above
	// clockSlack means that it did, or that the clock was set.
	clockTick  = 500 * time.Millisecond
	clockSlack = 250 * time.Millisecond
)

func (r *renewer) init(c *core) {
	r.core = c
	r.flights = make(map[lane]*renewal)
}

// add takes charge of a new lease.
func (r *renewer) add(l *lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.due.sent = l.grant.sent
	if !l.due.terms.explicit {
		l.due.renew = l.due.sent.Add(l.req.Lease / renewPart)
	}
	if len(r.leases) == 0 {
		r.compareClocks(time.Now())
	}
	l.due.next = r.nextDue(l)
	heap.Push(&r.leases, l)
	r.arm()
}

// remove lets go of a lease. A renewal on its way is of no consequence: an
// engine renews only what is held.
func (r *renewer) remove(l *lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.due.index < 0 {
		return
	}
	heap.Remove(&r.leases, l.due.index)
	r.emptied()
}

// emptied does what is due when the last lease is gone.
func (r *renewer) emptied() {
	if len(r.leases) > 0 {
		return
	}
	r.ear.close()
	if r.drained != nil {
		close(r.drained)
		r.drained = nil
	}
}

// all returns every live lease.
func (r *renewer) all() []*lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*lease(nil), r.leases...)
}

// empty returns a channel that is closed when no lease is left.
func (r *renewer) empty() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.leases) == 0 {
		none := make(chan struct{})
		close(none)
		return none
	}
	if r.drained == nil {
		r.drained = make(chan struct{})
	}
	return r.drained
}

// nextDue returns when something must be done about l.
func (r *renewer) nextDue(l *lease) time.Time {
	next := r.core.base.Add(time.Duration(l.sureMono.Load()))
	now := time.Now()
	if end := now.Add(time.Duration(l.sureWall.Load() - now.UnixNano() - r.core.wallStep.Load())); end.Before(next) {
		next = end
	}
	if !l.due.flying && !l.due.renew.IsZero() && l.due.renew.Before(next) {
		next = l.due.renew
	}
	if most := l.due.terms.maxHold; most > 0 {
		if end := l.due.begun.Add(most); end.Before(next) {
			next = end
		}
	}
	return next
}

// arm sets the timer for what is due next. It is never set back when a lease is
// removed: to fire for nothing costs less.
func (r *renewer) arm() {
	if len(r.leases) == 0 {
		return
	}
	at := r.leases[0].due.next
	if tick := r.core.base.Add(r.mono + clockTick); tick.Before(at) {
		at = tick
	}
	if !r.armed.IsZero() && !at.Before(r.armed) {
		return
	}
	r.armed = at
	if d := time.Until(at); r.timer == nil {
		r.timer = time.AfterFunc(d, r.fire)
	} else {
		r.timer.Reset(d)
	}
}

// fire does what is due.
func (r *renewer) fire() {
	r.mu.Lock()
	r.armed = time.Time{}
	now := time.Now()
	if r.compareClocks(now) {
		for _, l := range r.leases { // rare: the machine slept
			l.due.next = now
			if !l.due.renew.IsZero() {
				l.due.renew = now
			}
		}
		heap.Init(&r.leases)
	}
	seized := r.heed()
	var over []*lease
	for len(r.leases) > 0 && !r.leases[0].due.next.After(now) {
		if l := r.leases[0]; r.attend(l, now) {
			heap.Pop(&r.leases)
			over = append(over, l)
		} else {
			l.due.next = r.nextDue(l)
			heap.Fix(&r.leases, 0)
		}
	}
	r.arm()
	live := len(r.leases) > 0
	r.mu.Unlock()

	if live {
		r.core.presence.show(now)
	}
	if len(seized) > 0 {
		r.core.spawn(func() { r.review(seized) })
	}
	for _, l := range over {
		if l.overdue(time.Now()) {
			l.lose(ErrExpired)
		} else {
			l.lose(ErrMaxHold)
		}
	}
	r.ended()
}

// settle lets the given terms count for leases from now on. If nobody renews them
// after that, they begin anew together.
func (r *renewer) settle(leases []*lease, t terms) error {
	ctx := r.core.bound.context()
	for tries := 1; t.explicit; tries++ {
		old := r.older(leases)
		if len(old) == 0 {
			break
		}
		r.renew(old, detached)
		for _, l := range old {
			if !l.live() {
				return context.Cause(l)
			}
		}
		if len(r.older(old)) > 0 && r.core.pause(ctx, tries) != nil {
			return fmt.Errorf("%w: %w", engine.ErrUnavailable, errSlow)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, l := range leases {
		if l.due.index < 0 {
			continue // lost meanwhile, which its context says
		}
		l.due.terms, l.due.begun = t, now
		if t.explicit {
			l.due.renew = time.Time{}
		}
		l.due.next = r.nextDue(l)
		heap.Fix(&r.leases, l.due.index)
	}
	r.arm()
	return nil
}

// older returns those of some leases that began noticeably before now.
func (r *renewer) older(leases []*lease) (old []*lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range leases {
		if time.Since(l.due.sent) > l.req.Lease/leastLeft {
			old = append(old, l)
		}
	}
	return old
}

// ended closes drained if the last lease left by way of fire.
func (r *renewer) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emptied()
}

// attend does what is due about l, and reports whether it is over.
func (r *renewer) attend(l *lease, now time.Time) (over bool) {
	if most := l.due.terms.maxHold; l.overdue(now) || most > 0 && now.Sub(l.due.begun) >= most {
		return true
	}
	if l.due.flying || l.due.renew.IsZero() || l.due.renew.After(now) {
		return false
	}
	l.due.flying = true
	way := lane{bound: min(detached, max(l.req.Lease/renewPart, minLease))}
	if r.core.caps.Shard != nil {
		way.shard = r.core.caps.Shard(l.req.Key)
	}
	if f := r.flights[way]; f != nil {
		f.waiting = append(f.waiting, l)
		return false
	}
	f := &renewal{waiting: []*lease{l}}
	r.flights[way] = f
	r.core.spawn(func() { r.fly(way, f) })
	return false
}

// fly renews, in one call after the other, whatever waits for it on a shard.
func (r *renewer) fly(way lane, f *renewal) {
	for {
		r.mu.Lock()
		batch := f.waiting
		if len(batch) == 0 {
			delete(r.flights, way)
			r.mu.Unlock()
			return
		}
		if len(batch) > mostRenewed {
			batch = batch[:mostRenewed]
		}
		f.waiting = f.waiting[len(batch):]
		r.mu.Unlock()
		r.renew(batch, way.bound)
	}
}

// renew renews a batch of leases with one call.
func (r *renewer) renew(batch []*lease, bound time.Duration) {
	reqs := make([]engine.Request, len(batch))
	for i, l := range batch {
		reqs[i] = l.req
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	sent := time.Now()
	errs := r.core.engine.Renew(ctx, reqs)
	cancel()

	r.mu.Lock()
	for i, l := range batch {
		l.due.flying = false
		if l.due.index < 0 {
			continue // released meanwhile
		}
		if errors.Is(errs[i], engine.ErrNotHolder) {
			continue // lost, see below
		}
		r.note(l, sent, errs[i])
		l.due.next = r.nextDue(l)
		heap.Fix(&r.leases, l.due.index)
	}
	r.arm()
	r.mu.Unlock()

	for i, l := range batch {
		if errors.Is(errs[i], engine.ErrNotHolder) {
			l.lose(reasonGone(errs[i]))
		}
	}
	r.tell(batch, errs)
}

// note takes down what came of renewing l. One that failed is tried again until
// the lease is over, whatever the reason.
func (r *renewer) note(l *lease, sent time.Time, err error) {
	if err == nil {
		l.due.sent, l.due.tried = sent, 0
		if !l.due.terms.explicit {
			l.due.renew = sent.Add(l.req.Lease / renewPart)
		}
		l.trust(sureUntil(sent, l.req.Lease))
		return
	}
	l.due.tried++
	if l.due.terms.explicit {
		return
	}
	pause := Exponential(l.req.Lease/30, mostPause)(l.due.tried)
	l.due.renew = time.Now().Add(max(pause, time.Millisecond))
}

// tell counts and traces what came of a batch.
func (r *renewer) tell(batch []*lease, errs []error) {
	for i, l := range batch {
		if errors.Is(errs[i], engine.ErrNotHolder) {
			continue // traced as lost
		}
		if errs[i] == nil {
			r.core.stats.renewed.Add(1)
		} else {
			r.core.stats.renewFailed.Add(1)
		}
		if t := l.opts.trace; t != nil && t.Renewed != nil {
			t.Renewed(Renewed{Key: l.req.Key, Holder: l.req.Holder, Err: errs[i]})
		}
	}
}

// compareClocks tells whether the wall clock has gone ahead of the monotonic
// one since it was last asked.
func (r *renewer) compareClocks(now time.Time) bool {
	mono, wall := now.Sub(r.core.base), now.UnixNano()+r.core.wallStep.Load()
	ahead := time.Duration(wall-r.wall) - (mono - r.mono)
	r.mono, r.wall = mono, wall
	return ahead > clockSlack
}
