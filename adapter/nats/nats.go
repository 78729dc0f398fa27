// Package interlocknats makes messages of NATS JetStream take effect once.
//
// [Handler] wraps a handler of messages. A message is claimed by its ID before the handler
// runs, recorded as done afterwards, and acknowledged last:
//
//	orders, err := guard.New[struct{}](client, guard.Policy{Name: "orders", Scope: guard.Global})
//	…
//	handler, err := interlocknats.Handler(consumer, orders, placeOrder)
//	…
//	consuming, err := consumer.Consume(handler)
//
// Use one guard, with a name of its own, for each durable consumer. Two consumers that share a
// name share the records, and only one of them runs each message.
//
// # What the server is told
//
// A message that was done before is acknowledged without running. A message that another
// process runs, and every message while the engine is down, comes again later (NakWithDelay).
// A handler's error brings the message back after 1s, 2s, 4s and so on, up to one minute; a
// panic counts as an unknown outcome. While a handler runs, the server is told so
// (InProgress), so that AckWait does not redeliver the message.
//
// A message is terminated, with the reason in the server's advisory, if running it again
// cannot be right: its outcome is unknown and the policy is [guard.Hold], its ID was used
// with another payload, or it has no ID. An unknown outcome stays in the list of
// [guard.Records]. If an operator finds that the work did not happen (Forget), the message
// must be published again. A stream with the retention limits still has it; a work queue
// deletes terminated messages, so keep a copy with [Parked]. The server must be 2.10.4 or later:
// an older one ignores the reason and the termination, and delivers the message again.
//
// Every redelivery counts for MaxDeliver of the consumer, also while the engine is down. Leave
// it unlimited, or the server gives up on messages that never ran. [Handler] logs a warning if
// it is limited.
//
// Consume fetches up to 500 messages in advance. The server redelivers those that wait for
// longer than AckWait. If handlers are slow, fetch fewer, with jetstream.PullMaxMessages.
//
// # Shutdown
//
// Stop the consumer, close the guard, which waits for the running handler, and close the
// connection last:
//
//	consuming.Stop()
//	err := orders.Close(ctx)
//	nc.Close()
package interlocknats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/adapter/consume"
)

// An Option configures a handler.
type Option func(*handler)

// ID sets the function that returns the ID of a message. Two messages with one ID are repeats.
// A message with an empty ID is terminated, and so is one for which the function panics.
// Default: [MessageID].
func ID(of func(jetstream.Msg) string) Option { return func(h *handler) { h.id = of } }

// Parked sets the function that gets a message which must not run again, and the reason, before
// the message is terminated. It may publish a copy for operators. If it returns an error, the
// message comes again instead. Default: none; terminated messages are logged.
func Parked(f func(context.Context, jetstream.Msg, error) error) Option {
	return func(h *handler) { h.parked = f }
}

// Logger sets the logger of handlers' errors and of terminated messages. Default:
// slog.Default.
func Logger(l *slog.Logger) Option { return func(h *handler) { h.log = l } }

// MessageID returns the ID that the producer set in the header Nats-Msg-Id. Without one, it
// returns the message's position in the stream, which is safe against redeliveries, but not
// against a producer that publishes a message twice.
func MessageID(m jetstream.Msg) string {
	meta, err := m.Metadata()
	if err != nil {
		return ""
	}
	if id := m.Headers().Get(jetstream.MsgIDHeader); id != "" {
		return meta.Stream + "/id/" + id
	}
	// The time tells the messages of a stream from those of an earlier one with its name.
	return fmt.Sprintf("%s/seq/%d/%d", meta.Stream, meta.Sequence.Stream, meta.Timestamp.UnixNano())
}

type handler struct {
	guard     *guard.Guard[struct{}]
	handle    func(context.Context, jetstream.Msg) error
	id        func(jetstream.Msg) string
	parked    func(context.Context, jetstream.Msg, error) error
	log       *slog.Logger
	heartbeat time.Duration
}

// Handler returns a handler that runs handle once for each message of consumer. The guard's
// policy must have the scope [guard.Global] and keep results, which is the default. The
// context of handle ends when its claim is lost, or after the policy's MaxHold. handle must
// not acknowledge the message itself.
//
// Handler fails if the guard or the consumer does not fit: each message of the consumer
// must be acknowledged on its own.
func Handler(consumer jetstream.Consumer, g *guard.Guard[struct{}], handle func(context.Context, jetstream.Msg) error, opts ...Option) (jetstream.MessageHandler, error) {
	h := &handler{guard: g, handle: handle, id: MessageID, log: slog.Default(),
		parked: func(context.Context, jetstream.Msg, error) error { return nil }}
	for _, opt := range opts {
		opt(h)
	}
	if err := h.check(consumer); err != nil {
		return nil, fmt.Errorf("interlocknats: %w", err)
	}
	return h.process, nil
}

func (h *handler) check(consumer jetstream.Consumer) error {
	if err := consume.Check(h.guard); err != nil {
		return err
	}
	switch {
	case consumer == nil:
		return errors.New("the consumer is nil")
	case h.handle == nil:
		return errors.New("the handler is nil")
	case h.id == nil:
		return errors.New("ID: the function is nil")
	case h.parked == nil:
		return errors.New("Parked: the function is nil")
	case h.log == nil:
		return errors.New("Logger: the logger is nil")
	}
	config := consumer.CachedInfo().Config
	if config.AckPolicy != jetstream.AckExplicitPolicy {
		return fmt.Errorf("consumer %q has the ack policy %v, which settles messages that did not run: use AckExplicitPolicy", config.Name, config.AckPolicy)
	}
	if config.MaxDeliver > 0 {
		h.log.Warn("interlocknats: MaxDeliver counts deliveries that did not run, so the server may give up on messages that never ran: leave it unlimited",
			"consumer", config.Name, "max_deliver", config.MaxDeliver)
	}
	wait := config.AckWait
	for _, d := range config.BackOff { // replaces AckWait
		wait = min(wait, d)
	}
	h.heartbeat = max(wait/3, 10*time.Millisecond)
	return nil
}

// process handles one delivery and tells the server what became of it.
func (h *handler) process(m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		h.log.Error("interlocknats: not a message of JetStream", "subject", m.Subject(), "error", err)
		return
	}
	stop := sync.OnceFunc(h.beat(m))
	defer stop() // should the handler end its goroutine
	id := consume.SafeID(h.log, func() string { return h.id(m) })
	_, out := consume.Do(context.Background(), h.guard, id, [][]byte{[]byte(m.Subject()), m.Data()},
		consume.Recovered(h.log, func(ctx context.Context) error { return h.handle(ctx, m) }))
	stop()
	log := h.log.With("stream", meta.Stream, "sequence", meta.Sequence.Stream, "subject", m.Subject())
	if err := h.tell(m, out, consume.Backoff(int(min(meta.NumDelivered, 100))), log); err != nil { //nolint:gosec // at most 100
		log.Warn("interlocknats: the server was not told; the message comes again after AckWait", "error", err)
	}
}

// tell tells the server what became of a message. backoff is the pause after a failure.
func (h *handler) tell(m jetstream.Msg, out consume.Outcome, backoff time.Duration, log *slog.Logger) error {
	switch out.Action {
	case consume.Retry:
		log.Warn("interlocknats: the handler failed; the message comes again", "delay", backoff, "error", out.Err)
		return m.NakWithDelay(backoff)
	case consume.Nack:
		log.Debug("interlocknats: the message did not run; it comes again", "delay", out.Delay, "error", out.Err)
		return m.NakWithDelay(out.Delay)
	case consume.Park:
		if err := h.parked(context.Background(), m, out.Err); err != nil {
			log.Error("interlocknats: the message could not be parked; it comes again", "delay", backoff, "error", err)
			return m.NakWithDelay(backoff)
		}
		log.Error("interlocknats: the message is terminated", "error", out.Err)
		return m.TermWithReason(out.Err.Error())
	}
	return m.Ack()
}

// beat tells the server that the message is in progress, until stop is called.
func (h *handler) beat(m jetstream.Msg) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop, which waits for it
		defer close(ended)
		tick := time.NewTicker(h.heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = m.InProgress() // if the server is away, the next one may reach it
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}
