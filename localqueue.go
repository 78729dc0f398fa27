package interlock

import (
	"context"
	"fmt"
	"hash/maphash"
	"runtime"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/retry"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A localQueue queues the goroutines of this process by key. One goroutine per key, the
// leader, asks the engine. The others wait behind it in a waitQueue.
type localQueue struct {
	core   *core
	seed   maphash.Seed
	shards [64]shard
}

// A shard holds the queues of some of the keys.
type shard struct {
	mu     sync.Mutex
	queues map[string]*waitQueue
	spare  *waitQueue // a closed waitQueue, for reuse
}

func (q *localQueue) init(c *core) {
	q.core, q.seed = c, maphash.MakeSeed()
	for i := range q.shards {
		q.shards[i].queues = make(map[string]*waitQueue)
	}
}

func (q *localQueue) shard(key string) *shard {
	return &q.shards[maphash.String(q.seed, key)%uint64(len(q.shards))]
}

// open adds the queue of a key.
func (s *shard) open(key string) *waitQueue {
	wq := s.spare
	if wq == nil {
		wq = new(waitQueue)
	}
	s.spare, s.queues[key] = nil, wq
	return wq
}

// close removes the queue of a key. The queue is empty, so nothing refers to it.
func (s *shard) close(key string, wq *waitQueue) {
	delete(s.queues, key)
	*wq = waitQueue{}
	s.spare = wq
}

// acquire gets the lock from the engine if this goroutine is the first of the
// process to want it. Otherwise it waits in the queue, or, if once is set,
// returns what the leader finds.
func (q *localQueue) acquire(ctx context.Context, m *Mutex, once bool) (grant, error) {
	if m.kind != engine.Exclusive || ownerOf(ctx) != "" {
		return q.acquireDirect(ctx, m, once)
	}
	return q.enter(ctx, m, once, time.Time{}, outage{})
}

// enter is acquire for a caller that arrived at the time since and has seen the outage o.
// If since is zero, the caller arrives now.
func (q *localQueue) enter(ctx context.Context, m *Mutex, once bool, since time.Time, o outage) (grant, error) {
	s := q.shard(m.key)
	s.mu.Lock()
	wq := s.queues[m.key]
	switch {
	case wq == nil:
		wq = s.open(m.key)
	case wq.idle:
		wq.idle = false
	case wq.passes(m.opts.lease):
		s.mu.Unlock()
		return q.acquireDirect(ctx, m, once)
	case once:
		return q.follow(ctx, m, s, wq, since) // unlocks
	default:
		w := wq.enqueue(&m.opts)
		s.mu.Unlock()
		return q.wait(ctx, m, s, wq, w)
	}
	h := handover{outage: o, turn: wq.nextTurn()}
	if !wq.notBefore.IsZero() {
		h.pause = time.Until(wq.notBefore)
	}
	s.mu.Unlock()
	return q.lead(ctx, m, s, wq, h, once)
}

// acquireDirect asks the engine without the local queue. It serves:
//   - fair locks and permits, which queue at the engine;
//   - readers, which do not wait for each other;
//   - named owners, which may already hold the lock;
//   - callers whose lease is long enough for a slow engine, if the leader's is not.
func (q *localQueue) acquireDirect(ctx context.Context, m *Mutex, once bool) (grant, error) {
	var sub subscription
	defer sub.unsubscribe()
	a := attempt{mutex: m, once: once, sub: &sub}
	return a.run(ctx)
}

// follow answers a single attempt with the leader's result. If the engine grants
// the lock, the leader gets it, because the leader asked first. follow makes a leader that
// pauses ask at once, because the holder that the leader saw may be gone. The caller has
// locked s; follow unlocks it.
func (q *localQueue) follow(ctx context.Context, m *Mutex, s *shard, wq *waitQueue, since time.Time) (grant, error) {
	if wq.granted {
		r := wq.current()
		s.mu.Unlock()
		return grant{}, r.contended(m.key, nil)
	}
	p := wq.joinPending()
	wq.wakeLeader()
	s.mu.Unlock()
	if since.IsZero() {
		since = time.Now()
	}
	patience := time.NewTimer(retry.BriefOutage - time.Since(since))
	defer patience.Stop()
	select {
	case <-p.done:
	case <-patience.C:
		return grant{}, fmt.Errorf("interlock: acquire %q: %w: an earlier request from this process is still pending", m.key, engine.ErrUnavailable)
	case <-ctx.Done():
		return grant{}, unanswered(m.key, context.Cause(ctx))
	}
	if p.err == nil && !p.ended {
		return grant{}, p.rival.contended(m.key, nil)
	}
	o := p.outage.of(m.opts.lease, since)
	switch {
	case o.err != nil && o.lasts(retry.Delay(o.failures), true):
		return grant{}, unasked(m.key, o.err)
	case p.err != nil && p.outage.err == nil && p.terms == m.opts.terms():
		return grant{}, p.err
	}
	return q.enter(ctx, m, true, since, o) // the leader's failure does not affect this caller
}

// wait waits in the queue until the lock or the lead is handed over.
func (q *localQueue) wait(ctx context.Context, m *Mutex, s *shard, wq *waitQueue, w *waiter) (grant, error) {
	waiting := &m.opts.counters.waiting
	waiting.Add(1)
	start := time.Now()
	m.contend(start, "")
	served := false
	defer func() { // also if a Backoff of the caller panics
		waiting.Add(-1)
		if !served {
			q.leave(m, s, wq, w)
		}
	}()
	if t := m.opts.trace; t != nil && t.Waiting != nil {
		s.mu.Lock()
		r := wq.current()
		s.mu.Unlock()
		t.Waiting(Waiting{Key: m.key, Name: m.opts.business, Kind: m.kind, Holder: r.holder, Left: r.left()})
	}
	h, ended := q.await(ctx, s, wq, w)
	if ended != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		return grant{}, wq.gaveUp(w, m.key, ended)
	}
	served = true
	waiting.Add(-1) // from here on the attempt counts this waiter
	defer waiting.Add(1)
	g, err := q.accept(ctx, m, s, wq, h)
	g.waitStart = start
	return g, err
}

// await waits for a handover. A waiter with Poll makes the leader ask as often
// as it would have asked itself.
func (q *localQueue) await(ctx context.Context, s *shard, wq *waitQueue, w *waiter) (handover, error) {
	var timer *time.Timer
	var poll <-chan time.Time
	if w.poll != nil {
		timer = time.NewTimer(w.pause(1))
		defer timer.Stop()
		poll = timer.C
	}
	for tries := 2; ; tries++ {
		select {
		case h := <-w.ready:
			return h, nil
		case <-ctx.Done():
			return handover{}, context.Cause(ctx)
		case <-q.core.closing:
			return handover{}, ErrClosed
		case <-poll:
		}
		pause := w.pause(tries)
		s.mu.Lock()
		if age := time.Since(wq.refusedAt); age < pause { // the leader has asked for another waiter
			pause -= age
		} else {
			wq.wakeLeader()
		}
		s.mu.Unlock()
		timer.Reset(pause)
	}
}

// leave removes a waiter that gives up.
func (q *localQueue) leave(m *Mutex, s *shard, wq *waitQueue, w *waiter) {
	s.mu.Lock()
	queued := wq.remove(w)
	s.mu.Unlock()
	if !queued { // a handover arrived just now: pass it on
		q.decline(m, s, wq, <-w.ready)
	}
}

// accept takes a handover: the lock itself, or the lead.
func (q *localQueue) accept(ctx context.Context, m *Mutex, s *shard, wq *waitQueue, h handover) (grant, error) {
	switch {
	case h.err != nil:
		return grant{}, h.err
	case h.granted:
		return h.grant, nil
	case h.bypass:
		return q.acquireDirect(ctx, m, false)
	}
	return q.lead(ctx, m, s, wq, h, false)
}

// decline passes on a handover that came after its waiter gave up.
func (q *localQueue) decline(m *Mutex, s *shard, wq *waitQueue, h handover) {
	if h.err != nil || h.bypass {
		return
	}
	if !h.granted {
		s.mu.Lock()
		defer s.mu.Unlock()
		wq.advance(s, m.key, result{ended: true}, 0)
		return
	}
	q.core.tasks.Go(func() {
		if _, _, err := q.handOver(h.grant, m.opts.terms(), wq, s); err != nil {
			m.opts.unreleased(context.Background(), &h.grant.req, 0, err)
		}
	})
}

// lead asks the engine after a pause. If it does not get the lock, the next
// waiter leads.
func (q *localQueue) lead(ctx context.Context, m *Mutex, s *shard, wq *waitQueue, h handover, once bool) (grant, error) {
	var failure error // for the goroutines that joined the pending request
	granted := false
	defer func() { // also if a Backoff of the caller panics
		if !granted {
			s.mu.Lock()
			defer s.mu.Unlock()
			wq.leaderFailed(s, m, failure)
		}
	}()
	if _, err := q.core.sleep(ctx, h.pause, nil, nil); err != nil {
		return grant{}, rival{}.gaveUp(m.key, err)
	}
	a := attempt{mutex: m, once: once, sub: &wq.sub, leader: &leader{s, wq}, turn: h.turn, outage: h.outage}
	g, err := a.run(ctx)
	granted = err == nil
	if ctx.Err() == nil { // the end of the leader's own context concerns only the leader
		failure = err
	}
	return g, err
}

// announce resolves the pending request before the lease exists. Without it,
// two callers that acquire several locks at once would wait for each other.
func (q *localQueue) announce(g *grant) {
	if g.direct {
		return
	}
	s := q.shard(g.req.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if wq := s.queues[g.req.Key]; wq != nil {
		wq.grantedTo(rival{holder: g.req.Holder, until: g.safeUntil})
		wq.resolve(result{rival: wq.rival})
	}
}

// giveBack returns an announced grant that does not become a hold.
func (q *localQueue) giveBack(m *Mutex, g *grant) error {
	if g.direct {
		_, err := q.core.release(g.req)
		return err
	}
	s := q.shard(g.req.Key)
	s.mu.Lock()
	wq := s.queues[g.req.Key]
	s.mu.Unlock()
	_, _, err := q.handOver(*g, m.opts.terms(), wq, s)
	return err
}

// setHolder records the holder that the queue waits for.
func (q *localQueue) setHolder(l *lease) {
	if l.direct {
		return
	}
	s := q.shard(l.req.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if wq := s.queues[l.req.Key]; wq != nil {
		r := rivalOf(l)
		wq.holder = l
		wq.grantedTo(r)
		wq.resolve(result{rival: r})
	}
}

// clearHolder lets the queue advance past a holder that lost the lock.
func (q *localQueue) clearHolder(l *lease) {
	s := q.shard(l.req.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if wq := s.queues[l.req.Key]; wq != nil && wq.holder == l {
		wq.granted, wq.holder, wq.rival = false, nil, rival{}
		wq.advance(s, l.req.Key, result{ended: true}, 0)
	}
}

// release gives up the lock of l. It reports whether a waiter of this process
// got it, and otherwise the engine's answer.
func (q *localQueue) release(l *lease) (handedOver bool, outcome engine.Outcome, err error) {
	if l.direct {
		res, err := q.core.release(l.req)
		return false, res.Outcome, err
	}
	s := q.shard(l.req.Key)
	s.mu.Lock()
	wq := s.queues[l.req.Key]
	if wq == nil || wq.holder != l { // cannot happen: a live lease has its queue
		s.mu.Unlock()
		res, err := q.core.release(l.req)
		return false, res.Outcome, err
	}
	wq.granted, wq.holder, wq.rival = false, nil, rivalOf(l) // l counts as the holder until the engine has released it
	s.mu.Unlock()
	g := l.grant
	g.sent = l.watch.Sent()
	g.safeUntil = watchdog.SafeUntil(g.sent, g.req.Lease)
	return q.handOver(g, l.opts.terms(), wq, s)
}

// handOver gives a lock to the next waiter of this process if the waiter has the same
// terms and enough of the lease is left. Otherwise it releases the lock.
func (q *localQueue) handOver(g grant, t terms, wq *waitQueue, s *shard) (handedOver bool, outcome engine.Outcome, err error) {
	now := time.Now()
	ctx := q.core.detached.Context(now) // one timeout for renewal and release together
	if !q.core.closed.Load() && g.canHandOver(now) && (!t.explicit || q.renewFor(ctx, &g, wq, s, t)) {
		s.mu.Lock()
		if w := wq.first; w != nil && w.terms == t {
			wq.remove(w)
			w.ready <- handover{granted: true, grant: g.next()}
			s.mu.Unlock()
			runtime.Gosched() // run the new holder first: every waiter waits for it
			return true, engine.Released, nil
		}
		s.mu.Unlock()
	}
	start := time.Now()
	res, err := q.core.releaseWithin(ctx, g.req)
	s.mu.Lock()
	defer s.mu.Unlock()
	wq.granted, wq.rival = false, rival{}
	wq.endTurn(&g, res.Listeners)
	wq.advance(s, g.req.Key, result{ended: true}, wq.yieldDelay(res.Listeners, time.Since(start), q.core.canQueue()))
	return false, res.Outcome, err
}

// renewFor renews an explicit lease for the next waiter, which expects a full one.
// It reports false if the next waiter has other terms or the renewal fails.
func (q *localQueue) renewFor(ctx context.Context, g *grant, wq *waitQueue, s *shard, t terms) bool {
	s.mu.Lock()
	wanted := wq.first != nil && wq.first.terms == t
	s.mu.Unlock()
	if !wanted {
		return false
	}
	sent := time.Now()
	if errs := q.core.engine.Renew(ctx, []engine.Request{g.req}); errs[0] != nil {
		return false
	}
	g.sent, g.safeUntil = sent, watchdog.SafeUntil(sent, g.req.Lease)
	return g.canHandOver(time.Now())
}
