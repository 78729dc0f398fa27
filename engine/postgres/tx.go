package postgres

import (
	"context"
	"database/sql"
	"math"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/engine"
)

// A Tx is a transaction. A pgx.Tx is one; [SQL] makes one of a transaction of package
// database/sql. The engine calls neither Commit nor Rollback: they exclude a pool and a
// connection, on which each statement commits by itself.
type Tx interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// SQL returns a Tx of a transaction of package database/sql, with a driver for PostgreSQL.
func SQL(tx *sql.Tx) Tx { return sqlTx{tx} }

type sqlTx struct{ *sql.Tx }

// QueryRow implements [Tx].
func (x sqlTx) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return x.QueryRowContext(ctx, query, args...)
}

// Commit implements [Tx].
func (x sqlTx) Commit(context.Context) error { return x.Tx.Commit() }

// Rollback implements [Tx].
func (x sqlTx) Rollback(context.Context) error { return x.Tx.Rollback() }

// Tx returns the records of the engine in a transaction of the caller, for
// guard.Guard.DoTx: the claim, the work and its result commit together or not at all. The
// transaction must be one of the engine's database.
//
// The key stays locked until the transaction ends. Claims outside of transactions find it
// [engine.Running]. Two transactions that claim the same keys in different order, and wait,
// may deadlock; then the server aborts one of them. In a transaction with another isolation
// than READ COMMITTED, a claim may fail as a serialization failure (40001): then repeat the
// transaction.
func (e *Engine) Tx(tx Tx) engine.Tx { return transaction{e, tx} }

// A transaction is a transaction of the caller.
type transaction struct {
	engine *Engine
	tx     Tx
}

// Engine implements [engine.Tx].
func (x transaction) Engine() engine.Engine { return x.engine }

// Claim implements [engine.Tx]. The error of the server is kept, because it decides what
// happens to the transaction.
func (x transaction) Claim(ctx context.Context, c engine.Claim, wait time.Duration) (engine.Record, error) {
	if err := x.engine.usable(ctx); err != nil {
		return engine.Record{}, err
	}
	if err := checkClaim(&c); err != nil {
		return engine.Record{}, err
	}
	s := x.engine.claimCall(&c, waitInTx(wait))
	var a claimAnswer
	if err := x.tx.QueryRow(ctx, s.sql, s.args...).Scan(a.fields()...); err != nil {
		return engine.Record{}, failTx(s, err)
	}
	x.engine.sweepSometimes()
	return a.result(s, &c)
}

// sweepSometimes removes a few expired rows, in one of 16 calls, and not in the caller's
// transaction, which may be long.
func (e *Engine) sweepSometimes() {
	if rand.N(16) != 0 {
		return
	}
	s := &statement{name: "sweep", sql: "SELECT * FROM " + e.schema.String() + ".sweep_from(sha256(random()::text::bytea))"}
	e.background.Go(func() { _ = e.run(context.Background(), s) }) // the next one repeats it; Close waits
}

// Settle implements [engine.Tx].
func (x transaction) Settle(ctx context.Context, y engine.Settlement) (engine.Outcome, error) {
	if err := x.engine.usable(ctx); err != nil {
		return 0, err
	}
	if err := checkSettlement(&y); err != nil {
		return 0, err
	}
	s := x.engine.settleCall(&y, waitInTx(0))
	var code int64
	if err := x.tx.QueryRow(ctx, s.sql, s.args...).Scan(&code); err != nil {
		return 0, failTx(s, err)
	}
	return settleResult(s, code)
}

// waitInTx encodes how long a call in a caller's transaction waits; see enter in common.sql.
// The server's longest lock_timeout is 24 days.
func waitInTx(d time.Duration) int64 { return -1 - min(max(0, d.Milliseconds()), math.MaxInt32) }

// failTx names the call that failed, and keeps the error for the caller to examine.
func failTx(s *statement, err error) error {
	return fail(s, "in the caller's transaction: "+err.Error(), err)
}
