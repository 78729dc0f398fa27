package interlockwatermill_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/interlock-go/interlock"
	interlockwatermill "github.com/interlock-go/interlock/adapter/watermill"
	"github.com/interlock-go/interlock/guard"
)

func ExampleMiddleware() {
	client := interlock.New(nil) // in production: an engine on Redis
	charges := guard.Must(guard.New[interlockwatermill.Produced](client, guard.Policy{Name: "charge", Scope: guard.Global}))
	once, err := interlockwatermill.Middleware(charges)
	if err != nil {
		panic(err)
	}

	pubsub := gochannel.NewGoChannel(gochannel.Config{Persistent: true, BlockPublishUntilSubscriberAck: true}, watermill.NopLogger{})
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		panic(err)
	}
	router.AddMiddleware(once)
	router.AddConsumerHandler("charge", "orders", pubsub, func(m *message.Message) error {
		fmt.Printf("charging %s\n", m.UUID)
		return nil
	})
	go router.Run(context.Background()) // until Close
	<-router.Running()

	for _, id := range []string{"order-1", "order-1", "order-2"} { // the first one is sent twice
		if err := pubsub.Publish("orders", message.NewMessage(id, nil)); err != nil {
			panic(err)
		}
	}
	if err := router.Close(); err != nil {
		panic(err)
	}
	// Output:
	// charging order-1
	// charging order-2
}
