package interlockkafka_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/interlock-go/interlock"
	interlockkafka "github.com/interlock-go/interlock/adapter/kafka"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/adapter/consume/consumetest"
)

// 1,000 records with one ID in their header reach three processes at the same time, and one of
// them runs the handler.
func TestStorm(t *testing.T) {
	consumetest.Storm(t, func(ctx context.Context, url string) (engine.Engine, error) { return redisengine.Open(ctx, url) },
		openStorm, joinStorm)
}

// stormPartitions is enough for all consumers of the three processes.
const stormPartitions = 12

// A stormBroker is a topic that several processes consume.
type stormBroker struct{ *broker }

func openStorm(t testing.TB, _ string) consumetest.StormBroker {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(stormPartitions, topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	b := &broker{addrs: cluster.ListenAddrs()}
	b.producer = b.client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	return stormBroker{b}
}

func (b stormBroker) Address() string { return strings.Join(b.addrs, " ") }

func joinStorm(_ testing.TB, address string) consumetest.StormBroker {
	return stormBroker{&broker{addrs: strings.Fields(address)}}
}

// Publish spreads the records over all partitions, when each consumer has its own.
func (b stormBroker) Publish(t testing.TB, m consumetest.Message, n int) {
	t.Helper()
	await(t, "the consumers share all partitions", func() bool { return b.assigned(t) == stormPartitions })
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % stormPartitions), Value: []byte(m.Payload), //nolint:gosec // less than 12
			Headers: []kgo.RecordHeader{{Key: idHeader, Value: []byte(m.ID)}}})
	}
	if err := b.producer.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// Consume logs parked records, unlike that of broker.
func (b stormBroker) Consume(t testing.TB, client *interlock.Client, p guard.Policy, handle func(context.Context, consumetest.Message) error) func() {
	t.Helper()
	return b.run(t, guard.Must(guard.New[none](client, p)), func(ctx context.Context, r *kgo.Record) error {
		return handle(ctx, consumetest.Message{ID: interlockkafka.Header(idHeader)(r), Payload: string(r.Value)})
	}, interlockkafka.Logger(slog.Default()))
}

// assigned returns how many partitions are assigned when all consumers have one, and otherwise
// 0. Kafka has then no reason to move a partition.
func (b stormBroker) assigned(t testing.TB) (partitions int) {
	t.Helper()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(t.Context(), b.producer)
	if err != nil {
		t.Fatal(err)
	}
	g := resp.Groups[0]
	if g.State != "Stable" || len(g.Members) < consumetest.Consumers {
		return 0
	}
	for _, m := range g.Members {
		var a kmsg.ConsumerMemberAssignment
		if err := a.ReadFrom(m.MemberAssignment); err != nil {
			t.Fatal(err)
		}
		if len(a.Topics) == 0 {
			return 0
		}
		partitions += len(a.Topics[0].Partitions)
	}
	return partitions
}

// Settled returns how many records are before the committed offsets.
func (b stormBroker) Settled(t testing.TB) (n int) {
	t.Helper()
	for _, offset := range b.offsets(t) {
		n += int(max(0, offset))
	}
	return n
}
