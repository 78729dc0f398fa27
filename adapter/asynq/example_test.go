package interlockasynq_test

import (
	"context"
	"fmt"

	"github.com/hibiken/asynq"

	"github.com/interlock-go/interlock"
	interlockasynq "github.com/interlock-go/interlock/adapter/asynq"
	"github.com/interlock-go/interlock/guard"
)

func ExampleMiddleware() {
	client := interlock.New(nil) // in production: an engine on Redis
	charges := guard.Must(guard.New[struct{}](client, guard.Policy{Name: "charge", Scope: guard.Global}))
	once, err := interlockasynq.Middleware(charges)
	if err != nil {
		panic(err)
	}

	mux := asynq.NewServeMux()
	mux.Use(once)
	mux.HandleFunc("order:charge", func(ctx context.Context, task *asynq.Task) error {
		fmt.Printf("charging %s\n", task.Payload())
		return nil
	})
	srv := asynq.NewServer(asynq.RedisClientOpt{Addr: "localhost:6379"}, interlockasynq.Config(asynq.Config{Concurrency: 10}))
	if err := srv.Run(mux); err != nil { // until SIGTERM
		panic(err)
	}
	if err := charges.Close(context.Background()); err != nil {
		panic(err)
	}
}
