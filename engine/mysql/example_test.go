package mysql_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/mysql"
	"github.com/interlock-go/interlock/guard"
)

// A payment with the same number is booked once. The booking, the claim and the result are
// committed together.
func ExampleEngine_Tx() {
	ctx := context.Background()
	db, err := sql.Open("mysql", "app:secret@tcp(localhost:3306)/shop")
	if err != nil {
		panic(err)
	}
	// `interlock engine migrate` has created its tables, in the same database.
	e, err := mysql.Open(ctx, "mysql://app:secret@localhost:3306/shop")
	if err != nil {
		panic(err)
	}
	defer e.Close()
	payments := guard.Must(guard.New[int64](interlock.New(e), guard.Policy{Name: "payment", Scope: guard.Global}))

	pay := func(number string, cents int64) (booking int64, err error) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return 0, err
		}
		defer tx.Rollback() // after Commit it does nothing
		booking, err = payments.DoTx(ctx, e.Tx(tx), guard.ID(number), func(ctx context.Context) (int64, error) {
			result, err := tx.ExecContext(ctx, "INSERT INTO bookings (number, cents) VALUES (?, ?)", number, cents)
			if err != nil {
				return 0, err
			}
			return result.LastInsertId()
		})
		if err != nil {
			return 0, err
		}
		return booking, tx.Commit()
	}
	fmt.Println(pay("2026-0042", 9900))
	fmt.Println(pay("2026-0042", 9900)) // the same booking
}
