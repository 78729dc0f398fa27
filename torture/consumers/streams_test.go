package consumers_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"

	interlockwatermill "github.com/interlock-go/interlock/adapter/watermill"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

const (
	streamName  = "test:orders"
	streamGroup = "workers"
	handlerName = "place"
)

// A stream is a Redis stream with a consumer group.
type stream struct {
	db        *redis.Client
	publisher *redisstream.Publisher
}

func newStream(t *testing.T, server *redistest.Server) queue {
	t.Helper()
	db := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = db.Close() })
	if err := db.XGroupCreateMkStream(t.Context(), streamName, streamGroup, "0").Err(); err != nil {
		t.Fatal(err)
	}
	p, err := redisstream.NewPublisher(redisstream.PublisherConfig{Client: db}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &stream{db, p}
}

func (s *stream) job() job     { return job{Do: "redis-streams"} }
func (s *stream) name() string { return handlerName + "/" }

func (s *stream) publish(t *testing.T, id string) {
	t.Helper()
	if err := s.publisher.Publish(streamName, message.NewMessage(id, []byte(id))); err != nil {
		t.Fatal(err)
	}
}

func (s *stream) unsettled(t *testing.T) int {
	t.Helper()
	pending, err := s.db.XPending(t.Context(), streamName, streamGroup).Result()
	if err != nil {
		t.Fatal(err)
	}
	groups, err := s.db.XInfoGroups(t.Context(), streamName).Result()
	if err != nil {
		t.Fatal(err)
	}
	return int(pending.Count + groups[0].Lag)
}

// consumeRedisStreams is the job of a consumer: it never ends by itself. Messages of a killed
// consumer go to another one after a second.
func consumeRedisStreams(j job) error {
	a := newAccount(j)
	g, err := newGuard[interlockwatermill.Produced](a, handlerName+"/")
	if err != nil {
		return err
	}
	once, err := interlockwatermill.Middleware(g)
	if err != nil {
		return err
	}
	sub, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{Client: a.db, ConsumerGroup: streamGroup,
		NackResendSleep: 50 * time.Millisecond, ClaimInterval: 200 * time.Millisecond, MaxIdleTime: time.Second}, nil)
	if err != nil {
		return err
	}
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	router.AddMiddleware(once)
	router.AddConsumerHandler(handlerName, streamName, sub, func(m *message.Message) error { return a.handle(m.Context(), m.UUID) })
	return router.Run(context.Background())
}
