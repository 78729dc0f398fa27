package interlocknats_test

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-go/interlock"
	interlocknats "github.com/interlock-go/interlock/adapter/nats"
	"github.com/interlock-go/interlock/guard"
)

func ExampleHandler() {
	ctx := context.Background()
	nc, err := nats.Connect(nats.DefaultURL)
	if err != nil {
		panic(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		panic(err)
	}
	consumer, err := js.Consumer(ctx, "ORDERS", "billing")
	if err != nil {
		panic(err)
	}
	client := interlock.New(nil) // in production: an engine on Redis
	charges := guard.Must(guard.New[struct{}](client, guard.Policy{Name: "billing", Scope: guard.Global}))

	handler, err := interlocknats.Handler(consumer, charges, func(ctx context.Context, m jetstream.Msg) error {
		fmt.Printf("charging %s\n", m.Data())
		return nil
	})
	if err != nil {
		panic(err)
	}
	consuming, err := consumer.Consume(handler)
	if err != nil {
		panic(err)
	}
	<-ctx.Done() // until the service shuts down
	consuming.Stop()
	if err := charges.Close(context.WithoutCancel(ctx)); err != nil {
		panic(err)
	}
}
