package interlockkafka_test

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/interlock-go/interlock"
	interlockkafka "github.com/interlock-go/interlock/adapter/kafka"
	"github.com/interlock-go/interlock/guard"
)

func ExampleConsumer() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	client := interlock.New(nil) // in production: an engine on Redis
	charges := guard.Must(guard.New[struct{}](client, guard.Policy{Name: "billing", Scope: guard.Global}))

	consumer, err := interlockkafka.New(charges, func(ctx context.Context, r *kgo.Record) error {
		fmt.Printf("charging %s\n", r.Value)
		return nil
	}, interlockkafka.ID(interlockkafka.Header("order-id")))
	if err != nil {
		panic(err)
	}
	cl, err := kgo.NewClient(append(consumer.Options(),
		kgo.SeedBrokers("localhost:9092"), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"))...)
	if err != nil {
		panic(err)
	}
	defer cl.CloseAllowingRebalance()
	if err := consumer.Run(ctx, cl); err != nil { // until SIGTERM
		panic(err)
	}
}
