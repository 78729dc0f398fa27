package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/kafka"
)

// kafkaRow is the row of franz-go. Our adapter needs a client of it, and the client a broker: one
// in this process, which makes up records.
const kafkaRow = "franz-go, broker in the process"

// handleKafka waits for one record after the other. The handler runs in a goroutine of the
// consumer.
func handleKafka(_ context.Context, client *interlock.Client) (keyed, func(), error) {
	handled, stop := make(chan struct{}), make(chan struct{})
	handle := func(context.Context, *kgo.Record) error {
		select {
		case handled <- struct{}{}:
		case <-stop:
		}
		return nil
	}
	consume, opts := consumeBare(handle), []kgo.Opt{kgo.AutoCommitMarks()}
	if client != nil {
		once, err := interlockkafka.New(messageGuard[struct{}](client), handle)
		if err != nil {
			return nil, nil, err
		}
		consume, opts = once.Run, once.Options()
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"),
		kfake.SyntheticFetch(kfake.SyntheticBatch{Records: 1000, RecordBytes: len(requestBody)}))
	if err != nil {
		return nil, nil, err
	}
	conn, err := kgo.NewClient(append(opts, kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumerGroup("bench"), kgo.ConsumeTopics("orders"))...)
	if err != nil {
		cluster.Close()
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { // until cancel
		defer close(ended)
		_ = consume(ctx, conn)
	}()
	return func(ctx context.Context, _ string) error {
		select {
		case <-handled:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, func() { close(stop); cancel(); <-ended; conn.CloseAllowingRebalance(); cluster.Close() }, nil
}

// consumeBare handles records one after the other until ctx is done.
func consumeBare(handle func(context.Context, *kgo.Record) error) func(context.Context, *kgo.Client) error {
	return func(ctx context.Context, conn *kgo.Client) error {
		for ctx.Err() == nil {
			for r := range conn.PollFetches(ctx).RecordsAll() {
				if err := handle(ctx, r); err != nil {
					return err
				}
				conn.MarkCommitRecords(r)
			}
		}
		return nil
	}
}
