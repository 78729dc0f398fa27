// Package etcd is the engine on etcd, from version 3.5.14 on.
//
//	e, err := etcd.Open(ctx, "etcd://localhost:2379")
//
// A hold, a queue position, a claim and a tombstone are keys, each attached to a lease of
// etcd. The leader of the cluster ends them, by its own clock. A change is one
// transaction that takes effect only if the lock has not been changed since it was read.
// docs/etcd.md describes the keys.
//
// # What is not promised
//
// The leases of etcd have whole seconds, and no lease is shorter than one and a half
// election timeouts. So a lock whose holder died stays held for up to a second longer than its
// lease, and at least for etcd's shortest lease. When another leader is elected, every
// lease begins again. A holder never counts on that time.
//
// Fences are revisions of etcd. If the cluster is restored from a backup, they go back,
// unless the restore bumps the revision.
package etcd

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/trace"
)

var (
	_ engine.Engine    = (*Engine)(nil)
	_ engine.Notifier  = (*Engine)(nil)
	_ engine.Latcher   = (*Engine)(nil)
	_ engine.Inspector = (*Engine)(nil)
	_ engine.Fencer    = (*Engine)(nil)
	_ engine.Prober    = (*Engine)(nil)
)

// An Engine grants locks that an etcd cluster stores. Use [Open] or [New].
type Engine struct {
	client  *clientv3.Client
	owned   bool // Close closes the client
	keys    keyspace
	timeout time.Duration
	lazy    bool

	leases   leasePool
	streams  streamPool
	renewing chan struct{} // has an element for each renewal that is being made
	recent   recent
	notifier *notifier
	calls    trace.Hooks[engine.ServerCall]

	life   context.Context // ends with Close
	end    context.CancelFunc
	tasks  sync.WaitGroup // the watches; Close waits for them
	closed atomic.Bool
}

// New returns an engine on a client that the caller closes after the engine.
func New(client *clientv3.Client, opts ...Option) *Engine {
	e := newEngine(opts...)
	e.client = client
	return e
}

// newEngine returns an engine without a client. The options come first, because they
// decide how the client is made.
func newEngine(opts ...Option) *Engine {
	e := &Engine{timeout: defaultTimeout, keys: keyspace{prefix: defaultPrefix}, renewing: make(chan struct{}, renewalLimit)}
	for _, opt := range opts {
		opt(e)
	}
	e.recent.open()
	e.life, e.end = context.WithCancel(context.Background())
	e.notifier = &notifier{engine: e, watches: make(map[watchID]*watch)}
	return e
}

// Close ends the watches and waits for them. It closes the client if [Open] made it.
// Later calls fail with [engine.ErrClosed].
func (e *Engine) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	e.notifier.close()
	e.end()
	e.tasks.Wait()
	if !e.owned {
		return nil
	}
	return e.client.Close()
}

// Capabilities implements [engine.Engine].
func (e *Engine) Capabilities() engine.Capabilities {
	return engine.Capabilities{
		Kinds:    []engine.Kind{engine.Fair, engine.Read, engine.Write, engine.Permit},
		Notifier: e, Latcher: e, Inspector: e, Ledger: ledger{e}, Eraser: ledger{e}, Fencer: e,
		Incarnations: e, Notes: e, Prober: e,
		Observe: e.calls.Add,
	}
}

// begin bounds a call by the engine's timeout. A context that is done, and a closed engine,
// are refused before anything is sent.
func (e *Engine) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if e.closed.Load() {
		return nil, nil, errClosed
	}
	ctx = context.WithValue(ctx, callerKey{}, ctx)
	// A member that has lost the leader answers at once, instead of after its own timeout.
	bounded, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), e.timeout)
	return bounded, cancel, nil
}
