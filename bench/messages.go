package main

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/hibiken/asynq"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/riverqueue/river/rivertype"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/asynq"
	"github.com/interlock-go/interlock/adapter/nats"
	"github.com/interlock-go/interlock/adapter/river"
	"github.com/interlock-go/interlock/adapter/watermill"
	"github.com/interlock-go/interlock/guard"
)

// messages returns the rows of the table about messages. Handlers are called as their library
// calls them, without a broker, except in the rows of handleKafka.
func messages() []contender {
	return slices.Concat(
		consumer("watermill", handleWatermill), consumer("nats.go", handleNATS), consumer("asynq", handleAsynq),
		consumer("river", handleRiver), beside(kafkaRow, handleKafka))
}

// consumer returns the rows of a library, as [beside] does. A handler calls work, and each
// message must reach it.
func consumer(name string, open func(client *interlock.Client, work func()) (keyed, error)) []contender {
	return beside(name, func(_ context.Context, client *interlock.Client) (keyed, func(), error) {
		var worked atomic.Bool
		handle, err := open(client, func() { worked.Store(true) })
		return func(ctx context.Context, id string) error {
			err := handle(ctx, id)
			if err == nil && !worked.Swap(false) {
				err = errNotHandled
			}
			return err
		}, func() {}, err
	})
}

var errNotHandled = errors.New("the message was not handled")

// messageGuard returns the guard of a consumer.
func messageGuard[T any](client *interlock.Client) *guard.Guard[T] {
	return guard.Must(guard.New[T](client, guard.Policy{Name: "bench", Scope: guard.Global, Retain: resultRetention}))
}

func handleWatermill(client *interlock.Client, work func()) (keyed, error) {
	handle := message.HandlerFunc(func(*message.Message) ([]*message.Message, error) { work(); return nil, nil })
	if client != nil {
		once, err := interlockwatermill.Middleware(messageGuard[interlockwatermill.Produced](client))
		if err != nil {
			return nil, err
		}
		handle = once(handle)
	}
	return func(_ context.Context, id string) error {
		_, err := handle(message.NewMessage(id, []byte(requestBody)))
		return err
	}, nil
}

func handleNATS(client *interlock.Client, work func()) (keyed, error) {
	handle := func(m jetstream.Msg) { work(); _ = m.Ack() }
	if client != nil {
		var err error
		handle, err = interlocknats.Handler(natsConsumer{}, messageGuard[struct{}](client), func(context.Context, jetstream.Msg) error { work(); return nil })
		if err != nil {
			return nil, err
		}
	}
	return func(_ context.Context, id string) error {
		m := &natsMessage{header: nats.Header{jetstream.MsgIDHeader: {id}}}
		handle(m)
		if !m.acked {
			return errNotHandled
		}
		return nil
	}, nil
}

// A natsConsumer has the configuration that a server gives it by default.
type natsConsumer struct{ jetstream.Consumer }

func (natsConsumer) CachedInfo() *jetstream.ConsumerInfo {
	return &jetstream.ConsumerInfo{Config: jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: 30 * time.Second}}
}

// A natsMessage is a message that no server waits for.
type natsMessage struct {
	jetstream.Msg
	header nats.Header
	acked  bool
}

func (m *natsMessage) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{Stream: "orders", NumDelivered: 1}, nil
}
func (m *natsMessage) Subject() string      { return "orders" }
func (m *natsMessage) Headers() nats.Header { return m.header }
func (m *natsMessage) Data() []byte         { return []byte(requestBody) }
func (m *natsMessage) Ack() error           { m.acked = true; return nil }

func handleAsynq(client *interlock.Client, work func()) (keyed, error) {
	mux := asynq.NewServeMux()
	mux.HandleFunc("order", func(context.Context, *asynq.Task) error { work(); return nil })
	if client != nil { // a server would put asynq's ID into the context
		once, err := interlockasynq.Middleware(messageGuard[struct{}](client), interlockasynq.ID(func(_ context.Context, t *asynq.Task) string { return t.Headers()["id"] }))
		if err != nil {
			return nil, err
		}
		mux.Use(once)
	}
	return func(ctx context.Context, id string) error {
		return mux.ProcessTask(ctx, asynq.NewTaskWithHeaders("order", []byte(requestBody), map[string]string{"id": id}))
	}, nil
}

func handleRiver(client *interlock.Client, work func()) (keyed, error) {
	process := func(ctx context.Context, _ *rivertype.JobRow, worker func(context.Context) error) error {
		return worker(ctx)
	}
	if client != nil {
		once, err := interlockriver.Middleware(messageGuard[struct{}](client))
		if err != nil {
			return nil, err
		}
		process = once.Work
	}
	var last atomic.Int64
	return func(ctx context.Context, _ string) error {
		job := &rivertype.JobRow{ID: last.Add(1), Kind: "order", EncodedArgs: []byte(requestBody)}
		return process(ctx, job, func(context.Context) error { work(); return nil })
	}, nil
}
