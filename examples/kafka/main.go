// Program kafka charges orders that it reads from Kafka with franz-go, each order once.
//
//	go run ./examples/kafka
//
// It starts a fake Kafka cluster in this process. With the addresses of brokers it uses those,
// and the topic "orders", which must exist:
//
//	KAFKA=localhost:9092 go run ./examples/kafka
//
// The producer sends order-1 twice, as programs do that repeat it after a restart. The two
// records have different offsets; the header shows that they are one order.
//
// Output:
//
//	charging order-1: one book
//	charging order-2: two books
//	3 records: 2 charged, 1 repeat
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/interlock-go/interlock"
	interlockkafka "github.com/interlock-go/interlock/adapter/kafka"
	"github.com/interlock-go/interlock/guard"
)

func main() {
	if err := run(context.Background(), os.Getenv("KAFKA"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

const idHeader = "order-id"

func run(ctx context.Context, addrs string, out io.Writer) error {
	brokers := strings.Split(addrs, ",")
	if addrs == "" {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
		if err != nil {
			return err
		}
		defer cluster.Close()
		brokers = cluster.ListenAddrs()
	}
	client := interlock.New(nil) // for several processes: an engine on Redis
	charges, err := guard.New[struct{}](client, guard.Policy{Name: "charge", Scope: guard.Global})
	if err != nil {
		return err
	}
	consumer, err := interlockkafka.New(charges, func(_ context.Context, r *kgo.Record) error {
		fmt.Fprintf(out, "charging %s: %s\n", interlockkafka.Header(idHeader)(r), r.Value)
		return nil
	}, interlockkafka.ID(interlockkafka.Header(idHeader)))
	if err != nil {
		return err
	}
	cl, err := kgo.NewClient(append(consumer.Options(), kgo.SeedBrokers(brokers...), kgo.ConsumerGroup("shop"), kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()

	if err := produce(ctx, brokers, "order-1: one book", "order-1: one book", "order-2: two books"); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // a service runs until SIGTERM; this one ends after three records
		for answered(charges) < 3 {
			time.Sleep(10 * time.Millisecond)
		}
		stop()
	}()
	if err := consumer.Run(ctx, cl); err != nil {
		return err
	}
	n := charges.Stats().Verdicts
	fmt.Fprintf(out, "%d records: %d charged, %d repeat\n", answered(charges), n[guard.Granted], n[guard.Replayed])
	return charges.Close(context.WithoutCancel(ctx))
}

// answered returns how many records the guard has answered.
func answered(g *guard.Guard[struct{}]) uint64 {
	n := g.Stats().Verdicts
	return n[guard.Granted] + n[guard.Replayed]
}

// produce sends orders such as "order-1: one book".
func produce(ctx context.Context, brokers []string, orders ...string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer cl.Close()
	for _, order := range orders {
		id, what, _ := strings.Cut(order, ": ")
		r := &kgo.Record{Topic: "orders", Value: []byte(what), Headers: []kgo.RecordHeader{{Key: idHeader, Value: []byte(id)}}}
		if err := cl.ProduceSync(ctx, r).FirstErr(); err != nil {
			return err
		}
	}
	return nil
}
