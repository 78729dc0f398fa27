package interlockwatermill_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	interlockwatermill "github.com/interlock-go/interlock/adapter/watermill"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
	"github.com/interlock-go/interlock/internal/adapter/consume/consumetest"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

var policy = guard.Policy{Name: "orders", Scope: guard.Global, Lease: consumetest.Lease}

var streams atomic.Int64

// A broker is a Redis stream with one consumer group.
type broker struct {
	addr  string
	redis *redis.Client
	topic string
}

func open(t testing.TB, addr string) *broker {
	t.Helper()
	b := &broker{addr: addr, redis: redis.NewClient(&redis.Options{Addr: addr}), topic: fmt.Sprintf("orders-%d", streams.Add(1))}
	t.Cleanup(func() { _ = b.redis.Close() })
	if err := b.redis.XGroupCreateMkStream(t.Context(), b.topic, "workers", "0").Err(); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *broker) Send(t testing.TB, m consumetest.Message) {
	t.Helper()
	p, err := redisstream.NewPublisher(redisstream.PublisherConfig{Client: b.redis}, nil)
	if err == nil {
		err = p.Publish(b.topic, message.NewMessage(m.ID, []byte(m.Payload)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (b *broker) Consume(t testing.TB, client *interlock.Client, p guard.Policy, handle func(context.Context, consumetest.Message) error) func() {
	t.Helper()
	db := redis.NewClient(&redis.Options{Addr: b.addr})
	sub, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{Client: db, ConsumerGroup: "workers",
		NackResendSleep: 50 * time.Millisecond, ClaimInterval: 500 * time.Millisecond, MaxIdleTime: time.Second, DisableIndefiniteInitialBlock: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := guard.Must(guard.New[interlockwatermill.Produced](client, p))
	once, err := interlockwatermill.Middleware(g)
	if err != nil {
		t.Fatal(err)
	}
	router := run(t, func(r *message.Router) {
		r.AddMiddleware(once)
		r.AddConsumerHandler("place", b.topic, sub, func(m *message.Message) error {
			return handle(m.Context(), consumetest.Message{ID: m.UUID, Payload: string(m.Payload)})
		})
	})
	return func() {
		if err := router.Close(); err != nil {
			t.Error(err)
		}
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
		_ = db.Close()
	}
}

func (b *broker) Unsettled(t testing.TB) int {
	t.Helper()
	pending, err := b.redis.XPending(t.Context(), b.topic, "workers").Result()
	if err != nil {
		t.Fatal(err)
	}
	groups, err := b.redis.XInfoGroups(t.Context(), b.topic).Result()
	if err != nil {
		t.Fatal(err)
	}
	return int(pending.Count + groups[0].Lag)
}

// run runs a router until the test ends or closes it.
func run(t testing.TB, add func(*message.Router)) *message.Router {
	t.Helper()
	r, err := message.NewRouter(message.RouterConfig{CloseTimeout: time.Minute}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	add(r)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(context.Background()) }()
	<-r.Running()
	t.Cleanup(func() {
		if err := errors.Join(r.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestConsumer(t *testing.T) {
	server := redistest.Start(t)
	consumetest.Run(t, func(t testing.TB) consumetest.Broker { return open(t, server.Addr()) })
}

func newMiddleware(t testing.TB, w *interlocktest.World, p guard.Policy, opts ...interlockwatermill.Option) message.HandlerMiddleware {
	t.Helper()
	m, err := interlockwatermill.Middleware(interlocktest.Guard[interlockwatermill.Produced](w, p), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A message that is delivered again publishes what its handler returned, without running.
func TestProducedMessagesAreKept(t *testing.T) {
	w := interlocktest.New(t)
	runs := 0
	handle := newMiddleware(t, w, policy)(func(m *message.Message) ([]*message.Message, error) {
		runs++
		out := message.NewMessage(watermill.NewUUID(), []byte("charged "+strconv.Itoa(runs)))
		out.Metadata.Set("order", m.UUID)
		return []*message.Message{out, message.NewMessage(watermill.NewUUID(), nil)}, nil
	})
	first, err := handle(message.NewMessage("order-1", []byte("one book")))
	if err != nil {
		t.Fatal(err)
	}
	again, err := handle(message.NewMessage("order-1", []byte("one book")))
	if err != nil || runs != 1 || len(again) != 2 {
		t.Fatalf("the repeat returned %d messages and %v after %d runs", len(again), err, runs)
	}
	for i := range first {
		if !again[i].Equals(first[i]) {
			t.Errorf("the repeat publishes %+v, the first delivery %+v", again[i], first[i])
		}
	}
}

func TestTheRouterPublishesAgainAfterAFailedPublish(t *testing.T) {
	pubsub := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	receipts, err := pubsub.Subscribe(t.Context(), "receipts")
	if err != nil {
		t.Fatal(err)
	}
	flaky := &flakyPublisher{Publisher: pubsub}
	var runs atomic.Int32
	once := newMiddleware(t, interlocktest.New(t), policy)
	run(t, func(r *message.Router) {
		r.AddMiddleware(once)
		r.AddHandler("charge", "orders", pubsub, "receipts", flaky, func(*message.Message) ([]*message.Message, error) {
			runs.Add(1)
			return []*message.Message{message.NewMessage(watermill.NewUUID(), []byte("receipt"))}, nil
		})
	})
	if err := pubsub.Publish("orders", message.NewMessage("order-1", []byte("one book"))); err != nil {
		t.Fatal(err)
	}
	select {
	case m := <-receipts:
		m.Ack()
	case <-time.After(time.Minute):
		t.Fatal("no receipt was published")
	}
	if runs.Load() != 1 || flaky.tries.Load() != 2 {
		t.Errorf("the handler ran %d times and the router published %d times, want 1 and 2", runs.Load(), flaky.tries.Load())
	}
}

// A flakyPublisher fails the first time.
type flakyPublisher struct {
	message.Publisher
	tries atomic.Int32
}

func (p *flakyPublisher) Publish(topic string, ms ...*message.Message) error {
	if p.tries.Add(1) == 1 {
		return errors.New("the broker is away")
	}
	return p.Publisher.Publish(topic, ms...)
}

func TestTwoHandlersOfOneTopicBothRun(t *testing.T) {
	pubsub := gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
	once := newMiddleware(t, interlocktest.New(t), policy)
	var ran sync.WaitGroup
	ran.Add(2)
	run(t, func(r *message.Router) {
		r.AddMiddleware(once)
		for _, name := range []string{"charge", "ship"} {
			r.AddConsumerHandler(name, "orders", pubsub, func(*message.Message) error { ran.Done(); return nil })
		}
	})
	if err := pubsub.Publish("orders", message.NewMessage("order-1", nil)); err != nil {
		t.Fatal(err)
	}
	ran.Wait()
}

func TestAPanicThatAnInnerMiddlewareRecoveredIsAnUnknownOutcome(t *testing.T) {
	w := interlocktest.New(t)
	runs, parked := 0, error(nil)
	handle := newMiddleware(t, w, policy, interlockwatermill.Parked(func(_ *message.Message, err error) error { parked = err; return nil }))(
		middleware.Recoverer(func(*message.Message) ([]*message.Message, error) { runs++; panic("a bug") }))
	if _, err := handle(message.NewMessage("order-1", nil)); !errors.Is(err, guard.ErrUnknown) {
		t.Errorf("the first delivery returned %v, want an unknown outcome", err)
	}
	if _, err := handle(message.NewMessage("order-1", nil)); err != nil || runs != 1 || !errors.Is(parked, guard.ErrUnknown) {
		t.Errorf("the redelivery returned %v after %d runs, parked with %v", err, runs, parked)
	}
}

func TestParked(t *testing.T) {
	w := interlocktest.New(t)
	refuse := errors.New("the dead letter queue is full")
	for name, c := range map[string]struct {
		uuid, payload string
		returned      error
		want          error
	}{
		"another payload under one UUID": {"order-1", "a hundred books", nil, guard.ErrMismatch},
		"no UUID":                        {"", "one book", nil, nil},
		"an error of Parked comes back":  {"order-1", "a hundred books", refuse, guard.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			var reason error
			handle := newMiddleware(t, w, policy, interlockwatermill.Parked(func(_ *message.Message, err error) error { reason = err; return c.returned }))(
				func(m *message.Message) ([]*message.Message, error) {
					if m.UUID != "order-1" || string(m.Payload) != "one book" {
						t.Errorf("%q ran with %q", m.UUID, m.Payload)
					}
					return nil, nil
				})
			if _, err := handle(message.NewMessage("order-1", []byte("one book"))); err != nil {
				t.Fatal(err)
			}
			if _, err := handle(message.NewMessage(c.uuid, []byte(c.payload))); !errors.Is(err, c.returned) {
				t.Errorf("the middleware returned %v, want %v", err, c.returned)
			}
			if reason == nil || c.want != nil && !errors.Is(reason, c.want) {
				t.Errorf("parked with %v, want %v", reason, c.want)
			}
		})
	}
}

func TestThePauseBeforeANackEndsWithTheSubscriber(t *testing.T) {
	w := interlocktest.New(t)
	p := policy
	p.Lease = time.Hour // the pause would be MaxPause
	_, claim, err := interlocktest.Guard[interlockwatermill.Produced](w, p).Begin(t.Context(), guard.ID("/order-1"))
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Free()
	ctx, closeSubscriber := context.WithCancel(t.Context())
	closeSubscriber()
	m := message.NewMessageWithContext(ctx, "order-1", nil)
	began := time.Now()
	_, err = newMiddleware(t, w, p)(func(*message.Message) ([]*message.Message, error) { panic("ran") })(m)
	if !errors.Is(err, guard.ErrDuplicate) || time.Since(began) >= interlockwatermill.MaxPause {
		t.Errorf("the middleware returned %v after %v", err, time.Since(began))
	}
}

func TestMiddlewareRefusesWhatDoesNotFit(t *testing.T) {
	w := interlocktest.New(t)
	good := interlocktest.Guard[interlockwatermill.Produced](w, policy)
	perUser := interlocktest.Guard[interlockwatermill.Produced](w, guard.Policy{Name: "per-user"})
	for want, make := range map[string]func() (message.HandlerMiddleware, error){
		"set Scope to guard.Global": func() (message.HandlerMiddleware, error) { return interlockwatermill.Middleware(perUser) },
		"the guard is nil":          func() (message.HandlerMiddleware, error) { return interlockwatermill.Middleware(nil) },
		"ID: the function is nil": func() (message.HandlerMiddleware, error) {
			return interlockwatermill.Middleware(good, interlockwatermill.ID(nil))
		},
		"Parked: the function is nil": func() (message.HandlerMiddleware, error) {
			return interlockwatermill.Middleware(good, interlockwatermill.Parked(nil))
		},
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Middleware returned %v, want %q", err, want)
		}
	}
}

// Brokers such as Kafka have binary headers.
func TestRepeatedMessagesKeepBinaryMetadata(t *testing.T) {
	once := newMiddleware(t, interlocktest.New(t), policy)
	handler := once(func(*message.Message) ([]*message.Message, error) {
		m := message.NewMessage("2", []byte("\xff\x00"))
		m.Metadata.Set("trace-bin", "\xff\xfe\x00trace")
		return []*message.Message{m}, nil
	})
	first, err := handler(message.NewMessage("1", nil))
	if err != nil {
		t.Fatal(err)
	}
	again, err := handler(message.NewMessage("1", nil))
	if err != nil || len(again) != 1 || !again[0].Equals(first[0]) {
		t.Errorf("the redelivery publishes %+v, %v, want %+v", again, err, first)
	}
}

// A publisher that honors the context of a message must not find it ended with the claim.
func TestProducedMessagesOutliveTheClaim(t *testing.T) {
	once := newMiddleware(t, interlocktest.New(t), policy)
	type key struct{}
	made, err := once(func(m *message.Message) ([]*message.Message, error) {
		out := message.NewMessage("2", nil)
		out.SetContext(context.WithValue(m.Context(), key{}, "value"))
		return []*message.Message{out}, nil
	})(message.NewMessage("1", nil))
	if err != nil {
		t.Fatal(err)
	}
	if ctx := made[0].Context(); ctx.Err() != nil || ctx.Value(key{}) != "value" {
		t.Errorf("the context of the message has the error %v and the value %v", ctx.Err(), ctx.Value(key{}))
	}
}
