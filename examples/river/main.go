// Program river books and charges orders that are jobs of River, each order once. The
// jobs, the bookings and the records are in one PostgreSQL:
//
//	docker run -d -p 5432:5432 -e POSTGRES_PASSWORD=secret postgres
//	INTERLOCK_URL=postgres://postgres:secret@localhost:5432/postgres go run ./examples/river
//
// There are two ways. A charge has its effect at a bank: the middleware runs it once, and if the
// process dies meanwhile, its outcome is unknown. A booking is a row of the same
// database: guard.DoTx puts the claim, the row and the completion of the job into one
// transaction, so that its outcome is never unknown.
//
// Both jobs of order-1 are inserted twice.
//
// Output:
//
//	charging order-1
//	charging order-2
//	bookings: order-1, order-2
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/interlock-go/interlock"
	interlockriver "github.com/interlock-go/interlock/adapter/river"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/guard"
)

func main() {
	if err := run(context.Background(), os.Getenv("INTERLOCK_URL"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// A booking is a row of the database.
type booking struct {
	OrderID string `json:"order_id"`
}

func (booking) Kind() string { return "booking" }

// A booker is the worker of bookings.
type booker struct {
	river.WorkerDefaults[booking]
	pool     *pgxpool.Pool
	db       *postgres.Engine
	bookings *guard.Guard[struct{}]
}

// Work commits the claim, the row and the job together.
func (b *booker) Work(ctx context.Context, job *river.Job[booking]) error {
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		_, err := b.bookings.DoTx(ctx, b.db.Tx(tx), guard.ID(job.Args.OrderID), func(ctx context.Context) (none struct{}, err error) {
			_, err = tx.Exec(ctx, "INSERT INTO bookings (order_id) VALUES ($1)", job.Args.OrderID)
			return none, err
		})
		if err != nil {
			return err // rolled back: River retries
		}
		_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

// A charge has its effect at a bank.
type charge struct {
	OrderID string `json:"order_id"`
}

func (charge) Kind() string { return "charge" }

// A charger is the worker of charges. Its middleware runs each of them once.
type charger struct {
	river.WorkerDefaults[charge]
	once rivertype.WorkerMiddleware
	out  io.Writer
}

// Middleware returns the middleware of this worker only.
func (c *charger) Middleware(*rivertype.JobRow) []rivertype.WorkerMiddleware {
	return []rivertype.WorkerMiddleware{c.once}
}

// Work charges an order.
func (c *charger) Work(_ context.Context, job *river.Job[charge]) error {
	_, err := fmt.Fprintf(c.out, "charging %s\n", job.Args.OrderID)
	return err
}

func run(ctx context.Context, url string, out io.Writer) error {
	if url == "" {
		return errors.New("INTERLOCK_URL is empty: start docker run -d -p 5432:5432 -e POSTGRES_PASSWORD=secret postgres, and set INTERLOCK_URL=postgres://postgres:secret@localhost:5432/postgres")
	}
	pool, err := prepare(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	db, err := postgres.Open(ctx, url, postgres.AutoMigrate())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	client := interlock.New(db)
	charges, err := guard.New[struct{}](client, guard.Policy{Name: "charge", Scope: guard.Global})
	if err != nil {
		return err
	}
	bookings, err := guard.New[struct{}](client, guard.Policy{Name: "book", Scope: guard.Global})
	if err != nil {
		return err
	}
	once, err := interlockriver.Middleware(charges, interlockriver.ID(func(job *rivertype.JobRow) string {
		return string(job.EncodedArgs) // two jobs for one order are repeats
	}))
	if err != nil {
		return err
	}

	workers := river.NewWorkers()
	river.AddWorker(workers, &charger{once: once, out: out})
	river.AddWorker(workers, &booker{pool: pool, db: db, bookings: bookings})
	rc, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1}},
		Workers: workers,
		Logger:  slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	for _, id := range []string{"order-1", "order-1", "order-2"} {
		if _, err := rc.InsertMany(ctx, []river.InsertManyParams{{Args: charge{id}}, {Args: booking{id}}}); err != nil {
			return err
		}
	}
	if err := rc.Start(ctx); err != nil {
		return err
	}
	for left := 1; left > 0; { // a service runs until SIGTERM
		time.Sleep(50 * time.Millisecond)
		if err := pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state <> 'completed'").Scan(&left); err != nil {
			return err
		}
	}
	if err := rc.Stop(ctx); err != nil {
		return err
	}
	if err := errors.Join(charges.Close(ctx), bookings.Close(ctx)); err != nil {
		return err
	}
	var booked string
	if err := pool.QueryRow(ctx, "SELECT string_agg(order_id, ', ' ORDER BY order_id) FROM bookings").Scan(&booked); err != nil {
		return err
	}
	fmt.Fprintln(out, "bookings:", booked)
	return nil
}

// prepare makes the tables.
func prepare(ctx context.Context, url string) (*pgxpool.Pool, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS bookings (order_id text)"); err != nil {
		return nil, err
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return pool, err
}
