package interlocknats_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-go/interlock"
	interlocknats "github.com/interlock-go/interlock/adapter/nats"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
	"github.com/interlock-go/interlock/internal/adapter/consume/consumetest"
)

type none = struct{}

var policy = guard.Policy{Name: "orders", Scope: guard.Global, Lease: consumetest.Lease}

// start runs a server until the test ends.
func start(t testing.TB) (url string) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server did not start")
	}
	return s.ClientURL()
}

// connect returns a connection that the test closes.
func connect(t testing.TB, url string) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}

var streams atomic.Int64

// A broker is a stream with one durable consumer.
type broker struct {
	url    string
	js     jetstream.JetStream
	stream string
}

func open(t testing.TB, url string, change func(*jetstream.ConsumerConfig)) *broker {
	t.Helper()
	_, js := connect(t, url)
	b := &broker{url, js, fmt.Sprintf("S%d", streams.Add(1))}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: b.stream, Subjects: []string{b.stream + ".>"}}); err != nil {
		t.Fatal(err)
	}
	config := jetstream.ConsumerConfig{Durable: "worker", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 2 * time.Second}
	if change != nil {
		change(&config)
	}
	if _, err := js.CreateConsumer(t.Context(), b.stream, config); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *broker) consumer(t testing.TB, js jetstream.JetStream) jetstream.Consumer {
	t.Helper()
	c, err := js.Consumer(t.Context(), b.stream, "worker")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The stream drops a message whose Nats-Msg-Id it has seen lately, so repeats have their ID in
// another header.
const idHeader = "Order-Id"

func (b *broker) Send(t testing.TB, m consumetest.Message) {
	t.Helper()
	msg := nats.NewMsg(b.stream + ".orders")
	msg.Header.Set(idHeader, m.ID)
	msg.Data = []byte(m.Payload)
	if _, err := b.js.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

func (b *broker) Consume(t testing.TB, client *interlock.Client, p guard.Policy, handle func(context.Context, consumetest.Message) error) func() {
	t.Helper()
	nc, js := connect(t, b.url)
	g := guard.Must(guard.New[none](client, p))
	c := b.consumer(t, js)
	handler, err := interlocknats.Handler(c, g, func(ctx context.Context, m jetstream.Msg) error {
		return handle(ctx, consumetest.Message{ID: m.Headers().Get(idHeader), Payload: string(m.Data())})
	}, interlocknats.ID(func(m jetstream.Msg) string { return m.Headers().Get(idHeader) }), interlocknats.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	consuming, err := c.Consume(handler, jetstream.PullMaxMessages(1))
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		consuming.Stop()
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
		nc.Close()
	}
}

func (b *broker) Unsettled(t testing.TB) int {
	t.Helper()
	info, err := b.consumer(t, b.js).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return int(info.NumPending) + info.NumAckPending
}

func TestConsumer(t *testing.T) {
	url := start(t)
	consumetest.Run(t, func(t testing.TB) consumetest.Broker { return open(t, url, nil) })
}

// handler makes a handler with the default ID, and consumes until the test ends.
func (b *broker) handle(t testing.TB, g *guard.Guard[none], handle func(context.Context, jetstream.Msg) error) {
	t.Helper()
	c := b.consumer(t, b.js)
	h, err := interlocknats.Handler(c, g, handle)
	if err != nil {
		t.Fatal(err)
	}
	consuming, err := c.Consume(h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		consuming.Stop()
		<-consuming.Closed()
	})
}

func (b *broker) publish(t testing.TB, payload string, opts ...jetstream.PublishOpt) {
	t.Helper()
	if _, err := b.js.Publish(t.Context(), b.stream+".orders", []byte(payload), opts...); err != nil {
		t.Fatal(err)
	}
}

// await polls until the state is as wanted.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	late, tick := time.After(time.Minute), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("timed out: %s", what)
		}
	}
}

func TestHeartbeatsKeepTheServerFromRedelivering(t *testing.T) {
	t.Parallel()
	b := open(t, start(t), func(c *jetstream.ConsumerConfig) { c.AckWait = 300 * time.Millisecond })
	g := interlocktest.Guard[none](interlocktest.New(t), policy)
	var deliveries atomic.Uint64
	b.handle(t, g, func(_ context.Context, m jetstream.Msg) error {
		meta, err := m.Metadata()
		<-time.After(2 * time.Second) // several times AckWait
		deliveries.Store(meta.NumDelivered)
		return err
	})
	b.publish(t, "one book")
	await(t, "the message is settled", func() bool { return deliveries.Load() > 0 && b.Unsettled(t) == 0 })
	info, err := b.consumer(t, b.js).Info(t.Context())
	if err != nil || info.Delivered.Consumer != 1 {
		t.Errorf("the message was delivered %d times, want once; %v", info.Delivered.Consumer, err)
	}
}

func TestTheDefaultID(t *testing.T) {
	t.Parallel()
	b := open(t, start(t), nil)
	g := interlocktest.Guard[none](interlocktest.New(t), policy)
	var mu sync.Mutex
	var ids []string
	b.handle(t, g, func(_ context.Context, m jetstream.Msg) error {
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, interlocknats.MessageID(m))
		return nil
	})
	b.publish(t, "a")
	b.publish(t, "a") // another message with the same content
	b.publish(t, "b", jetstream.WithMsgID("order-1"))
	await(t, "three messages are settled", func() bool { mu.Lock(); defer mu.Unlock(); return len(ids) == 3 && b.Unsettled(t) == 0 })
	mu.Lock()
	defer mu.Unlock()
	if !strings.HasPrefix(ids[0], b.stream+"/seq/1/") || !strings.HasPrefix(ids[1], b.stream+"/seq/2/") || ids[2] != b.stream+"/id/order-1" {
		t.Errorf("the IDs are %q", ids)
	}
}

func TestAnIDAcceptsOnePayload(t *testing.T) {
	t.Parallel()
	b := open(t, start(t), nil)
	nc, err := nats.Connect(b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	advisories, err := nc.SubscribeSync("$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.>")
	if err != nil {
		t.Fatal(err)
	}
	b.Consume(t, interlocktest.New(t).Client(), policy, func(context.Context, consumetest.Message) error { return nil })
	b.Send(t, consumetest.Message{ID: "1", Payload: "one book"})
	b.Send(t, consumetest.Message{ID: "1", Payload: "a hundred books"})
	m, err := advisories.NextMsg(time.Minute)
	if err != nil || !strings.Contains(string(m.Data), "was used with another payload") {
		t.Errorf("the advisory is %s, %v", m.Data, err)
	}
}

func TestAMessageThatCannotBeParkedComesAgain(t *testing.T) {
	t.Parallel()
	b := open(t, start(t), nil)
	c := b.consumer(t, b.js)
	var calls atomic.Int32
	h, err := interlocknats.Handler(c, interlocktest.Guard[none](interlocktest.New(t), policy), func(context.Context, jetstream.Msg) error { panic("ran") },
		interlocknats.ID(func(jetstream.Msg) string { panic("malformed") }), interlocknats.Logger(slog.New(slog.DiscardHandler)),
		interlocknats.Parked(func(_ context.Context, _ jetstream.Msg, reason error) error {
			if !strings.Contains(reason.Error(), "has no ID") {
				t.Errorf("the reason is %v", reason)
			}
			if calls.Add(1) == 1 {
				return errors.New("the queue of parked messages is away")
			}
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	consuming, err := c.Consume(h)
	if err != nil {
		t.Fatal(err)
	}
	defer consuming.Stop()
	b.publish(t, "one book")
	await(t, "the message is parked", func() bool { return calls.Load() == 2 && b.Unsettled(t) == 0 })
}

func TestALimitOfDeliveriesIsLogged(t *testing.T) {
	t.Parallel()
	url := start(t)
	for limit, want := range map[int]bool{-1: false, 5: true} {
		b := open(t, url, func(c *jetstream.ConsumerConfig) { c.MaxDeliver = limit })
		var log strings.Builder
		if _, err := interlocknats.Handler(b.consumer(t, b.js), interlocktest.Guard[none](interlocktest.New(t), policy),
			func(context.Context, jetstream.Msg) error { return nil }, interlocknats.Logger(slog.New(slog.NewTextHandler(&log, nil)))); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), "MaxDeliver"); got != want {
			t.Errorf("with MaxDeliver %d the log is %q", limit, log.String())
		}
	}
}

func TestHandlerRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	b := open(t, start(t), nil)
	none := open(t, b.url, func(c *jetstream.ConsumerConfig) { c.AckPolicy = jetstream.AckNonePolicy })
	all := open(t, b.url, func(c *jetstream.ConsumerConfig) { c.AckPolicy = jetstream.AckAllPolicy })
	w := interlocktest.New(t)
	good := interlocktest.Guard[struct{}](w, policy)
	perUser := interlocktest.Guard[struct{}](w, guard.Policy{Name: "per-user"})
	handle := func(context.Context, jetstream.Msg) error { return nil }
	for want, make := range map[string]func() error{
		"set Scope to guard.Global": func() error { _, err := interlocknats.Handler(b.consumer(t, b.js), perUser, handle); return err },
		"the guard is nil":          func() error { _, err := interlocknats.Handler(b.consumer(t, b.js), nil, handle); return err },
		"the handler is nil":        func() error { _, err := interlocknats.Handler(b.consumer(t, b.js), good, nil); return err },
		"the consumer is nil":       func() error { _, err := interlocknats.Handler(nil, good, handle); return err },
		"the ack policy AckNone":    func() error { _, err := interlocknats.Handler(none.consumer(t, b.js), good, handle); return err },
		"the ack policy AckAll":     func() error { _, err := interlocknats.Handler(all.consumer(t, b.js), good, handle); return err },
	} {
		if err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Handler returned %v, want %q", err, want)
		}
	}
}
