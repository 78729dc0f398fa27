package postgres

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/engine"
)

// inTransaction is the wait of calls in a caller's transaction; see enter in common.sql.
const inTransaction = -1

// A Querier runs one statement that returns a row. A pgx.Tx is one; [SQL] makes one of a
// transaction of package database/sql.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// SQL returns a Querier on a transaction of package database/sql, with a driver for
// PostgreSQL.
func SQL(tx *sql.Tx) Querier { return sqlQuerier{tx} }

type sqlQuerier struct{ tx *sql.Tx }

// QueryRow implements [Querier].
func (q sqlQuerier) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return q.tx.QueryRowContext(ctx, query, args...)
}

// ClaimTx is Claim in a transaction of the caller: the claim, the work and its settlement
// commit together or not at all. Use a transaction of the database of the engine.
//
// The key stays locked until the transaction ends. Meanwhile other claims in transactions
// wait, as long as their lock_timeout allows; claims outside of transactions find the key
// [engine.Running]. Two transactions that claim the same keys in different order may
// deadlock, and the server aborts one of them.
//
// An error of the server is returned as it is, because it decides what happens to the
// transaction. In a transaction with another isolation than READ COMMITTED, a concurrent
// claim may fail as a serialization failure (40001): then repeat the transaction.
func (e *Engine) ClaimTx(ctx context.Context, q Querier, c engine.Claim) (engine.Record, error) {
	if err := e.usable(ctx); err != nil {
		return engine.Record{}, err
	}
	if err := checkClaim(&c); err != nil {
		return engine.Record{}, err
	}
	s := e.claimCall(&c, inTransaction)
	var a claimAnswer
	if err := q.QueryRow(ctx, s.sql, s.args...).Scan(a.fields()...); err != nil {
		return engine.Record{}, failTx(s, err)
	}
	return a.result(s, &c)
}

// SettleTx is Settle in a transaction of the caller; see [Engine.ClaimTx].
func (e *Engine) SettleTx(ctx context.Context, q Querier, x engine.Settlement) (engine.Outcome, error) {
	if err := e.usable(ctx); err != nil {
		return 0, err
	}
	if err := checkSettlement(&x); err != nil {
		return 0, err
	}
	s := e.settleCall(&x, inTransaction)
	var code int64
	if err := q.QueryRow(ctx, s.sql, s.args...).Scan(&code); err != nil {
		return 0, failTx(s, err)
	}
	return settleResult(s, code)
}

// failTx names the call that failed, and keeps the error for the caller to examine.
func failTx(s *statement, err error) error {
	return fail(s, "in the caller's transaction: "+err.Error(), err)
}
