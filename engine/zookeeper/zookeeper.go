// Package zookeeper is the engine on Apache ZooKeeper, from version 3.5 on.
//
//	e, err := zookeeper.Open(ctx, "zk://host1:2181,host2:2181,host3:2181")
//
// A lock is a node with a small document: its holders, its queue, and the commands of
// the last transaction. Every change replaces the document if no other client has
// changed it meanwhile. The leader's clock decides when leases expire, and fences are
// ids of transactions. docs/zookeeper.md describes the format.
//
// # What is not promised
//
// A lock does not end with the session of its holder, but with its lease: a session ends
// by a timeout of its own, which the holder cannot know, while it knows its lease.
// Leases follow the wall clock of the leader. After an election they follow the new
// leader's clock, so the clocks of the servers must agree. Fences rise as long as the
// ensemble keeps its data; deleting the data, or the root, starts again.
package zookeeper

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
	"github.com/interlock-go/interlock/internal/trace"
)

var (
	_ engine.Engine       = (*Engine)(nil)
	_ engine.Notifier     = (*Engine)(nil)
	_ engine.Latcher      = (*Engine)(nil)
	_ engine.Inspector    = (*Engine)(nil)
	_ engine.Fencer       = (*Engine)(nil)
	_ engine.Incarnations = (*Engine)(nil)
	_ engine.Prober       = (*Engine)(nil)
	_ engine.Quotas       = quotas{}
)

// An Engine grants locks that a ZooKeeper ensemble stores. Use [Open].
type Engine struct {
	address *address
	root    string
	timeout time.Duration // how long a call may take before its outcome is unknown
	acl     []zk.ACL
	id      string // names this engine among the listeners of a lock

	session *session
	clock   clock
	queues  keystate.Queues
	cache   cache
	cleaner cleaner
	topics  topics
	runs    runs
	calls   trace.Hooks[engine.ServerCall]

	tasks   keystate.Tasks
	closing chan struct{} // closed by Close
	close   sync.Once
}

// newEngine returns an engine without a session.
func newEngine(a *address) *Engine {
	e := &Engine{
		address: a, root: a.root, timeout: a.timeout, acl: a.acl(), id: rand.Text(), closing: make(chan struct{}),
		cache:   cache{nodes: make(map[string]*node)},
		cleaner: cleaner{due: make(map[documentName]time.Time)},
	}
	e.topics = topics{e: e, byName: make(map[string]*topic), orphans: make(map[string]struct{})}
	return e
}

// Close closes the connection and waits for the engine's goroutines. Later calls fail
// with [engine.ErrClosed].
func (e *Engine) Close() error {
	e.close.Do(func() {
		e.tasks.End()
		close(e.closing)
		e.session.close()
		e.tasks.Wait()
	})
	return nil
}

// Capabilities implements [engine.Engine].
func (e *Engine) Capabilities() engine.Capabilities {
	return engine.Capabilities{
		Kinds:    []engine.Kind{engine.Fair, engine.Read, engine.Write, engine.Permit},
		Notifier: e, Latcher: e, Inspector: e, Ledger: ledger{e}, Eraser: ledger{e}, Quotas: quotas{e},
		Fencer: e, Incarnations: e, Notes: e, Prober: e, Observe: e.calls.Add,
	}
}

// Acquire implements [engine.Engine].
func (e *Engine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	if err := e.check(ctx, r.Key, keystate.CheckAcquire(&r)); err != nil {
		return engine.Grant{}, err
	}
	c := keystate.CommandOf(keystate.DoAcquire, &r)
	if r.Kind == engine.Exclusive && e.topics.subscribed(topicName(keystate.KindTopic(r.Key, r.Kind))) {
		c.Listener = e.id
	}
	return ask[engine.Grant](ctx, e, keystate.Locks, r.Key, c)
}

// Renew implements [engine.Engine].
func (e *Engine) Renew(ctx context.Context, rs []engine.Request) []error {
	return keystate.Each(rs, func(r *engine.Request) error {
		if err := e.check(ctx, r.Key, keystate.CheckRequest(r)); err != nil {
			return err
		}
		_, err := e.run(ctx, keystate.Locks, r.Key, keystate.CommandOf(keystate.DoRenew, r))
		return err
	})
}

// Release implements [engine.Engine].
func (e *Engine) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	return e.end(ctx, keystate.DoRelease, &r)
}

// Abandon implements [engine.Engine].
func (e *Engine) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	return e.end(ctx, keystate.DoAbandon, &r)
}

// end ends the hold of an attempt.
func (e *Engine) end(ctx context.Context, do string, r *engine.Request) (engine.ReleaseResult, error) {
	if err := e.check(ctx, r.Key, keystate.CheckRequest(r)); err != nil {
		return engine.ReleaseResult{}, err
	}
	c := keystate.CommandOf(do, r)
	c.Listener = e.id
	result, err := ask[engine.ReleaseResult](ctx, e, keystate.Locks, r.Key, c)
	if err == nil && result.Outcome == engine.Released && result.Count == 0 && keystate.Family(r.Kind) == engine.Exclusive &&
		e.topics.subscribed(topicName(keystate.KindTopic(r.Key, r.Kind))) {
		result.Listeners++
	}
	return result, err
}

// Raise implements [engine.Fencer].
func (e *Engine) Raise(ctx context.Context, r engine.Request, fence uint64) error {
	if err := e.check(ctx, r.Key, keystate.CheckRaise(&r)); err != nil {
		return err
	}
	c := keystate.CommandOf(keystate.DoRaise, &r)
	c.Fence = fence
	_, err := e.run(ctx, keystate.Locks, r.Key, c)
	return err
}

// Notify implements [engine.Notifier].
func (e *Engine) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	return e.topics.subscribe(topicName(keystate.TopicOf(&r)))
}
