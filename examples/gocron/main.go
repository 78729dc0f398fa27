// Program gocron runs a job of gocron twice a second, in the process that leads. When that
// process shuts down, the other takes over:
//
//	redis-server --port 6379
//	INTERLOCK_URL=redis://localhost:6379 go run ./examples/gocron
//
// The processes are schedulers in this program, each with a client of its own.
//
// Output:
//
//	process a runs the job
//	process a runs the job
//	process a shuts down
//	process b runs the job
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/interlock-go/interlock"
	interlockgocron "github.com/interlock-go/interlock/adapter/gocron"
	"github.com/interlock-go/interlock/engine/redisengine"
)

func main() {
	if err := run(context.Background(), os.Getenv("INTERLOCK_URL"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// start starts a scheduler whose job sends the name of its process to runs. shutDown stops the
// jobs, and then resigns.
func start(ctx context.Context, url, name string, runs chan<- string) (shutDown func() error, err error) {
	e, err := redisengine.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	elector := interlockgocron.NewElector(interlock.New(e).Leader("example:jobs"))
	s, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
	if err != nil {
		return nil, err
	}
	_, err = s.NewJob(gocron.DurationJob(500*time.Millisecond), elector.Task(func(ctx context.Context) error {
		select {
		case runs <- name:
			return nil
		case <-ctx.Done(): // the leadership was lost, or the process shuts down
			return ctx.Err()
		}
	}))
	if err != nil {
		return nil, err
	}
	ctx, resign := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- elector.Run(ctx) }()
	s.Start()
	return func() error {
		err := s.Shutdown()
		resign()
		<-ended
		return errors.Join(err, e.Close())
	}, nil
}

func run(ctx context.Context, url string, out io.Writer) error {
	if url == "" {
		return errors.New("INTERLOCK_URL is empty: start redis-server --port 6379, and set INTERLOCK_URL=redis://localhost:6379")
	}
	runs := make(chan string)
	stopA, err := start(ctx, url, "a", runs)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "process %s runs the job\n", <-runs)
	stopB, err := start(ctx, url, "b", runs)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "process %s runs the job\n", <-runs)
	if err := stopA(); err != nil {
		return err
	}
	fmt.Fprintln(out, "process a shuts down")
	fmt.Fprintf(out, "process %s runs the job\n", <-runs)
	return stopB()
}
