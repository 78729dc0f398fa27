// Program nats charges orders that it gets from NATS JetStream, each order once.
//
//	go run ./examples/nats
//
// It starts a NATS server in this process. With the URL of a server it uses that one, and
// makes a stream ORDERS:
//
//	NATS=nats://localhost:4222 go run ./examples/nats
//
// The bank does not answer for order-2, so the outcome of its charge is unknown. The
// message is terminated, the messages behind it go on, and the order is in the unknown
// list, where an operator settles it.
//
// Output:
//
//	charging order-1: one book
//	charging order-2: two books
//	charging order-3: three books
//	unknown: 1
//	4 messages: 3 charged, 1 repeat
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-go/interlock"
	interlocknats "github.com/interlock-go/interlock/adapter/nats"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

func main() {
	if err := run(context.Background(), os.Getenv("NATS"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

const idHeader = "Order-Id"

func run(ctx context.Context, url string, out io.Writer) error {
	if url == "" {
		dir, err := os.MkdirTemp("", "nats")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
		if err != nil {
			return err
		}
		go s.Start()
		defer s.WaitForShutdown()
		defer s.Shutdown()
		if !s.ReadyForConnections(time.Minute) {
			return errors.New("the NATS server did not start")
		}
		url = s.ClientURL()
	}
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	stream, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders"}})
	if err != nil {
		return err
	}
	consumer, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{Durable: "billing", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		return err
	}

	client := interlock.New(nil) // for several processes: an engine on Redis
	charges, err := guard.New[struct{}](client, guard.Policy{Name: "charge", Scope: guard.Global})
	if err != nil {
		return err
	}
	handler, err := interlocknats.Handler(consumer, charges, func(_ context.Context, m jetstream.Msg) error {
		fmt.Fprintf(out, "charging %s: %s\n", orderID(m), m.Data())
		if orderID(m) == "order-2" {
			return guard.OutcomeUnknown(errors.New("the bank did not answer"))
		}
		return nil
	}, interlocknats.ID(orderID), interlocknats.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	consuming, err := consumer.Consume(handler)
	if err != nil {
		return err
	}
	for _, order := range []string{"order-1: one book", "order-1: one book", "order-2: two books", "order-3: three books"} {
		m := nats.NewMsg("orders")
		id, what, _ := strings.Cut(order, ": ")
		m.Header.Set(idHeader, id)
		m.Data = []byte(what)
		if _, err := js.PublishMsg(ctx, m); err != nil {
			return err
		}
	}
	for charges.Stats().Verdicts[guard.UnknownBefore] == 0 || charges.Stats().Verdicts[guard.Granted] < 3 { // until all are settled
		time.Sleep(10 * time.Millisecond)
	}
	consuming.Stop()
	if err := charges.Close(ctx); err != nil { // waits for a running handler
		return err
	}

	unknown := 0
	for _, err := range charges.List(ctx, engine.Unknown) {
		if err != nil {
			return err
		}
		unknown++
	}
	n := charges.Stats().Verdicts
	fmt.Fprintf(out, "unknown: %d\n", unknown)
	fmt.Fprintf(out, "%d messages: %d charged, %d repeat\n", n[guard.Granted]+n[guard.Replayed], n[guard.Granted], n[guard.Replayed])
	return nil
}

// orderID returns the ID that the producer has set. Without a header of your own, set
// Nats-Msg-Id, which the adapter reads by default.
func orderID(m jetstream.Msg) string { return m.Headers().Get(idHeader) }
