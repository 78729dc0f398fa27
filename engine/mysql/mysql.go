// Package mysql is the engine on MySQL, from version 8.0 on, and MariaDB, from version 10.6
// on.
//
//	e, err := mysql.Open(ctx, "mysql://user:password@localhost:3306/shop")
//
// Locks and records are documents in one table, which [Migrate] creates. An operation is one
// transaction that locks the row of its key, reads the server's clock after that, and
// replaces the document: two round trips. docs/mysql.md describes the tables, the
// permissions and the failures.
//
// # What is not promised
//
// A lock is as durable as the server's transactions: with innodb_flush_log_at_trx_commit or
// sync_binlog other than 1, or after a failover to an asynchronous replica, the last grants
// may be lost, and fences may repeat. Leases follow the server's wall clock: if it is set back, they last
// longer. One server at a time must take all writes: in a group with several primaries,
// such as Galera, fences need not rise.
//
// GET_LOCK is not used. Its locks belong to a connection: a dropped connection releases them,
// and a connection that a proxy keeps open keeps them. They have no fence.
package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

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
	_ engine.Notes        = (*Engine)(nil)
	_ engine.Quotas       = quotas{}
)

// name is the name of the engine in errors.
const name = "mysql"

// An Engine grants locks that a MySQL or MariaDB server stores. Use [Open].
type Engine struct {
	settings

	db    *sql.DB
	addr  string // of the server, without its database and user
	id    string // names this engine among the listeners of a lock
	dials *atomic.Uint64

	checked           atomic.Bool   // the schema has the right version
	checking          chan struct{} // holds an element while a call checks the version
	packet            atomic.Int64  // the largest statement that the server and the driver accept, in bytes
	rollbackOnTimeout atomic.Bool   // innodb_rollback_on_timeout is on: a lock wait timeout rolls back the whole transaction

	beforeCommit atomic.Pointer[func()] // for tests of faults

	queues  keystate.Queues
	notices notices
	starts  serverStarts
	calls   trace.Hooks[engine.ServerCall]

	tasks   keystate.Tasks
	closing chan struct{} // closed by Close
	close   sync.Once
}

// Close closes the connections and waits for the engine's goroutines. Later calls fail with
// [engine.ErrClosed].
func (e *Engine) Close() error {
	e.close.Do(func() {
		e.tasks.End()
		close(e.closing)
		_ = e.db.Close()
		e.tasks.Wait()
	})
	return nil
}

// Capabilities implements [engine.Engine]. LateGrant is zero, because each request reads its
// tombstone.
func (e *Engine) Capabilities() engine.Capabilities {
	return engine.Capabilities{
		Kinds:    []engine.Kind{engine.Fair, engine.Read, engine.Write, engine.Permit},
		Notifier: e, Latcher: e, Inspector: e, Ledger: ledger{e}, Eraser: ledger{e}, Quotas: quotas{e},
		Fencer: e, Incarnations: e, Notes: e, Prober: e, Observe: e.calls.Add,
	}
}

// newEngine returns an engine without connections.
func newEngine(a *address) *Engine {
	e := &Engine{
		settings: a.settings, addr: a.config.Addr, id: rand.Text(), dials: new(atomic.Uint64),
		checking: make(chan struct{}, 1), closing: make(chan struct{}),
	}
	e.notices = notices{e: e, rows: make(map[rowID]*subscriptions), kick: make(chan struct{}, 1)}
	return e
}

// Notify implements [engine.Notifier].
func (e *Engine) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	return e.notices.subscribe(keystate.TopicOf(&r))
}

// Acquire implements [engine.Engine].
func (e *Engine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	if err := e.check(ctx, r.Key, keystate.CheckAcquire(&r)); err != nil {
		return engine.Grant{}, err
	}
	c := keystate.CommandOf(keystate.DoAcquire, &r)
	if r.Kind == engine.Exclusive && e.notices.subscribed(keystate.KindTopic(r.Key, r.Kind)) {
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
		e.notices.subscribed(keystate.KindTopic(r.Key, r.Kind)) {
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

// CountDown implements [engine.Latcher].
func (e *Engine) CountDown(ctx context.Context, r engine.Request) (left int, err error) {
	if err := e.check(ctx, r.Key, keystate.CheckCountDown(&r)); err != nil {
		return 0, err
	}
	c := keystate.CommandOf(keystate.DoCountDown, &r)
	c.Kind = engine.Latch
	return ask[int](ctx, e, keystate.Locks, r.Key, c)
}

// lockWait is how long a statement waits for a row that another transaction has locked: half
// of the engine's timeout, so that the server's refusal arrives before the call times out.
func (e *Engine) lockWait() time.Duration { return e.timeout / 2 }
