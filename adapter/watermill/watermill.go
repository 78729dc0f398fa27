// Package interlockwatermill makes messages of Watermill take effect once, on every broker
// that Watermill supports.
//
// [Middleware] returns a middleware for a router or for one handler. A message is claimed by
// its UUID before the handler runs, recorded as done afterwards, and acknowledged last:
//
//	orders, err := guard.New[interlockwatermill.Produced](client, guard.Policy{Name: "orders", Scope: guard.Global})
//	…
//	once, err := interlockwatermill.Middleware(orders)
//	…
//	router.AddMiddleware(once)
//
// The record belongs to the message and to the name of the handler, so that two handlers of
// one topic both run.
//
// # What the broker is told
//
// A message that was done before is acknowledged without running. A message that another
// process runs, and every message while the engine is down, is negatively acknowledged after
// a pause of up to [MaxPause]: Watermill has no delay of its own. A handler's error is
// returned to the router, so that its other middleware and the broker decide when the
// message comes again.
//
// A message is parked if running it again cannot be right: its outcome is unknown and the
// policy is [guard.Hold], its UUID was used with another payload, or it has none. By default
// it is logged and acknowledged, so that it does not block the messages behind it; an unknown
// outcome stays in the list of [guard.Records]. See [Parked].
//
// # Messages that a handler returns
//
// The messages that a handler returns are part of the result. If the process dies before the
// router has published all of them, the redelivery publishes them again, with the same UUIDs
// and without running the handler. They are published at least once: their consumers
// need a guard, too. Messages that exceed [guard.MaxResult], 1 MiB by default, are published
// but not kept: such a redelivery is parked.
//
// # Other middleware
//
// Add middleware.Timeout, middleware.PoisonQueue and middleware.Recoverer after this one,
// nearer to the handler. A poison queue before it would also take the messages that only
// have to come again later. middleware.Retry may stand on either side.
//
// # Shutdown
//
// A handler is not canceled when the router closes its subscriber: it ends, and its message
// is recorded. Close the router first, then the guard. The context of a message ends when
// its claim is lost, or after the policy's MaxHold.
package interlockwatermill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/adapter/consume"
)

// MaxPause bounds the pause before a negative acknowledgement. Most subscribers wait for it
// before they deliver the next message.
const MaxPause = 5 * time.Second

// Produced is what a handler returned to the router: the result that a guard keeps.
type Produced []ProducedMessage

// A ProducedMessage is one message that a handler returned.
type ProducedMessage struct {
	UUID     string            `json:"uuid"`
	Metadata map[string][]byte `json:"metadata,omitempty"` // bytes, as brokers have binary headers
	Payload  []byte            `json:"payload"`
}

// An Option configures a middleware.
type Option func(*once)

// ID sets the function that returns the ID of a message. Two messages with one ID are repeats
// for a handler. A message with an empty ID is parked. Default: the message's UUID. It is safe
// against redeliveries. It is safe against a producer that publishes twice only if the
// producer sets the same UUID both times.
func ID(of func(*message.Message) string) Option { return func(o *once) { o.id = of } }

// Parked sets the function that gets a message which must not run again, and the reason. It
// may publish the message to a queue for operators. If it returns an error, so does the
// middleware, and the message comes again. Default: the message is logged to slog.Default.
func Parked(f func(*message.Message, error) error) Option { return func(o *once) { o.parked = f } }

type once struct {
	guard  *guard.Guard[Produced]
	id     func(*message.Message) string
	parked func(*message.Message, error) error
}

// Middleware returns a middleware that runs the handler once for each message. The guard's
// policy must have the scope [guard.Global] and keep results, which is the default.
func Middleware(g *guard.Guard[Produced], opts ...Option) (message.HandlerMiddleware, error) {
	o := &once{guard: g, id: func(m *message.Message) string { return m.UUID }, parked: logParked}
	for _, opt := range opts {
		opt(o)
	}
	err := consume.Check(g)
	switch {
	case err != nil:
	case o.id == nil:
		err = errors.New("ID: the function is nil")
	case o.parked == nil:
		err = errors.New("Parked: the function is nil")
	}
	if err != nil {
		return nil, fmt.Errorf("interlockwatermill: %w", err)
	}
	return o.wrap, nil
}

func (o *once) wrap(next message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) {
		ctx := m.Context() // ends when the subscriber closes
		id := o.id(m)
		if id != "" {
			id = message.HandlerNameFromCtx(ctx) + "/" + id
		}
		var messages []*message.Message
		kept, out := consume.Do(context.WithoutCancel(ctx), o.guard, id, [][]byte{m.Payload}, func(claimed context.Context) (Produced, error) {
			m.SetContext(claimed)
			defer m.SetContext(ctx)
			var err error
			messages, err = next(m)
			return produced(messages), unknownIfPanic(err)
		})
		switch out.Action {
		case consume.Park:
			return nil, o.parked(m, out.Err)
		case consume.Nack:
			pause(ctx, min(out.Delay, MaxPause))
			return nil, out.Err
		case consume.Retry:
			return nil, out.Err
		}
		if messages == nil {
			messages = kept.messages() // of an earlier delivery
		}
		for _, made := range messages { // their contexts may come from that of the claim, which has ended
			made.SetContext(context.WithoutCancel(made.Context()))
		}
		return messages, nil
	}
}

// unknownIfPanic marks the error by which an inner middleware.Recoverer reports a panic.
func unknownIfPanic(err error) error {
	if errors.As(err, new(middleware.RecoveredPanicError)) {
		return guard.OutcomeUnknown(err)
	}
	return err
}

// pause waits for d, or until the subscriber closes.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func logParked(m *message.Message, err error) error {
	slog.ErrorContext(m.Context(), "interlockwatermill: the message is parked and does not run", "uuid", m.UUID,
		"handler", message.HandlerNameFromCtx(m.Context()), "topic", message.SubscribeTopicFromCtx(m.Context()), "error", err)
	return nil
}

func produced(messages []*message.Message) Produced {
	p := make(Produced, 0, len(messages))
	for _, m := range messages {
		metadata := make(map[string][]byte, len(m.Metadata))
		for k, v := range m.Metadata {
			metadata[k] = []byte(v)
		}
		p = append(p, ProducedMessage{m.UUID, metadata, m.Payload})
	}
	return p
}

func (p Produced) messages() []*message.Message {
	messages := make([]*message.Message, 0, len(p))
	for _, kept := range p {
		m := message.NewMessage(kept.UUID, kept.Payload)
		for k, v := range kept.Metadata {
			m.Metadata.Set(k, string(v))
		}
		messages = append(messages, m)
	}
	return messages
}
