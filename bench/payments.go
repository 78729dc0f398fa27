package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/guard"
)

// The rows of the table about payments.
const (
	unguardedRow = "no guard"
	uniqueKeyRow = "by hand: a row with a unique key"
	doTxRow      = "Interlock guard.DoTx"
	guardedTxRow = "Interlock guard.Do around the transaction"
	accounts     = 1024 // rows, so that callers do not wait for each other
)

// paymentTables are the tables of the business, and that of the hand-written guard.
const paymentTables = `
CREATE TABLE accounts (id int PRIMARY KEY, cents bigint NOT NULL);
INSERT INTO accounts SELECT n, 1000000000 FROM generate_series(0, 1023) n;
CREATE TABLE payments (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account int NOT NULL, cents bigint NOT NULL);
CREATE TABLE payment_keys (key text PRIMARY KEY, result bytea);`

// charge is the work of a payment: two statements in the caller's transaction.
func charge(ctx context.Context, tx pgx.Tx, account int) (receipt, error) {
	tag, err := tx.Exec(ctx, "UPDATE accounts SET cents = cents - $2 WHERE id = $1 AND cents >= $2", account, 1)
	if err == nil && tag.RowsAffected() != 1 {
		err = errors.New("the account is empty")
	}
	if err != nil {
		return receipt{}, err
	}
	_, err = tx.Exec(ctx, "INSERT INTO payments (account, cents) VALUES ($1, $2)", account, 1)
	return paid, err
}

// payments returns the rows of the table: the same transaction, guarded in several ways. Each
// call has a new key.
func (p *postgresServer) payments() []contender {
	guarded := func(name string, pay func(*pgxpool.Pool, *postgres.Engine, *guard.Guard[receipt]) func(context.Context, string, int) error) contender {
		return p.contender(name, callerConns, func(pool *pgxpool.Pool) locks {
			e := postgres.New(pool)
			g, err := newGuard(e)
			if err != nil {
				return locks{cycle: func(context.Context, string) error { return err }}
			}
			return locks{cycle: eachAccount(pay(pool, e, g)), close: func() {
				_ = g.Close(context.Background())
				_ = e.Close()
			}}
		})
	}
	return []contender{
		p.contender(unguardedRow, callerConns, func(pool *pgxpool.Pool) locks {
			return locks{cycle: eachAccount(func(ctx context.Context, _ string, account int) error {
				return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
					_, err := charge(ctx, tx, account)
					return err
				})
			})}
		}),
		p.contender(uniqueKeyRow, callerConns, func(pool *pgxpool.Pool) locks {
			return locks{cycle: eachAccount(func(ctx context.Context, id string, account int) error {
				return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return chargeByHand(ctx, tx, id, account) })
			})}
		}),
		guarded(doTxRow, func(pool *pgxpool.Pool, e *postgres.Engine, g *guard.Guard[receipt]) func(context.Context, string, int) error {
			return func(ctx context.Context, id string, account int) error {
				return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
					_, err := g.DoTx(ctx, e.Tx(tx), guard.Of("payment", id), func(ctx context.Context) (receipt, error) {
						return charge(ctx, tx, account)
					})
					return err
				})
			}
		}),
		guarded(guardedTxRow, func(pool *pgxpool.Pool, _ *postgres.Engine, g *guard.Guard[receipt]) func(context.Context, string, int) error {
			return func(ctx context.Context, id string, account int) error {
				_, err := g.Do(ctx, guard.Of("payment", id), func(ctx context.Context) (r receipt, err error) {
					err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
						r, err = charge(ctx, tx, account)
						return err
					})
					return r, err
				})
				return err
			}
		}),
	}
}

// eachAccount returns a cycle that calls pay with a new key and the next account.
func eachAccount(pay func(ctx context.Context, id string, account int) error) func(context.Context, string) error {
	var seq atomic.Int64
	next := uniqueNames()
	return func(ctx context.Context, _ string) error {
		return pay(ctx, next(1), int(seq.Add(1)%accounts))
	}
}

// chargeByHand is the usual hand-written code. A row with a unique key claims the payment and
// stores its result; a duplicate reads it. Nothing ever deletes the row.
func chargeByHand(ctx context.Context, tx pgx.Tx, id string, account int) error {
	tag, err := tx.Exec(ctx, "INSERT INTO payment_keys (key) VALUES ($1) ON CONFLICT DO NOTHING", id)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		var text []byte
		return tx.QueryRow(ctx, "SELECT result FROM payment_keys WHERE key = $1", id).Scan(&text)
	}
	r, err := charge(ctx, tx, account)
	if err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE payment_keys SET result = $2 WHERE key = $1", id, text)
	return err
}

// measureGuardedTx measures what a guard adds to a transaction of PostgreSQL.
func (p plan) measureGuardedTx(ctx context.Context, out io.Writer, s *server, b *backend, g int) error {
	rows := selected(b.postgres.payments(), p.only)
	f, err := openAll(ctx, s, rows)
	if err != nil {
		return err
	}
	f.base = unguardedRow
	err = p.rotate(ctx, f, g)
	f.closeAll()
	if err != nil {
		return err
	}
	t := &table{
		title: fmt.Sprintf("Payments, a transaction of two statements on PostgreSQL, a new key per call: %d goroutines", g),
		columns: []string{"", "calls/s", "× no guard", "middle half", "p50 µs", "p99 µs",
			"requests/call", "transactions/call", "syncs/call"},
	}
	for i, r := range f.rows {
		cost, err := b.countCycles(ctx, rows[i], g, p.counted)
		if err != nil {
			return err
		}
		t.add(append([]string{
			r.name, thousands(median(r.rate)), ratio(r.ratio), half(r.ratio, "%.2f"),
			micros(r.latency.at(0.5)), micros(r.latency.at(0.99)),
		}, cost.cells()...)...)
	}
	t.remark = fmt.Sprintf("%d rounds; each contender runs for %v per round.%s", p.rounds, p.slice, f.failureText())
	t.print(out)
	return nil
}
