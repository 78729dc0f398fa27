package outbox_test

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/engine/postgres/outbox"
	"github.com/interlock-go/interlock/guard"
)

// An order and its message are committed together. The consumer books each order once,
// although a message may arrive twice.
func Example() {
	ctx, url := context.Background(), "postgres://app:secret@localhost:5432/shop"
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		panic(err)
	}
	db, err := postgres.Open(ctx, url)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	client := interlock.New(db)
	box := outbox.New(pool)
	if err := box.Migrate(ctx); err != nil {
		panic(err)
	}

	// The producer.
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders VALUES ('42', 'placed')"); err != nil {
			return err
		}
		return box.Add(ctx, tx, outbox.Message{Topic: "order.placed", Key: "42", Body: []byte(`{"id": 42}`)})
	})
	if err != nil {
		panic(err)
	}

	// The consumer. In practice it reads from a queue that send writes to.
	booked := guard.Must(guard.New[struct{}](client, guard.Policy{Name: "book", Scope: guard.Global}))
	consume := func(ctx context.Context, m outbox.Message) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := booked.DoTx(ctx, db.Tx(tx), guard.ID(m.ID), func(ctx context.Context) (struct{}, error) {
				_, err := tx.Exec(ctx, "INSERT INTO bookings VALUES ($1, $2)", m.Key, m.Body)
				return struct{}{}, err
			})
			return err
		})
	}

	// Every process delivers; one at a time does the work.
	if err := box.Deliver(ctx, client, consume); err != nil {
		panic(err)
	}
}
