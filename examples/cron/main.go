// Program cron runs a job of robfig/cron every second, in three processes. One of them runs it
// each time:
//
//	redis-server --port 6379
//	INTERLOCK_URL=redis://localhost:6379 go run ./examples/cron
//
// The processes are schedulers in this program, each with a client of its own.
//
// Output:
//
//	run 1
//	run 2
//	run 3
//	3 activations in 3 processes: 3 runs, 6 skips
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/robfig/cron/v3"

	"github.com/interlock-go/interlock"
	interlockcron "github.com/interlock-go/interlock/adapter/cron"
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
	const processes, activations = 3, 3
	runs, skips := make(chan struct{}, 100), make(skips, 100)
	for range processes {
		e, err := redisengine.Open(ctx, url)
		if err != nil {
			return err
		}
		defer func() { _ = e.Close() }()
		c := cron.New(cron.WithSeconds(), cron.WithChain(cron.Recover(cron.DefaultLogger)))
		jobs := interlockcron.New(c, interlock.New(e), skips)
		_, err = jobs.AddFunc("* * * * * *", guard.Policy{Name: "example-report"}, func(context.Context) error {
			runs <- struct{}{}
			return nil
		})
		if err != nil {
			return err
		}
		c.Start()
		defer func() { <-c.Stop().Done() }()
	}
	for i := range activations {
		<-runs
		fmt.Fprintln(out, "run", i+1)
	}
	for range activations * (processes - 1) {
		<-skips
	}
	fmt.Fprintf(out, "%d activations in %d processes: %d runs, %d skips\n", activations, processes, activations, activations*(processes-1))
	return nil
}

// skips is a cron.Logger that counts the jobs that are skipped.
type skips chan struct{}

func (s skips) Info(string, ...any) { s <- struct{}{} }

func (s skips) Error(err error, msg string, keysAndValues ...any) {
	cron.DefaultLogger.Error(err, msg, keysAndValues...)
}
