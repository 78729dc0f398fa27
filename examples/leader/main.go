// Program leader elects one of two replicas of a service. The follower finds the leader's
// address, and takes over when the leader stops:
//
//	redis-server --port 6379
//	INTERLOCK_URL=redis://localhost:6379 go run ./examples/leader
//
// Both replicas run in this program, each with a client of its own, like two processes. A
// leader that is killed is replaced when its lease has expired, here after 5 seconds.
//
// Output:
//
//	replica a leads
//	replica b: the leader is at 10.0.0.1:8080
//	replica a stops: interlock: lead "example:billing": context canceled
//	replica b leads
//	replica b: the leader is at 10.0.0.2:8080
//	the fence has grown: true
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
)

func main() {
	if err := run(context.Background(), os.Getenv("INTERLOCK_URL"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// A replica is a process of the service.
type replica struct {
	client *interlock.Client
	leader *interlock.Leader
	led    chan uint64 // receives the fence when the replica leads
	ended  chan error
	stop   context.CancelFunc
}

// start starts a replica, which leads when no other does.
func start(ctx context.Context, url, address string) (*replica, error) {
	e, err := redisengine.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	client := interlock.New(e, interlock.Watchdog(5*time.Second))
	r := &replica{
		client: client,
		leader: client.Leader("example:billing", interlock.Announce(address)),
		led:    make(chan uint64, 1), ended: make(chan error, 1), stop: stop,
	}
	go func() {
		err := r.leader.Run(ctx, r.lead)
		_ = e.Close()
		r.ended <- err
	}()
	return r, nil
}

// lead is the work of the leader. It returns when the leadership ends.
func (r *replica) lead(ctx context.Context) error {
	fence, _ := interlock.Fence(ctx) // for the stores that the work changes
	r.led <- fence
	<-ctx.Done()
	return ctx.Err()
}

// await returns the next leader with a later term, as the replica sees it.
func (r *replica) await(ctx context.Context, term uint64) (interlock.Leadership, error) {
	for now, err := range r.leader.Observe(ctx) {
		if err != nil {
			return now, err
		}
		if now.Term > term {
			return now, nil
		}
	}
	return interlock.Leadership{}, context.Cause(ctx)
}

func run(ctx context.Context, url string, out io.Writer) error {
	if url == "" {
		return errors.New("INTERLOCK_URL is empty: start redis-server --port 6379, and set INTERLOCK_URL=redis://localhost:6379")
	}
	a, err := start(ctx, url, "10.0.0.1:8080")
	if err != nil {
		return err
	}
	defer a.stop()
	first := <-a.led
	fmt.Fprintln(out, "replica a leads")

	b, err := start(ctx, url, "10.0.0.2:8080")
	if err != nil {
		return err
	}
	defer b.stop()
	before, err := b.await(ctx, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "replica b: the leader is at %s\n", before.Value)

	a.stop()
	fmt.Fprintln(out, "replica a stops:", <-a.ended)
	second := <-b.led
	fmt.Fprintln(out, "replica b leads")
	after, err := b.await(ctx, before.Term)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "replica b: the leader is at %s\n", after.Value)
	fmt.Fprintln(out, "the fence has grown:", second > first)
	b.stop()
	<-b.ended
	return nil
}
