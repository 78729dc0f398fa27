// Package interlockkafka makes records of Kafka take effect once, for consumer groups of
// franz-go.
//
// A [Consumer] processes the records that a client polls. A record is claimed by its ID
// before the handler runs, recorded as done afterwards, and its offset is committed last:
//
//	orders, err := guard.New[struct{}](client, guard.Policy{Name: "orders", Scope: guard.Global})
//	…
//	consumer, err := interlockkafka.New(orders, placeOrder, interlockkafka.ID(interlockkafka.Header("order-id")))
//	…
//	cl, err := kgo.NewClient(append(consumer.Options(), kgo.ConsumerGroup("shop"), kgo.ConsumeTopics("orders"), …)...)
//	…
//	err = consumer.Run(ctx, cl)
//
// Use one guard, with a name of its own, for each consumer group. Groups that share a name
// share what is recorded as done, and only one of them runs each message.
//
// # IDs
//
// By default a record is identified by its position: topic, partition, offset and time.
// That is safe against redeliveries. It is not safe against a producer that sends an order
// twice, such as a program that repeats it after a restart: use [ID] and [Header], and let
// the producer set the ID of the order in a header.
//
// # Order
//
// The records of a partition are processed one after another, in their order, and those of
// different partitions concurrently. A record that another process runs, whose handler failed,
// or that cannot be claimed because the engine is down, is tried again: its partition pauses,
// and the others go on. After a handler's error the pause is 1s, 2s, 4s and so on, up to one
// minute. A handler that never succeeds blocks its partition. It may give up: it sends the
// record to another topic, and returns nil. The record is then done. A consumer of the other
// topic needs a guard of its own.
//
// A record is parked if running it again cannot be right: its outcome is unknown and the
// policy is [guard.Hold], its ID was used with another topic, key or value, or it has none. By
// default it is logged and its partition goes on; an unknown outcome stays in the list of
// [guard.Records]. See [Parked].
//
// # Rebalances and shutdown
//
// When a partition is revoked, the running handler has half of the group's rebalance timeout
// to end, so that its offset is still committed. Otherwise the next owner of the
// partition finds the record running, and waits for it. At a shutdown, [Consumer.Run] waits
// for the running handlers without a limit. Handlers are never canceled by either: their context
// ends when the claim is lost, or after the policy's MaxHold.
package interlockkafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/adapter/consume"
)

// An Option configures a Consumer.
type Option func(*Consumer)

// ID sets the function that returns the ID of a record. Two records with one ID are
// repeats. A record with an empty ID is parked, and so is one for which the function panics.
// Default: topic, partition, offset and time of the record.
func ID(of func(*kgo.Record) string) Option { return func(c *Consumer) { c.id = of } }

// Header returns a function for [ID]: the ID is the value of a header.
func Header(name string) func(*kgo.Record) string {
	return func(r *kgo.Record) string {
		for _, h := range r.Headers {
			if h.Key == name {
				return string(h.Value)
			}
		}
		return ""
	}
}

// Parked sets the function that gets a record which must not run again, and the reason. It
// may produce the record to a topic for operators. If it returns an error, the record is
// tried again. Default: the record is logged.
func Parked(f func(context.Context, *kgo.Record, error) error) Option {
	return func(c *Consumer) { c.parked = f }
}

// Logger sets the logger of errors and of parked records. Default: slog.Default.
func Logger(l *slog.Logger) Option { return func(c *Consumer) { c.log = l } }

// A Consumer processes the records of one client, each one once.
type Consumer struct {
	guard      *guard.Guard[struct{}]
	handle     func(context.Context, *kgo.Record) error
	id         func(*kgo.Record) string
	parked     func(context.Context, *kgo.Record, error) error
	log        *slog.Logger
	partitions partitions
	ran        atomic.Bool
}

// New returns a Consumer that runs handle once for each record. The guard's policy must have
// the scope [guard.Global] and keep results, which is the default.
func New(g *guard.Guard[struct{}], handle func(context.Context, *kgo.Record) error, opts ...Option) (*Consumer, error) {
	c := &Consumer{guard: g, handle: handle, id: position, log: slog.Default()}
	c.parked = c.logParked
	for _, opt := range opts {
		opt(c)
	}
	err := consume.Check(g)
	switch {
	case err != nil:
	case handle == nil:
		err = errors.New("the handler is nil")
	case c.id == nil:
		err = errors.New("ID: the function is nil")
	case c.parked == nil:
		err = errors.New("Parked: the function is nil")
	case c.log == nil:
		err = errors.New("Logger: the logger is nil")
	}
	if err != nil {
		return nil, fmt.Errorf("interlockkafka: %w", err)
	}
	return c, nil
}

// Options returns the options that the consumer's client needs. They include the callbacks for
// revoked and lost partitions, and let the client commit only offsets of processed records.
func (c *Consumer) Options() []kgo.Opt {
	return []kgo.Opt{
		kgo.AutoCommitMarks(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsRevoked(c.revoked),
		kgo.OnPartitionsLost(c.lost),
	}
}

// Run processes records until ctx is done or the client is closed, waits for the running
// handlers, and commits their offsets. It does not close the client. If the last commit
// fails, Run returns its error: those records come again, and are found done.
//
// Run can be called once. The client has fetched records that did not run, and would continue
// behind them: to consume again, make a new consumer and a new client.
func (c *Consumer) Run(ctx context.Context, cl *kgo.Client) error {
	if cl.OptValue(kgo.ConsumerGroup) == "" {
		return errors.New("interlockkafka: the client has no consumer group, so no offset would be committed: set kgo.ConsumerGroup")
	}
	if cl.OptValue(kgo.AutoCommitMarks) != true || cl.OptValue(kgo.BlockRebalanceOnPoll) != true {
		return errors.New("interlockkafka: the client would commit records that did not run: make it with the Options of the consumer")
	}
	if c.ran.Swap(true) {
		return errors.New("interlockkafka: Run was called before; the client would skip the records that it fetched and did not process: make a new consumer and a new client")
	}
	for {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil || fetches.IsClientClosed() {
			break
		}
		fetches.EachError(func(topic string, partition int32, err error) {
			c.log.Error("interlockkafka: fetching failed", "topic", topic, "partition", partition, "error", err)
		})
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if len(p.Records) > 0 {
				c.add(cl, p.Records)
			}
		})
		cl.AllowRebalance()
	}
	cl.AllowRebalance()
	c.stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	if err := cl.CommitMarkedOffsets(ctx); err != nil && !errors.Is(err, kgo.ErrClientClosed) {
		return fmt.Errorf("interlockkafka: committing the last offsets: %w", err)
	}
	return nil
}

// commitTimeout bounds the last commit.
const commitTimeout = 10 * time.Second

// process handles a record until it is settled. It reports false if stop ended it before.
func (c *Consumer) process(stop context.Context, r *kgo.Record) bool {
	log := c.log.With("topic", r.Topic, "partition", r.Partition, "offset", r.Offset)
	id := consume.SafeID(log, func() string { return c.id(r) })
	for tries := 1; stop.Err() == nil; tries++ {
		_, out := consume.Do(context.WithoutCancel(stop), c.guard, id, [][]byte{[]byte(r.Topic), r.Key, r.Value},
			consume.Recovered(log, func(ctx context.Context) error { return c.handle(ctx, r) }))
		pause := out.Delay
		switch out.Action {
		case consume.Ack:
			return true
		case consume.Park:
			err := c.parked(context.WithoutCancel(stop), r, out.Err)
			if err == nil {
				return true
			}
			pause = consume.Backoff(tries)
			log.Error("interlockkafka: the record could not be parked; its partition pauses", "pause", pause, "error", err)
		case consume.Retry:
			pause = consume.Backoff(tries)
			log.Warn("interlockkafka: the handler failed; its partition pauses", "pause", pause, "error", out.Err)
		case consume.Nack:
			log.Debug("interlockkafka: the record did not run; its partition pauses", "pause", pause, "error", out.Err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-stop.Done():
			timer.Stop()
		}
	}
	return false
}

func (c *Consumer) logParked(_ context.Context, r *kgo.Record, err error) error {
	c.log.Error("interlockkafka: the record is parked and does not run", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "error", err)
	return nil
}

// position identifies a record in Kafka. The time tells the records of a topic from those of
// an earlier topic with its name.
func position(r *kgo.Record) string {
	return fmt.Sprintf("%s/%d/%d/%d", r.Topic, r.Partition, r.Offset, r.Timestamp.UnixMilli())
}
