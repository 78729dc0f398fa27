package interlockwatermill_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/adapter/consume/consumetest"
)

// 1,000 messages with one UUID reach three processes at the same time, and one of them runs the
// handler.
func TestStorm(t *testing.T) {
	consumetest.Storm(t, func(ctx context.Context, url string) (engine.Engine, error) { return redisengine.Open(ctx, url) },
		func(t testing.TB, redis string) consumetest.StormBroker { return stormBroker{open(t, redis)} }, joinStorm)
}

// A stormBroker is a stream that several processes consume.
type stormBroker struct{ *broker }

func (b stormBroker) Address() string { return b.addr + " " + b.topic }

func joinStorm(t testing.TB, address string) consumetest.StormBroker {
	t.Helper()
	addr, topic, _ := strings.Cut(address, " ")
	db := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = db.Close() })
	return stormBroker{&broker{addr, db, topic}}
}

func (b stormBroker) Publish(t testing.TB, m consumetest.Message, n int) {
	t.Helper()
	var messages []*message.Message
	for range n {
		messages = append(messages, message.NewMessage(m.ID, []byte(m.Payload)))
	}
	p, err := redisstream.NewPublisher(redisstream.PublisherConfig{Client: b.redis}, nil)
	if err == nil {
		err = p.Publish(b.topic, messages...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Settled returns how many messages are acknowledged.
func (b stormBroker) Settled(t testing.TB) int {
	t.Helper()
	n, err := b.redis.XLen(t.Context(), b.topic).Result()
	if err != nil {
		t.Fatal(err)
	}
	return int(n) - b.Unsettled(t)
}
