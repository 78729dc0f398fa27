// Program asynq charges orders that are tasks of asynq, each order once. The queue and the
// records are in one Redis:
//
//	redis-server --port 6379
//	INTERLOCK_URL=redis://localhost:6379 go run ./examples/asynq
//
// Order-1 is enqueued twice. The second task succeeds without running.
//
// Output:
//
//	charging order-1
//	charging order-2
//	3 tasks: 2 charged, 1 repeat
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/hibiken/asynq"

	"github.com/interlock-go/interlock"
	interlockasynq "github.com/interlock-go/interlock/adapter/asynq"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
)

func main() {
	if err := run(context.Background(), os.Getenv("INTERLOCK_URL"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string, out io.Writer) error {
	if url == "" {
		return errors.New("INTERLOCK_URL is empty: start redis-server --port 6379, and set INTERLOCK_URL=redis://localhost:6379")
	}
	e, err := redisengine.Open(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	charges, err := guard.New[struct{}](interlock.New(e), guard.Policy{Name: "charge", Scope: guard.Global})
	if err != nil {
		return err
	}
	once, err := interlockasynq.Middleware(charges, interlockasynq.ID(func(_ context.Context, task *asynq.Task) string { return string(task.Payload()) }))
	if err != nil {
		return err
	}
	mux := asynq.NewServeMux()
	mux.Use(once)
	mux.HandleFunc("order:charge", func(_ context.Context, task *asynq.Task) error {
		fmt.Fprintf(out, "charging %s\n", task.Payload())
		return nil
	})
	redis, err := asynq.ParseRedisURI(url)
	if err != nil {
		return err
	}
	srv := asynq.NewServer(redis, interlockasynq.Config(asynq.Config{Concurrency: 1, LogLevel: asynq.ErrorLevel}))
	if err := srv.Start(mux); err != nil {
		return err
	}
	queue := asynq.NewClient(redis)
	defer func() { _ = queue.Close() }()
	for _, id := range []string{"order-1", "order-1", "order-2"} {
		if _, err := queue.Enqueue(asynq.NewTask("order:charge", []byte(id))); err != nil {
			return err
		}
	}
	for answered(charges) < 3 { // a service runs until SIGTERM: srv.Run
		time.Sleep(10 * time.Millisecond)
	}
	srv.Shutdown()
	if err := charges.Close(ctx); err != nil {
		return err
	}
	n := charges.Stats().Verdicts
	fmt.Fprintf(out, "%d tasks: %d charged, %d repeat\n", answered(charges), n[guard.Granted], n[guard.Replayed])
	return nil
}

// answered returns how many tasks the guard has answered.
func answered(g *guard.Guard[struct{}]) uint64 {
	n := g.Stats().Verdicts
	return n[guard.Granted] + n[guard.Replayed]
}
