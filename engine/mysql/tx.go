package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// A Tx is a transaction of package database/sql. A *sql.Tx is one. The engine calls neither
// Commit nor Rollback: they exclude a *sql.DB, on which each statement commits by itself.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	Commit() error
	Rollback() error
}

// Tx returns the records of the engine in a transaction of the caller, for
// guard.Guard.DoTx: the claim, the work and its result commit together or not at all. The
// transaction must be one of the engine's database.
//
// The key stays locked until the transaction ends. Claims outside of transactions find it
// [engine.Running]. Two transactions that claim the same keys in different order, and wait,
// each find the other's key running. If the work deadlocks with other transactions, the
// server aborts one of them (1213): then repeat the transaction.
func (e *Engine) Tx(tx Tx) engine.Tx { return transaction{e, tx} }

// A transaction is a transaction of the caller.
type transaction struct {
	engine *Engine
	tx     Tx
}

// Engine implements [engine.Tx].
func (x transaction) Engine() engine.Engine { return x.engine }

// The pauses between two looks at a key that another transaction has locked double from
// minPause to maxPause.
const (
	minPause = 5 * time.Millisecond
	maxPause = 50 * time.Millisecond
)

// Claim implements [engine.Tx].
//
// It first looks at the record on a connection of the engine, and adds the row there: a claim
// that is refused should lock nothing in the caller's transaction, and two transactions that
// add the same row would deadlock. The errors of the caller's transaction are kept, because
// they decide what happens to it.
func (x transaction) Claim(ctx context.Context, c engine.Claim, wait time.Duration) (engine.Record, error) {
	e := x.engine
	if err := e.check(ctx, c.Key, keystate.CheckClaim(&c)); err != nil {
		return engine.Record{}, err
	}
	if err := x.ready(ctx); err != nil {
		return engine.Record{}, err
	}
	command := keystate.ClaimCommand(keystate.DoClaim, &c)
	deadline := time.Now().Add(wait)
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		found, refused, err := x.consider(ctx, &command, c.Key)
		if err != nil || refused {
			return found, err
		}
		d, err := x.lock(ctx, keystate.DoClaim, c.Key)
		if err != nil {
			return engine.Record{}, err
		}
		if d != nil {
			return x.claim(ctx, d, &command, c.Key)
		}
		if !time.Now().Before(deadline) {
			return x.running(ctx, &command, c.Key)
		}
		select {
		case <-ctx.Done():
			return engine.Record{}, e.explain(ctx, attempt{operation: keystate.DoClaim, key: c.Key, err: ctx.Err()})
		case <-time.After(min(pause/2+rand.N(pause), time.Until(deadline))):
		}
	}
}

// consider returns the answer to a claim that is refused. For one that may be granted, it
// makes sure that the key has a row.
func (x transaction) consider(ctx context.Context, c *keystate.Command, key string) (found engine.Record, refused bool, _ error) {
	e := x.engine
	limited, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	d, err := e.look(limited, keystate.Records, key)
	if err != nil {
		return found, false, e.explain(ctx, attempt{operation: c.Do, key: key, err: err})
	}
	s, err := d.state(keystate.Records, key)
	if err != nil {
		return found, false, err
	}
	answers, _ := keystate.Execute(s, []keystate.Command{*c}, d.moment())
	if f, ok := answers[0].(keystate.Found); !ok || !f.Granted {
		f, err := x.answer(answers[0])
		return f, true, err
	}
	// The row must not be deleted before the caller's transaction locks it. To keep it would
	// wait for another transaction that has locked it.
	if d.exists && d.until >= d.now+keepFor/2 {
		return found, false, nil
	}
	err = e.observe(ctx, "add", func() error {
		if d.exists {
			_, err := e.db.ExecContext(limited, e.sql(keepRow), d.id[:])
			return err
		}
		_, err := e.db.ExecContext(limited, e.sql(addRow), d.id[:], keystate.Records, []byte(key))
		return err
	})
	if err != nil && !isLocked(err) { // another transaction has it
		return found, false, e.explain(ctx, attempt{operation: c.Do, key: key, err: err})
	}
	return found, false, nil
}

// answer returns a record, or the error of a claim that was refused for good.
func (x transaction) answer(a any) (engine.Record, error) {
	if refused, ok := a.(error); ok {
		return engine.Record{}, keystate.Named(name, refused)
	}
	found, err := keystate.Answer[keystate.Found](name, a, nil)
	return found.Record, err
}

// running returns the answer to a claim of a key that another transaction has locked.
func (x transaction) running(ctx context.Context, c *keystate.Command, key string) (engine.Record, error) {
	limited, cancel := context.WithTimeout(ctx, x.engine.timeout)
	defer cancel()
	if answer, ok := x.engine.lockedRecord(limited, key, c); ok {
		return x.answer(answer)
	}
	return engine.Record{}, x.locked(c.Do, key)
}

// locked is the error of a call on a key that another transaction has locked.
func (x transaction) locked(operation, key string) error {
	return fmt.Errorf("%s: another transaction has locked the key and has not ended, so nothing was done: retry later, and keep such transactions short: %w",
		about(operation, key), engine.ErrUnavailable)
}

// lock locks the row of a key in the caller's transaction and reads it. The document is nil
// if another transaction has locked it.
//
// The statement finds a row, and does not wait. A search that finds none, or skips locked
// rows, would lock a gap for other keys, because transactions are REPEATABLE READ by default.
func (x transaction) lock(ctx context.Context, operation, key string) (*document, error) {
	d := &document{id: rowOf(keystate.Records, key)}
	found, err := d.scan(ctx, x.tx, x.engine.sql(readRow+" FOR UPDATE NOWAIT"), d.id[:])
	switch {
	case isLocked(err):
		return nil, x.alive(ctx)
	case err != nil:
		return nil, failTx(operation, key, err)
	case !found:
		return nil, failTx(operation, key, fmt.Errorf("the row of the key is gone: repeat the transaction: %w", engine.ErrUnavailable))
	}
	if err := d.take(ctx, x.engine, x.tx); err != nil {
		return nil, failTx(operation, key, err)
	}
	return d, nil
}

// alive returns an error if the server has rolled back the caller's transaction because it
// found a locked row. ready has asked for the setting before, but since then the engine may
// have reconnected to another server.
func (x transaction) alive(ctx context.Context) error {
	rows, err := x.tx.QueryContext(ctx, "SELECT @@innodb_rollback_on_timeout")
	if err != nil {
		return fmt.Errorf("mysql: in the caller's transaction: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err has its error
	var rollback bool
	for rows.Next() {
		if err := rows.Scan(&rollback); err != nil {
			return fmt.Errorf("mysql: in the caller's transaction: %w", err)
		}
	}
	if rollback {
		x.engine.rollbackOnTimeout.Store(true)
		return errRollsAll
	}
	return rows.Err()
}

// ready returns an error if a transaction cannot store records.
func (x transaction) ready(ctx context.Context) error {
	if err := x.engine.ready(ctx); err != nil {
		return err
	}
	if x.engine.rollbackOnTimeout.Load() {
		return errRollsAll
	}
	return nil
}

var errRollsAll = errors.New("mysql: the server rolls back a transaction that finds a locked row, and what follows would be committed without it: " +
	"set innodb_rollback_on_timeout to OFF to use transactions")

// claim executes a claim on a row that is locked.
func (x transaction) claim(ctx context.Context, d *document, c *keystate.Command, key string) (engine.Record, error) {
	answer, err := x.execute(ctx, d, c, key)
	if err != nil {
		return engine.Record{}, err
	}
	return x.answer(answer)
}

// execute executes a command on a row that is locked, and writes the row.
func (x transaction) execute(ctx context.Context, d *document, c *keystate.Command, key string) (answer any, _ error) {
	s, err := d.state(keystate.Records, key)
	if err != nil {
		return nil, err
	}
	answers, effects := keystate.Execute(s, []keystate.Command{*c}, d.moment())
	if !effects.Changed {
		return answers[0], nil
	}
	change, err := x.engine.change(d, keystate.Records, key, s, &effects)
	if err != nil {
		return nil, err
	}
	for i, statement := range change.statements {
		if _, err := x.tx.ExecContext(ctx, statement, change.args[i]...); err != nil {
			return nil, failTx(c.Do, key, err)
		}
	}
	return answers[0], nil
}

// Settle implements [engine.Tx].
func (x transaction) Settle(ctx context.Context, y engine.Settlement) (engine.Outcome, error) {
	e := x.engine
	if err := e.check(ctx, y.Key, keystate.CheckSettlement(&y)); err != nil {
		return 0, err
	}
	if err := x.ready(ctx); err != nil {
		return 0, err
	}
	c := keystate.SettleCommand(&y)
	c.Locked = true
	d, err := x.lock(ctx, c.Do, y.Key)
	if err != nil {
		return 0, err
	}
	if d == nil { // it is not the claim of this transaction
		return 0, x.locked(c.Do, y.Key)
	}
	answer, err := x.execute(ctx, d, &c, y.Key)
	if refused, ok := answer.(error); ok {
		return 0, keystate.Named(name, refused)
	}
	return keystate.Answer[engine.Outcome](name, answer, err)
}

// failTx names the call that failed, and keeps the error for the caller to examine.
func failTx(operation, key string, err error) error {
	return fmt.Errorf("%s: in the caller's transaction: %w", about(operation, key), err)
}
