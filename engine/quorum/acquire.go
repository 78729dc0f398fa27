package quorum

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// leastLeft is which part of a lease must be left when it is granted: a renewal is
// due after a third and has to be done again if it fails, for which less would be
// too little. As no node is given more than a tenth, it is there unless this process
// stood still.
const leastLeft = 3

// Acquire implements [engine.Engine]. It asks all nodes at once, and answers as soon
// as most have granted the lock, or no longer can. What others answer later belongs
// to the hold, or is given back.
func (e *Engine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	if err := e.admitLease(ctx, &r); err != nil {
		return engine.Grant{}, err
	}
	if n := e.unfencing(); r.Fenced && n != nil {
		return engine.Grant{}, fmt.Errorf("quorum: %q: %s has no engine.Fencer, so that the nodes cannot agree on a fence: "+
			"use engines that have, or leave Fenced out: %w", r.Key, n.name, errors.ErrUnsupported)
	}
	if err := e.enter(); err != nil {
		return engine.Grant{}, err
	}
	defer e.leave()
	b := e.ballot(ctx, r)
	if err := b.collect(ctx); err != nil {
		b.decide(false)
		return engine.Grant{}, fmt.Errorf("quorum: %q: gave up before most nodes had answered: %w: %w", r.Key, engine.ErrUnknown, err)
	}
	if g, ok := b.win(ctx); ok {
		return g, nil
	}
	return engine.Grant{}, b.lose(ctx)
}

// A ballot is one attempt at all nodes.
type ballot struct {
	*Engine
	request engine.Request
	began   time.Time
	tally   tally

	turns   []turn
	answers chan answer // from each node one
	raises  chan answer // from each node that was to raise its fence, one

	counted chan struct{} // closed when it is known whether most nodes have granted the lock
	fence   uint64        // to raise the others to, then; zero if nothing is to be raised
	decided chan struct{} // closed when it is known whether the lock is granted
	won     bool          // then
	voters  []bool        // then, whose grants it is made of, by node
	stuck   atomic.Bool   // something could not be given back
}

// An answer is what a node said.
type answer struct {
	node   int
	grant  engine.Grant
	err    error
	counts bool  // the node remembers everything that it may have granted to others
	doubt  error // why it does not, if it was not even to be learned
}

// ballot asks all nodes.
func (e *Engine) ballot(ctx context.Context, r engine.Request) *ballot {
	n := len(e.nodes)
	b := &ballot{
		Engine: e, request: r, began: time.Now(),
		answers: make(chan answer, n), raises: make(chan answer, n),
		counted: make(chan struct{}), decided: make(chan struct{}), voters: make([]bool, n),
	}
	b.tally.init(n, e.need)
	b.turns = e.turns.all(r.Key, n)
	bounded, cancel := deadline(ctx, e.patience(r.Lease))
	left := new(atomic.Int32)
	left.Store(int32(n))
	for i := range e.nodes {
		e.running.Go(func() { // for no longer than the bounds of the calls it makes
			defer b.turns[i].end()
			b.ask(bounded, i)
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return b
}

// ask is the part of one node.
func (b *ballot) ask(ctx context.Context, i int) {
	a := b.vote(ctx, i)
	b.answers <- a
	<-b.counted
	if b.fence > 0 && a.err == nil {
		if a.grant.Fence < b.fence {
			a.err = b.raise(ctx, i)
			a.grant.Fence = b.fence
		}
		b.raises <- a
	}
	<-b.decided
	switch {
	case a.err != nil && sure(a.err): // it has nothing
	case !b.won:
		b.giveBack(ctx, i)
	default:
		b.keep(ctx, a)
	}
}

// keep remembers what a node has granted, or may have, in a vote that is won. If the
// lock was released meanwhile it is for the release, which comes next, to end that;
// unless it does not know that the attempt may still arrive, or gave up waiting.
func (b *ballot) keep(ctx context.Context, a answer) {
	unsure := a.err != nil
	if unsure {
		a.grant.Fence = 0
	}
	has := b.holds.saw(b.request, a.node, a.grant.Fence, unsure)
	if late := unsure || time.Since(b.began) >= b.bound; late && !has && !b.voters[a.node] {
		b.abandon(ctx, a.node, b.request)
	}
}

// abandon ends at a node what was released while it was on its way there.
func (e *Engine) abandon(ctx context.Context, i int, r engine.Request) {
	ctx, cancel := deadline(ctx, e.bound)
	defer cancel()
	_, _ = e.nodes[i].Abandon(ctx, r) // or it ends with its lease
}

// vote asks a node for the lock, and whether its word counts.
func (b *ballot) vote(ctx context.Context, i int) answer {
	a, n := answer{node: i}, b.nodes[i]
	if err := b.turns[i].wait(ctx); err != nil {
		a.err = fmt.Errorf("quorum: %s still has the last call to answer: %w", n.name, engine.ErrUnavailable)
		return a
	}
	if a.grant, a.err = n.Acquire(ctx, b.request); a.err == nil {
		a.counts, a.doubt = n.witness(ctx, b.longest)
	}
	return a
}

// raise lets a node agree on the fence. A node that may not have heard of it still
// has the lock.
func (b *ballot) raise(ctx context.Context, i int) error {
	ctx, cancel := deadline(ctx, b.patience(b.request.Lease))
	defer cancel()
	err := b.nodes[i].can.Fencer.Raise(ctx, b.request, b.fence)
	if errors.Is(err, engine.ErrNotHolder) || err == nil {
		return err
	}
	return fmt.Errorf("%w: %w", engine.ErrUnknown, err)
}

// giveBack ends what a node has granted, or may have, in a vote that is lost. The
// same attempt may come again, so nothing is left that would refuse it.
func (b *ballot) giveBack(ctx context.Context, i int) {
	ctx, cancel := deadline(ctx, b.bound)
	defer cancel()
	if _, err := b.nodes[i].Release(ctx, b.request); err != nil {
		b.stuck.Store(true)
	}
}

// collect returns when it is known whether most nodes have granted the lock, or why
// it did not wait for that.
func (b *ballot) collect(ctx context.Context) error {
	for !b.tally.done() {
		select {
		case a := <-b.answers:
			b.tally.add(a)
			if a.err == nil && b.tally.before == nil {
				b.tally.before = b.holds.find(b.request) // calls before this one have been decided by now
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// win answers with the grant if most nodes have given it, and reports whether so.
func (b *ballot) win(ctx context.Context) (engine.Grant, bool) {
	if !b.tally.won() {
		return engine.Grant{}, false
	}
	same, fence := b.tally.same(), b.tally.fence()
	if same {
		fence = b.tally.before.fence
	}
	settled := same && b.tally.before.agreed
	if b.request.Fenced && !settled && !b.agree(ctx, fence) {
		return engine.Grant{}, false
	}
	if time.Since(b.began)+drift(b.request.Lease) > b.request.Lease-b.request.Lease/leastLeft {
		b.tally.late = true
		return engine.Grant{}, false
	}
	if b.fence == 0 {
		for _, i := range b.tally.holding() {
			b.voters[i] = true
		}
	}
	b.holds.granted(b.request, fence, b.request.Fenced, same, b.tally.fences())
	b.decide(true)
	return engine.Grant{Fence: fence, Count: b.tally.count()}, true
}

// agree reports whether most nodes have the fence: those of which it is, and those
// that could be raised to it. Whoever is granted the lock next meets one of them.
func (b *ballot) agree(ctx context.Context, fence uint64) bool {
	b.fence = fence
	close(b.counted)
	agreed, waiting := 0, b.tally.granted()+b.tally.waiting()
	for agreed < b.need && agreed+waiting >= b.need {
		select {
		case a := <-b.answers: // one that comes late has its fence raised, too
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
	b.tally.disagreed = agreed < b.need
	return !b.tally.disagreed
}

// decide tells all nodes what came of it.
func (b *ballot) decide(won bool) {
	b.won = won
	select {
	case <-b.counted:
	default:
		close(b.counted)
	}
	close(b.decided)
}

// lose gives back what was granted, and says why it was not enough. It waits for
// answers only as long as it does not know that, and for nobody who has not answered:
// what they grant is given back when they do.
func (b *ballot) lose(ctx context.Context) error {
	had := b.tally.holding()
	b.decide(false)
	for _, i := range had {
		if err := b.await(ctx, b.turns[i].ended); err != nil {
			return err
		}
	}
	for !b.tally.clear() {
		if err := b.await(ctx, nil); err != nil {
			return err
		}
	}
	return b.tally.loss(b.request, b.bound, b.stuck.Load())
}

// await returns when something has happened, or with another answer if that is nil.
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
			return fmt.Errorf("quorum: %q: gave up before all was given back: %w: %w", b.request.Key, engine.ErrUnknown, context.Cause(ctx))
		}
	}
}
