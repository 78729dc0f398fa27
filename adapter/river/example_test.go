package interlockriver_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/interlock-go/interlock"
	interlockriver "github.com/interlock-go/interlock/adapter/river"
	"github.com/interlock-go/interlock/guard"
)

type pgxTx = pgx.Tx

type charge struct {
	OrderID string `json:"order_id"`
}

func (charge) Kind() string { return "charge" }

func ExampleMiddleware() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://app:secret@localhost:5432/shop")
	if err != nil {
		panic(err)
	}
	client := interlock.New(nil) // in production: an engine on PostgreSQL or Redis
	charges := guard.Must(guard.New[struct{}](client, guard.Policy{Name: "charge", Scope: guard.Global}))
	once, err := interlockriver.Middleware(charges)
	if err != nil {
		panic(err)
	}

	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[charge]) error {
		fmt.Printf("charging %s\n", job.Args.OrderID)
		return nil
	}))
	rc, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:     map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 10}},
		Workers:    workers,
		Middleware: []rivertype.Middleware{once},
	})
	if err != nil {
		panic(err)
	}
	if err := rc.Start(ctx); err != nil {
		panic(err)
	}
	<-ctx.Done() // until the service shuts down
	if err := rc.Stop(context.WithoutCancel(ctx)); err != nil {
		panic(err)
	}
	if err := charges.Close(context.WithoutCancel(ctx)); err != nil {
		panic(err)
	}
}
