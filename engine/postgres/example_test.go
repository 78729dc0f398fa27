package postgres_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/guard"
)

// Registrations with the same phone number make one account. The account, the claim and the
// result are committed together.
func ExampleEngine_Tx() {
	ctx, url := context.Background(), "postgres://app:secret@localhost:5432/shop"
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		panic(err)
	}
	db, err := postgres.Open(ctx, url) // `interlock engine migrate` has created its schema
	if err != nil {
		panic(err)
	}
	defer db.Close()
	signUp := guard.Must(guard.New[int64](interlock.New(db), guard.Policy{Name: "sign-up", Scope: guard.Global}))

	register := func(phone string) (account int64, err error) {
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			account, err = signUp.DoTx(ctx, db.Tx(tx), guard.ID(phone), func(ctx context.Context) (id int64, err error) {
				err = tx.QueryRow(ctx, "INSERT INTO accounts (phone) VALUES ($1) RETURNING id", phone).Scan(&id)
				return id, err
			})
			return err // nil commits, an error rolls back
		})
		return account, err
	}
	fmt.Println(register("+86 138 0000 0000"))
	fmt.Println(register("+86 138 0000 0000")) // the same account
}

// A balance is changed under a lock. The row keeps the highest fence that it has seen, and
// refuses a process that was paused until after its lease.
func ExampleEngine() {
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

	deduct := func(account string, amount int64) error {
		ctx, hold, err := client.Mutex(interlock.Key("account", account), interlock.Fenced()).Lock(ctx)
		if err != nil {
			return err
		}
		defer hold.Unlock()
		tag, err := pool.Exec(ctx, `UPDATE accounts SET balance = balance - $2, fence = $3
			WHERE id = $1 AND balance >= $2 AND fence <= $3`, account, amount, hold.Fence())
		if err == nil && tag.RowsAffected() == 0 {
			err = errors.New("the balance is too low, or a later holder has changed it")
		}
		return err
	}
	fmt.Println(deduct("ann", 100))
}
