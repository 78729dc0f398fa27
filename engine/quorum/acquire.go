package quorum

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// minLeft is the divisor of the lease: 1/minLeft of it must be left when the lock is
// granted. A renewal is due after a third and needs time for a retry. Nodes get a tenth
// of the lease at most, so less is left only if this process was paused.
const minLeft = 3

// Acquire implements [engine.Engine]. It asks all nodes in parallel, and returns as
// soon as a majority has granted the lock, or can no longer grant it. Later grants become
// part of the hold, or are released.
func (e *Engine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	if err := e.checkLease(ctx, &r); err != nil {
		return engine.Grant{}, err
	}
	if n := e.withoutFencer(); r.Fenced && n != nil {
		return engine.Grant{}, fmt.Errorf("quorum: %q: %s has no engine.Fencer, so the nodes cannot agree on a fence: "+
			"use other engines, or omit Fenced: %w", r.Key, n.name, errors.ErrUnsupported)
	}
	if err := e.begin(); err != nil {
		return engine.Grant{}, err
	}
	defer e.end()
	b := e.ballot(ctx, r)
	if err := b.collect(ctx); err != nil {
		b.decide(false)
		return engine.Grant{}, fmt.Errorf("quorum: %q: gave up before a majority answered: %w: %w", r.Key, engine.ErrUnknown, err)
	}
	if g, ok := b.win(ctx); ok {
		return g, nil
	}
	return engine.Grant{}, b.lose(ctx)
}

// A ballot is one acquisition at all nodes.
type ballot struct {
	*Engine
	request engine.Request
	began   time.Time // before the first call; the lease begins then
	tally   tally

	tickets []ticket    // one per node
	answers chan answer // one per node
	raises  chan answer // one per node that raises its fence

	counted       chan struct{} // closed when it is known whether a majority granted the lock
	fence         uint64        // set before counted is closed: the fence to raise other nodes to; zero for none
	decided       chan struct{} // closed when it is known whether the lock is acquired
	won           bool          // set before decided is closed
	voters        []bool        // set before decided is closed: the nodes of the majority
	releaseFailed atomic.Bool   // a partial grant could not be released
}

// An answer is the answer of a node.
type answer struct {
	node      int
	grant     engine.Grant
	err       error
	counts    bool  // the node is not on probation
	countsErr error // why the value of counts is not known
}

// ballot starts to ask all nodes.
func (e *Engine) ballot(ctx context.Context, r engine.Request) *ballot {
	n := len(e.nodes)
	b := &ballot{
		Engine: e, request: r, began: time.Now(),
		answers: make(chan answer, n), raises: make(chan answer, n),
		counted: make(chan struct{}), decided: make(chan struct{}), voters: make([]bool, n),
	}
	b.tally.init(n, e.need)
	// The tickets of all nodes are taken at once, so that two calls of this process have
	// the same order at every node.
	b.tickets = e.order.all(r.Key, n)
	bounded, cancel := detached(ctx, e.acquireTimeout(r.Lease))
	// The last goroutine cancels the shared context; the caller may be gone by then.
	pending := new(atomic.Int32)
	pending.Store(int32(n))
	for i := range e.nodes {
		e.running.Go(func() { // ends with the timeouts of its calls
			defer b.tickets[i].end()
			b.ask(bounded, i)
			if pending.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return b
}

// ask does all calls to one node: acquire, raise, and keep or release.
func (b *ballot) ask(ctx context.Context, i int) {
	a := b.vote(ctx, i)
	b.answers <- a
	// The goroutine waits here even if its caller is gone: decide always closes both
	// channels.
	<-b.counted
	if b.fence > 0 && a.err == nil {
		if a.grant.Fence < b.fence {
			a.err = b.raise(ctx, i)
			a.grant.Fence = b.fence
		}
		b.raises <- a // also without a raise, because agree counts every grant
	}
	<-b.decided
	switch {
	case a.err != nil && noEffect(a.err): // the node granted nothing
	case !b.won:
		b.giveBack(ctx, i)
	default:
		b.recordGrant(ctx, a)
	}
}

// recordGrant adds the grant of a node, or a possible grant, to a hold whose vote was won.
// If the lock was released meanwhile, that release is usually the node's next call and
// ends the grant. If the release did not know of the pending request, or gave up waiting
// for it, recordGrant abandons the attempt.
func (b *ballot) recordGrant(ctx context.Context, a answer) {
	maybePending := a.err != nil
	// The node may have granted nothing, or may not have raised its fence, so the fence is
	// not known.
	if maybePending {
		a.grant.Fence = 0
	}
	held := b.holds.recordLate(b.request, a.node, a.grant.Fence, maybePending)
	if late := maybePending || time.Since(b.began) >= b.timeout; late && !held && !b.voters[a.node] {
		b.abandon(ctx, a.node, b.request)
	}
}

// abandon ends an attempt at a node after its release.
func (e *Engine) abandon(ctx context.Context, i int, r engine.Request) {
	ctx, cancel := detached(ctx, e.timeout)
	defer cancel()
	_, _ = e.nodes[i].Abandon(ctx, r) // if this fails, the hold expires
}

// vote asks a node for the lock, and whether its vote counts.
func (b *ballot) vote(ctx context.Context, i int) answer {
	a, n := answer{node: i}, b.nodes[i]
	// If the node still works on an earlier call for the key, a new call could overtake it.
	if err := b.tickets[i].wait(ctx); err != nil {
		a.err = fmt.Errorf("quorum: %s has not answered the previous call: %w", n.name, engine.ErrUnavailable)
		return a
	}
	if a.grant, a.err = n.Acquire(ctx, b.request); a.err == nil {
		a.counts, a.countsErr = n.counts(ctx, b.longest)
	}
	return a
}

// raise raises the fence of a node. If the reply is lost, the node still has the lock.
func (b *ballot) raise(ctx context.Context, i int) error {
	ctx, cancel := detached(ctx, b.acquireTimeout(b.request.Lease))
	defer cancel()
	err := b.nodes[i].caps.Fencer.Raise(ctx, b.request, b.fence)
	if errors.Is(err, engine.ErrNotHolder) || err == nil {
		return err
	}
	// ErrUnknown makes ask release or record the grant, which still exists.
	return fmt.Errorf("%w: %w", engine.ErrUnknown, err)
}

// giveBack releases a partial grant after a lost vote. It does not abandon it: the
// caller may repeat the attempt, which a tombstone would refuse.
func (b *ballot) giveBack(ctx context.Context, i int) {
	ctx, cancel := detached(ctx, b.timeout)
	defer cancel()
	if _, err := b.nodes[i].Release(ctx, b.request); err != nil {
		b.releaseFailed.Store(true)
	}
}

// collect waits until it is known whether a majority has granted the lock.
func (b *ballot) collect(ctx context.Context) error {
	for !b.tally.done() {
		select {
		case a := <-b.answers:
			b.tally.add(a)
			if a.err == nil && b.tally.before == nil {
				b.tally.before = b.holds.find(b.request) // a node has answered, so earlier calls are decided
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// win returns the grant if a majority has granted the lock.
func (b *ballot) win(ctx context.Context) (engine.Grant, bool) {
	if !b.tally.won() {
		return engine.Grant{}, false
	}
	// A repeated attempt gets the fence of its hold, even if a node has granted a higher
	// one.
	same, fence := b.tally.same(), b.tally.fence()
	if same {
		fence = b.tally.before.fence
	}
	settled := same && b.tally.before.agreed
	if b.request.Fenced && !settled && !b.agree(ctx, fence) {
		return engine.Grant{}, false
	}
	// The check comes last: raising the fences took a round trip, too.
	if time.Since(b.began)+drift(b.request.Lease) > b.request.Lease-b.request.Lease/minLeft {
		b.tally.late = true
		return engine.Grant{}, false
	}
	if b.fence == 0 {
		for _, i := range b.tally.holding() {
			b.voters[i] = true
		}
	}
	// The hold is known before decide: recordGrant adds the late grants to it.
	b.holds.add(b.request, fence, b.request.Fenced, same, b.tally.fences())
	b.decide(true)
	return engine.Grant{Fence: fence, Count: b.tally.count()}, true
}

// agree reports whether a majority has the fence, or was raised to it. Every later
// majority shares a node with this one, so its fence is higher.
func (b *ballot) agree(ctx context.Context, fence uint64) bool {
	// Closing counted publishes b.fence to the goroutines of all nodes.
	b.fence = fence
	close(b.counted)
	agreed, waiting := 0, b.tally.granted()+b.tally.waiting()
	for agreed < b.need && agreed+waiting >= b.need {
		select {
		case a := <-b.answers: // a late grant is raised, too
			b.tally.add(a)
			if a.err != nil {
				waiting--
			}
		case a := <-b.raises:
			waiting--
			if a.err == nil {
				agreed++
				b.voters[a.node] = true
				b.tally.raised(a)
			}
		case <-ctx.Done():
			return false
		}
	}
	b.tally.fenceDisagreed = agreed < b.need
	return !b.tally.fenceDisagreed
}

// decide ends the vote.
func (b *ballot) decide(won bool) {
	// Closing decided publishes b.won and b.voters. agree may have closed counted
	// already.
	b.won = won
	select {
	case <-b.counted:
	default:
		close(b.counted)
	}
	close(b.decided)
}

// lose waits until the partial grants are released, and returns why the vote was lost.
// It waits for pending answers only while the reason is unknown; later grants are
// released in the background.
func (b *ballot) lose(ctx context.Context) error {
	granted := b.tally.holding()
	b.decide(false)
	for _, i := range granted {
		// The refusal is returned after the releases, so that a retry meets no partial
		// grant.
		if err := b.await(ctx, b.tickets[i].ended); err != nil {
			return err
		}
	}
	for !b.tally.reasonKnown() {
		if err := b.await(ctx, nil); err != nil {
			return err
		}
	}
	return b.tally.failure(b.request, b.timeout, b.releaseFailed.Load())
}

// await waits for the event, or for the next answer if happened is nil.
func (b *ballot) await(ctx context.Context, happened <-chan struct{}) error {
	for {
		select {
		case <-happened:
			return nil
		case a := <-b.answers:
			b.tally.add(a)
			if happened == nil {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("quorum: %q: gave up before the partial grants were released: %w: %w", b.request.Key, engine.ErrUnknown, context.Cause(ctx))
		}
	}
}
