package zookeeper

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// A round executes some calls on one document. It repeats its transaction while other
// clients change the document in between.
type round struct {
	e              *Engine
	dir, key, path string
	calls          []*keystate.Call

	node  *node           // the document as far as it is known; nil if it does not exist
	at    keystate.Moment // a moment in the past, or the present if fresh
	fresh bool            // node and at are from after the calls began
	sent  bool            // a transaction with the calls may take effect
}

// run ends when every call has its answer or its caller has left.
func (r *round) run() {
	ctx, cancel := context.WithTimeout(context.Background(), r.e.timeout)
	defer cancel()
	r.node, r.at = r.e.cache.get(r.path), r.e.clock.past()
	for try := 0; ; try++ {
		r.calls = slices.DeleteFunc(r.calls, func(x *keystate.Call) bool { return !x.Waiting() })
		if len(r.calls) == 0 {
			return
		}
		if err := r.e.session.wait(ctx); err != nil {
			r.fail(r.e.endedEarly(context.Background(), r.key))
			return
		}
		if try > 2 { // other clients change the document as well
			time.Sleep(rand.N(time.Duration(min(try, 20)) * time.Millisecond))
		}
		done, err := r.step(ctx)
		if err != nil && (r.sent || !errors.Is(err, engine.ErrUnavailable)) {
			r.fail(err)
			return
		}
		if done {
			return
		}
	}
}

// step executes the calls on the known document. Without a change, the answers count
// only if the document is fresh. It reports whether the calls have their answers.
func (r *round) step(ctx context.Context) (done bool, _ error) {
	p := r.plan()
	switch {
	case !p.effects.Changed && r.fresh:
		for i, x := range r.calls {
			x.Resolve(p.answers[i], nil)
		}
		return true, nil
	case !p.effects.Changed:
		return false, r.refresh(ctx)
	}
	if len(p.data) > maxDocument {
		return r.divide(len(p.data))
	}
	if !r.send() {
		return false, nil // without the calls whose callers have left
	}
	stat, err := r.e.commit(r.path, &p)
	switch {
	case err == nil:
		r.committed(&p, stat)
		return true, nil
	case errors.Is(err, zk.ErrNoNode) && p.node == nil: // the bucket is missing, or the directory of the signals
		r.unsend()
		return false, r.e.prepareBucket(r.path)
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrBadVersion):
		r.unsend() // nothing has happened
		return false, r.reread()
	case errors.Is(err, zk.ErrNoServer), errors.Is(err, zk.ErrSessionExpired), errors.Is(err, zk.ErrSessionMoved), isRefusal(err):
		r.unsend()
	}
	r.e.cache.drop(r.path)
	return false, failure(r.key, r.calls[0].Do, err)
}

// refresh reads the present time, and then the document.
func (r *round) refresh(ctx context.Context) error {
	at, err := r.e.clock.read(ctx, r.e)
	if errors.Is(err, context.DeadlineExceeded) {
		err = r.e.endedEarly(context.Background(), r.key)
	}
	if err != nil {
		return readFailure(r.key, err)
	}
	if r.node, err = r.e.get(r.dir, r.key); err != nil {
		return readFailure(r.key, err)
	}
	r.at, r.fresh = at, true
	r.seen()
	return nil
}

// seen updates the cache after a read. If the document is gone, another engine has removed
// it, and the cleaner has nothing left to do.
func (r *round) seen() {
	if r.node == nil {
		r.e.cache.drop(r.path)
		r.e.cleaner.cancel(r.dir, r.key)
	} else if r.e.cache.get(r.path) != nil { // a document that was only read is not kept
		r.e.cache.put(r.path, r.node)
	}
}

// reread reads the document after a conflict. The server that answers has seen the
// transaction that failed, so the document is the one that it conflicted with.
func (r *round) reread() error {
	n, err := r.e.get(r.dir, r.key)
	if err != nil {
		r.e.cache.drop(r.path)
		return readFailure(r.key, err)
	}
	if r.node != nil && n != nil && n.at == r.node.at { // a directory was deleted
		if err := r.e.prepare(); err != nil {
			return readFailure(r.key, err)
		}
	}
	r.node, r.fresh = n, false
	r.seen()
	if n != nil && n.at.ID > r.at.ID {
		r.at = n.at
	}
	return nil
}

// divide executes calls one by one whose transaction would be too large.
func (r *round) divide(size int) (done bool, _ error) {
	if len(r.calls) == 1 {
		return false, tooLargeError(r.key, size)
	}
	for _, x := range r.calls {
		one := round{e: r.e, dir: r.dir, key: r.key, path: r.path, calls: []*keystate.Call{x}}
		one.run()
	}
	return true, nil
}

// send marks the calls as sent. It reports false if a caller has left meanwhile: then
// none is marked.
func (r *round) send() bool {
	r.sent = keystate.Send(r.calls)
	return r.sent
}

// unsend marks the calls as not sent, after a conflict.
func (r *round) unsend() {
	r.sent = false
	keystate.Unsend(r.calls)
}

// fail ends all calls with an error.
func (r *round) fail(err error) { keystate.Fail(r.calls, err) }

// committed answers the calls. Only now are the time and the id of the transaction known,
// and with them the answers.
func (r *round) committed(p *plan, stat *zk.Stat) {
	at := momentOf(stat)
	r.e.clock.saw(at)
	after := p.before.Clone()
	answers, x := keystate.Execute(after, p.commands, at)
	if p.remove {
		r.e.cache.drop(r.path)
		r.e.cleaner.cancel(r.dir, r.key)
	} else {
		n := &node{incarnation: p.incarnation, state: after, version: stat.Version, at: at}
		r.e.cache.put(r.path, n)
		r.e.cleaner.schedule(r.dir, r.key, n)
	}
	for i, c := range r.calls {
		c.Resolve(answers[i], nil)
	}
	// The transaction has notified those that seemed next before its time was known.
	rest := slices.DeleteFunc(topicNames(x.Wakes), func(topic string) bool { return slices.Contains(p.signals, topic) })
	_ = r.e.signal(rest) // a notification may be missing
	r.discard(p.before, after)
}

// discard deletes the large result that a record had before the round, unless it still
// has it.
func (r *round) discard(before, after keystate.State) {
	if b := keystate.BlobOf(before); b != nil && !usesBlob(after, b.ID) {
		r.e.discard(r.key, b)
	}
}
