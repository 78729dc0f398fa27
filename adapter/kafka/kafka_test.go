package interlockkafka_test

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

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/interlock-go/interlock"
	interlockkafka "github.com/interlock-go/interlock/adapter/kafka"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
	"github.com/interlock-go/interlock/internal/adapter/consume/consumetest"
)

type none = struct{}

const (
	topic      = "orders"
	otherTopic = "refunds"
	group      = "shop"
	idHeader   = "order-id"
)

var policy = guard.Policy{Name: "orders", Scope: guard.Global, Lease: consumetest.Lease}

var silent = interlockkafka.Logger(slog.New(slog.DiscardHandler))

// A broker is a cluster with one topic of two partitions.
type broker struct {
	addrs    []string
	producer *kgo.Client
	sent     atomic.Int64
}

func open(t testing.TB) *broker {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, topic, otherTopic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	b := &broker{addrs: cluster.ListenAddrs()}
	b.producer = b.client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	return b
}

// client returns a client that is closed when the test ends.
func (b *broker) client(t testing.TB, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.addrs...)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.CloseAllowingRebalance)
	return cl
}

func (b *broker) Send(t testing.TB, m consumetest.Message) {
	t.Helper()
	r := &kgo.Record{Topic: topic, Partition: int32(m.Lane), Value: []byte(m.Payload), Headers: []kgo.RecordHeader{{Key: idHeader, Value: []byte(m.ID)}}} //nolint:gosec // 0 or 1
	if err := b.producer.ProduceSync(t.Context(), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
	b.sent.Add(1)
}

// run runs a consumer with the header's ID until stop is called.
func (b *broker) run(t testing.TB, g *guard.Guard[none], handle func(context.Context, *kgo.Record) error, opts ...interlockkafka.Option) (stop func()) {
	t.Helper()
	c, err := interlockkafka.New(g, handle, append([]interlockkafka.Option{interlockkafka.ID(interlockkafka.Header(idHeader)), silent}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	cl := b.client(t, append(c.Options(), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(100*time.Millisecond), kgo.HeartbeatInterval(200*time.Millisecond))...)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, cl) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		cl.CloseAllowingRebalance()
	})
}

func (b *broker) Consume(t testing.TB, client *interlock.Client, p guard.Policy, handle func(context.Context, consumetest.Message) error) func() {
	t.Helper()
	g := guard.Must(guard.New[none](client, p))
	stop := b.run(t, g, func(ctx context.Context, r *kgo.Record) error {
		return handle(ctx, consumetest.Message{ID: interlockkafka.Header(idHeader)(r), Payload: string(r.Value), Lane: int(r.Partition)})
	})
	return func() {
		stop()
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// Unsettled returns how many records are behind the committed offsets.
func (b *broker) Unsettled(t testing.TB) int {
	t.Helper()
	left := b.sent.Load()
	for _, offset := range b.offsets(t) {
		left -= max(0, offset)
	}
	return int(left)
}

// offsets returns the offsets that the group has committed, by partition.
func (b *broker) offsets(t testing.TB) map[int32]int64 {
	t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	asked := kmsg.NewOffsetFetchRequestGroup()
	asked.Group = group
	req.Groups = append(req.Groups, asked)
	resp, err := req.RequestWith(t.Context(), b.producer)
	if err != nil {
		t.Fatal(err)
	}
	offsets := map[int32]int64{}
	for _, g := range resp.Groups {
		for _, topic := range g.Topics {
			for _, p := range topic.Partitions {
				offsets[p.Partition] = p.Offset
			}
		}
	}
	return offsets
}

func TestConsumer(t *testing.T) {
	consumetest.Run(t, func(t testing.TB) consumetest.Broker { return open(t) })
}

// await polls until the state is as wanted.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	late, tick := time.After(90*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("timed out: %s", what)
		}
	}
}

func TestAFailingRecordPausesOnlyItsPartition(t *testing.T) {
	t.Parallel()
	b := open(t)
	var fixed atomic.Bool
	var mu sync.Mutex
	var order []string
	stop := b.run(t, interlocktest.Guard[none](interlocktest.New(t), policy), func(_ context.Context, r *kgo.Record) error {
		if string(r.Value) == "bad" && !fixed.Load() {
			return errors.New("out of stock")
		}
		mu.Lock()
		defer mu.Unlock()
		order = append(order, string(r.Value))
		return nil
	})
	defer stop()
	for i, m := range []consumetest.Message{{Payload: "bad"}, {Payload: "behind"}, {Payload: "other 1", Lane: 1}, {Payload: "other 2", Lane: 1}} {
		m.ID = fmt.Sprint(i)
		b.Send(t, m)
	}
	done := func() string { mu.Lock(); defer mu.Unlock(); return strings.Join(order, ", ") }
	await(t, "the other partition goes on", func() bool { return done() == "other 1, other 2" })
	fixed.Store(true)
	await(t, "the partition goes on in its order", func() bool { return done() == "other 1, other 2, bad, behind" })
	await(t, "all offsets are committed", func() bool { return b.Unsettled(t) == 0 })
}

func TestManyRecordsOfTwoPartitions(t *testing.T) {
	t.Parallel()
	b := open(t)
	const n = 400
	var mu sync.Mutex
	next := map[int32]int64{}
	runs := 0
	stop := b.run(t, interlocktest.Guard[none](interlocktest.New(t), policy), func(_ context.Context, r *kgo.Record) error {
		mu.Lock()
		defer mu.Unlock()
		if r.Offset != next[r.Partition] {
			t.Errorf("partition %d: record %d ran, want %d", r.Partition, r.Offset, next[r.Partition])
		}
		next[r.Partition] = r.Offset + 1
		runs++
		return nil
	})
	defer stop()
	for i := range n {
		b.Send(t, consumetest.Message{ID: fmt.Sprint(i), Lane: i % 2})
	}
	await(t, "all records are settled", func() bool { return b.Unsettled(t) == 0 })
	mu.Lock()
	defer mu.Unlock()
	if runs != n {
		t.Errorf("%d records ran, want %d", runs, n)
	}
}

// A second client joins while handlers of the first run. Each record runs once, and the
// partition that moved goes on at its new owner.
func TestARebalanceWhileHandlersRun(t *testing.T) {
	t.Parallel()
	b := open(t)
	w := interlocktest.New(t)
	var mu sync.Mutex
	runs, owners := map[string]int{}, map[string]bool{}
	entered, leave := make(chan none, 2), make(chan none)
	handle := func(owner string) func(context.Context, *kgo.Record) error {
		return func(_ context.Context, r *kgo.Record) error {
			id := interlockkafka.Header(idHeader)(r)
			mu.Lock()
			runs[id]++
			owners[owner] = true
			mu.Unlock()
			if strings.HasPrefix(id, "slow") {
				entered <- none{}
				<-leave
			}
			return nil
		}
	}
	defer b.run(t, interlocktest.Guard[none](w, policy), handle("first"))()
	for lane := range 2 {
		b.Send(t, consumetest.Message{ID: fmt.Sprint("slow-", lane), Lane: lane})
	}
	<-entered
	<-entered
	defer b.run(t, interlocktest.Guard[none](w, policy), handle("second"))()
	select {
	case <-entered:
		t.Error("a record ran again during the rebalance")
	case <-time.After(time.Second): // lets the rebalance begin; it proves nothing
	}
	close(leave)
	for i := 0; ; i++ { // until the second client owns a partition
		for lane := range 2 {
			b.Send(t, consumetest.Message{ID: fmt.Sprintf("quick-%d-%d", i, lane), Lane: lane})
		}
		await(t, "all offsets are committed", func() bool { return b.Unsettled(t) == 0 })
		mu.Lock()
		both := len(owners) == 2
		mu.Unlock()
		if both {
			break
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for id, n := range runs {
		if n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
}

// Run returns after the running handler, and has committed its record by then.
func TestRunCommitsTheLastRecord(t *testing.T) {
	t.Parallel()
	b := open(t)
	entered, leave := make(chan none), make(chan none)
	c, err := interlockkafka.New(interlocktest.Guard[none](interlocktest.New(t), policy), func(context.Context, *kgo.Record) error {
		close(entered)
		<-leave
		return nil
	}, silent)
	if err != nil {
		t.Fatal(err)
	}
	cl := b.client(t, append(c.Options(), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(time.Hour))...)
	ctx, shutDown := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, cl) }()
	b.Send(t, consumetest.Message{Payload: "one book"})
	<-entered
	shutDown()
	select {
	case err := <-ended:
		close(leave)
		t.Fatalf("Run returned %v while the handler ran", err)
	case <-time.After(300 * time.Millisecond): // lets the shutdown begin; it proves nothing
	}
	close(leave)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := b.Unsettled(t); n != 0 {
		t.Errorf("%d records are not committed", n)
	}
}

func TestParked(t *testing.T) {
	t.Parallel()
	b := open(t)
	var mu sync.Mutex
	var parked []error
	tries := 0
	stop := b.run(t, interlocktest.Guard[none](interlocktest.New(t), policy), func(context.Context, *kgo.Record) error { return nil },
		interlockkafka.Parked(func(_ context.Context, _ *kgo.Record, err error) error {
			mu.Lock()
			defer mu.Unlock()
			if tries++; tries == 1 {
				return errors.New("the topic of parked records is away")
			}
			parked = append(parked, err)
			return nil
		}))
	defer stop()
	b.Send(t, consumetest.Message{ID: "1", Payload: "one book"})
	b.Send(t, consumetest.Message{ID: "1", Payload: "a hundred books"})
	b.Send(t, consumetest.Message{ID: "", Payload: "no ID"})
	await(t, "all records are settled", func() bool { return b.Unsettled(t) == 0 })
	mu.Lock()
	defer mu.Unlock()
	if len(parked) != 2 || !errors.Is(parked[0], guard.ErrMismatch) || !strings.Contains(parked[1].Error(), "no ID") || tries != 3 {
		t.Errorf("parked after %d tries: %v", tries, parked)
	}
}

// An order and its refund may have one ID and one value. The refund must not count as done.
func TestOneIDInTwoTopicsIsNotARepeat(t *testing.T) {
	t.Parallel()
	b := open(t)
	var mu sync.Mutex
	var ran, parked []string
	c, err := interlockkafka.New(interlocktest.Guard[none](interlocktest.New(t), policy), func(_ context.Context, r *kgo.Record) error {
		mu.Lock()
		defer mu.Unlock()
		ran = append(ran, r.Topic)
		return nil
	}, silent, interlockkafka.ID(interlockkafka.Header(idHeader)), interlockkafka.Parked(func(_ context.Context, r *kgo.Record, err error) error {
		mu.Lock()
		defer mu.Unlock()
		if !errors.Is(err, guard.ErrMismatch) {
			t.Errorf("the record is parked with %v", err)
		}
		parked = append(parked, r.Topic)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{topic, otherTopic} {
		r := &kgo.Record{Topic: topic, Value: []byte("1"), Headers: []kgo.RecordHeader{{Key: idHeader, Value: []byte("1")}}}
		if err := b.producer.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	cl := b.client(t, append(c.Options(), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic, otherTopic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, cl) }()
	await(t, "both records are settled", func() bool {
		settled := map[string]bool{}
		for _, offsets := range []map[string]map[int32]kgo.EpochOffset{cl.MarkedOffsets(), cl.CommittedOffsets()} {
			for topic, partitions := range offsets {
				for _, p := range partitions {
					settled[topic] = settled[topic] || p.Offset > 0
				}
			}
		}
		return settled[topic] && settled[otherTopic]
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(ran) != 1 || len(parked) != 1 || ran[0] == parked[0] {
		t.Errorf("records of %v ran, and of %v were parked, want one of each", ran, parked)
	}
}

// Without a header's ID, a record that is delivered again is found by its position.
func TestTheDefaultIDIsThePosition(t *testing.T) {
	t.Parallel()
	b := open(t)
	w := interlocktest.New(t)
	var runs atomic.Int64
	consumeFromStart := func(group string) {
		c, err := interlockkafka.New(interlocktest.Guard[none](w, policy), func(context.Context, *kgo.Record) error { runs.Add(1); return nil }, silent)
		if err != nil {
			t.Fatal(err)
		}
		cl := b.client(t, append(c.Options(), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx, cl) }()
		await(t, "two records are processed", func() bool {
			offset := int64(0)
			for _, partitions := range cl.MarkedOffsets() {
				offset += partitions[0].Offset
			}
			for _, partitions := range cl.CommittedOffsets() {
				offset = max(offset, partitions[0].Offset)
			}
			return offset == 2
		})
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	b.Send(t, consumetest.Message{Payload: "one book"})
	b.Send(t, consumetest.Message{Payload: "one book"})
	consumeFromStart("a")
	if runs.Load() != 2 {
		t.Errorf("%d of 2 records with one content ran", runs.Load())
	}
	consumeFromStart("b") // the same records again
	if runs.Load() != 2 {
		t.Errorf("the records ran %d times after a redelivery, want 2", runs.Load())
	}
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	w := interlocktest.New(t)
	good := interlocktest.Guard[none](w, policy)
	perUser := interlocktest.Guard[none](w, guard.Policy{Name: "per-user"})
	handle := func(context.Context, *kgo.Record) error { return nil }
	for want, make := range map[string]func() (*interlockkafka.Consumer, error){
		"set Scope to guard.Global": func() (*interlockkafka.Consumer, error) { return interlockkafka.New(perUser, handle) },
		"the guard is nil":          func() (*interlockkafka.Consumer, error) { return interlockkafka.New(nil, handle) },
		"the handler is nil":        func() (*interlockkafka.Consumer, error) { return interlockkafka.New(good, nil) },
		"ID: the function is nil": func() (*interlockkafka.Consumer, error) {
			return interlockkafka.New(good, handle, interlockkafka.ID(nil))
		},
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New returned %v, want %q", err, want)
		}
	}
	c, err := interlockkafka.New(good, handle)
	if err != nil {
		t.Fatal(err)
	}
	b := open(t)
	if err := c.Run(t.Context(), b.client(t)); err == nil || !strings.Contains(err.Error(), "no consumer group") {
		t.Errorf("Run without a group returned %v", err)
	}
	if err := c.Run(t.Context(), b.client(t, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic))); err == nil || !strings.Contains(err.Error(), "Options of the consumer") {
		t.Errorf("Run without the options returned %v", err)
	}
}

// A record that the ID function cannot parse does not stop the process.
func TestARecordWhoseIDPanicsIsParked(t *testing.T) {
	t.Parallel()
	b := open(t)
	var ran, parked atomic.Int32
	stop := b.run(t, interlocktest.Guard[none](interlocktest.New(t), policy),
		func(context.Context, *kgo.Record) error { ran.Add(1); return nil },
		interlockkafka.ID(func(r *kgo.Record) string { return strings.Split(string(r.Value), " ")[1] }),
		interlockkafka.Parked(func(_ context.Context, _ *kgo.Record, err error) error {
			if !strings.Contains(err.Error(), "no ID") {
				t.Errorf("the record is parked with %v", err)
			}
			parked.Add(1)
			return nil
		}))
	defer stop()
	b.Send(t, consumetest.Message{Payload: "malformed"})
	b.Send(t, consumetest.Message{Payload: "order 1"})
	await(t, "both records are settled", func() bool { return b.Unsettled(t) == 0 })
	if ran.Load() != 1 || parked.Load() != 1 {
		t.Errorf("%d records ran and %d were parked, want one of each", ran.Load(), parked.Load())
	}
}
