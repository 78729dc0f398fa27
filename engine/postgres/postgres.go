// Package postgres is the engine on PostgreSQL, from version 13 on.
//
//	e, err := postgres.Open(ctx, "postgres://user:password@localhost:5432/shop")
//
// Locks and records are rows of one schema, which [Migrate] creates. Each operation is one
// function of that schema: one statement, one transaction, one round trip.
// docs/postgres.md describes the tables, the permissions and the failures.
//
// # What is not promised
//
// A lock is as durable as the server's transactions: with synchronous_commit off, or after
// a failover to an asynchronous replica, the last grants may be lost, and fences may
// repeat. Leases follow the server's wall clock: if it is set back, they last longer.
//
// Session-level advisory locks are not used. They live as long as a connection: a pooler
// or a dropped connection releases or keeps them, and they have no fence.
package postgres

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/trace"
)

var (
	_ engine.Engine    = (*Engine)(nil)
	_ engine.Notifier  = (*Engine)(nil)
	_ engine.Latcher   = (*Engine)(nil)
	_ engine.Inspector = (*Engine)(nil)
)

// An Engine grants locks that a PostgreSQL server stores. Use [Open] or [New].
type Engine struct {
	pool     *pgxpool.Pool
	owned    bool   // Close closes the pool
	addr     string // of the server, without its database and user
	schema   schema
	timeout  time.Duration
	listen   string // "", "off" or a URL
	lazy     bool
	migrates bool

	behindPooler bool // assumed if listen is set: that option is for poolers

	checked  atomic.Bool   // the schema has the right version
	explicit atomic.Bool   // sendOn wraps each call in BEGIN and COMMIT, because the default isolation is not READ COMMITTED
	checking chan struct{} // holds an element while a call checks the version

	background sync.WaitGroup // goroutines that Close waits for: the clean-up of broken connections, and sweeps
	notices    notices
	calls      trace.Hooks[engine.ServerCall]
	closed     atomic.Bool
}

// New returns an engine on a pool that the caller closes after the engine. It connects to
// nothing; the first call checks the schema. To receive notices, the engine opens one
// connection of its own with the settings of the pool, once a caller waits.
//
// Transactions on the same pool can take all of its connections. Then locks are not renewed in
// time. So use [Open], or another pool, if transactions are long.
func New(pool *pgxpool.Pool, opts ...Option) *Engine {
	e := newEngine(opts...)
	e.use(pool, pool.Config().ConnConfig)
	return e
}

func newEngine(opts ...Option) *Engine {
	e := &Engine{timeout: defaultTimeout, schema: defaultSchema, checking: make(chan struct{}, 1)}
	for _, opt := range opts {
		opt(e)
	}
	return e
}

// use attaches the pool. Notices arrive on a connection that is opened with config, unless
// the option Listen has another.
func (e *Engine) use(pool *pgxpool.Pool, config *pgx.ConnConfig) {
	e.pool, e.addr = pool, hostPort(config)
	e.behindPooler = e.listen != ""
	if e.listen == listenOff {
		e.notices = &poller{}
		return
	}
	if e.listen != "" {
		config, _ = pgx.ParseConfig(e.listen) // Listen has checked it
	}
	e.notices = newNotifier(config, e.schema, e.timeout)
}

// Close ends the connections that the engine has opened, and waits for the calls on them.
// Later calls fail with [engine.ErrClosed].
func (e *Engine) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	e.notices.close()
	if e.owned {
		e.pool.Close()
	}
	e.background.Wait()
	return nil
}

// Capabilities implements [engine.Engine]. LateGrant is zero, because each request reads its
// tombstone.
func (e *Engine) Capabilities() engine.Capabilities {
	c := engine.Capabilities{
		Kinds:   []engine.Kind{engine.Fair, engine.Read, engine.Write, engine.Permit},
		Latcher: e, Inspector: e, Ledger: ledger{e}, Eraser: ledger{e}, Quotas: quotas{e},
		Fencer: e, Incarnations: e, Notes: e, Prober: e, Observe: e.calls.Add,
	}
	if e.listen != listenOff {
		c.Notifier = e
	}
	return c
}

// Notify implements [engine.Notifier].
func (e *Engine) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	return e.notices.subscribe(topicOf(&r))
}

// micros converts a duration to whole µs. It rounds up: a lease must not end early, nor be
// zero.
func micros(d time.Duration) int64 {
	us := d.Microseconds()
	if d > time.Duration(us)*time.Microsecond {
		us++
	}
	return us
}

// duration converts µs without overflow. A time that has passed is 1 µs, because zero would
// mean unknown.
func duration(us int64) time.Duration {
	return time.Duration(min(max(us, 1), math.MaxInt64/1000)) * time.Microsecond
}

// wait is how long a call waits for a key that another transaction has locked, in ms. It is
// less than the timeout, so that the refusal arrives in time.
func (e *Engine) wait() int64 { return max(1, e.timeout.Milliseconds()/2) }
