// Program watermill charges orders that it gets as messages of Watermill, each order once.
//
//	go run ./examples/watermill
//
// The broker is Watermill's GoChannel, in this process; with another subscriber the rest stays
// the same. The records are in this process, too. With the URL of a Redis, other processes
// share them:
//
//	INTERLOCK_URL=redis://localhost:6379 go run ./examples/watermill
//
// Output:
//
//	charging order-1: one book
//	receipt for order-1
//	receipt for order-1
//	charging order-2: two books
//	receipt for order-2
//	refused: order-2 came with another payload
//	4 messages: 2 charged, 1 repeat, 1 refused
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/interlock-go/interlock"
	interlockwatermill "github.com/interlock-go/interlock/adapter/watermill"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
)

func main() {
	if err := run(context.Background(), os.Getenv("INTERLOCK_URL"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string, out io.Writer) error {
	var e engine.Engine // in this process
	if url != "" {
		var err error
		if e, err = redisengine.Open(ctx, url); err != nil {
			return err
		}
	}
	charges, err := guard.New[interlockwatermill.Produced](interlock.New(e), guard.Policy{Name: "charge", Scope: guard.Global})
	if err != nil {
		return err
	}
	once, err := interlockwatermill.Middleware(charges, interlockwatermill.Parked(func(m *message.Message, _ error) error {
		fmt.Fprintf(out, "refused: %s came with another payload\n", m.UUID)
		return nil
	}))
	if err != nil {
		return err
	}

	pubsub := gochannel.NewGoChannel(gochannel.Config{BlockPublishUntilSubscriberAck: true}, watermill.NopLogger{})
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: time.Minute}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	router.AddMiddleware(once)
	router.AddHandler("charge", "orders", pubsub, "receipts", pubsub, func(m *message.Message) ([]*message.Message, error) {
		fmt.Fprintf(out, "charging %s: %s\n", m.UUID, m.Payload)
		return []*message.Message{message.NewMessage(watermill.NewUUID(), []byte("receipt for "+m.UUID))}, nil
	})
	receipts, err := pubsub.Subscribe(ctx, "receipts")
	if err != nil {
		return err
	}
	go func() { // ends when the router closes the pubsub
		for m := range receipts { // a repeat publishes the same receipt: its consumers need a guard, too
			fmt.Fprintln(out, string(m.Payload))
			m.Ack()
		}
	}()
	ended := make(chan error, 1)
	go func() { ended <- router.Run(ctx) }()
	<-router.Running()

	for _, m := range []struct{ id, payload string }{
		{"order-1", "one book"}, {"order-1", "one book"}, {"order-2", "two books"}, {"order-2", "a hundred books"},
	} {
		if err := pubsub.Publish("orders", message.NewMessage(m.id, []byte(m.payload))); err != nil { // until it is acked
			return err
		}
	}
	n := charges.Stats().Verdicts
	fmt.Fprintf(out, "%d messages: %d charged, %d repeat, %d refused\n", n[guard.Granted]+n[guard.Replayed]+n[guard.Mismatch], n[guard.Granted], n[guard.Replayed], n[guard.Mismatch])
	if err := router.Close(); err != nil { // waits for running handlers
		return err
	}
	if err := <-ended; err != nil {
		return err
	}
	return charges.Close(ctx)
}
