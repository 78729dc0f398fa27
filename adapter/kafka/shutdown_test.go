package interlockkafka_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	interlockkafka "github.com/interlock-go/interlock/adapter/kafka"
	"github.com/interlock-go/interlock/interlocktest"
	"github.com/interlock-go/interlock/internal/adapter/consume/consumetest"
)

// The client has fetched records that the first Run did not process. A second Run would
// continue behind them, and commit their offsets.
func TestASecondRunLosesNoRecord(t *testing.T) {
	t.Parallel()
	b := open(t)
	var mu sync.Mutex
	runs := map[string]int{}
	entered, leave := make(chan none), make(chan none)
	c, err := interlockkafka.New(interlocktest.Guard[none](interlocktest.New(t), policy), func(_ context.Context, r *kgo.Record) error {
		id := interlockkafka.Header(idHeader)(r)
		mu.Lock()
		runs[id]++
		mu.Unlock()
		if id == "0" {
			close(entered)
			<-leave
		}
		return nil
	}, silent)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		b.Send(t, consumetest.Message{ID: fmt.Sprint(i), Payload: "one book"})
	}
	cl := b.client(t, append(c.Options(), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, cl) }()
	<-entered
	stop()
	time.Sleep(300 * time.Millisecond) // lets the shutdown begin; it proves nothing
	close(leave)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	ctx, stop = context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	go func() { ended <- c.Run(ctx, cl) }()
	b.Send(t, consumetest.Message{ID: "last", Payload: "one book"})
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "make a new") {
		t.Errorf("the second Run returned %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if runs["last"] > 0 && runs["4"] == 0 {
		t.Errorf("records were skipped: %v", runs)
	}
}

// A handler still runs while its consumer shuts down, and longer than a rebalance waits. The
// next owner of the partition commits, and the handler's own commit must not go back.
func TestAShutdownDoesNotCommitForTheNextOwner(t *testing.T) {
	t.Parallel()
	b := open(t)
	const n = 3
	for i := range n {
		for lane := range 2 {
			b.Send(t, consumetest.Message{ID: fmt.Sprint(i, lane), Payload: "one book", Lane: lane})
		}
	}
	entered, leave := make(chan none, 2), make(chan none)
	c, err := interlockkafka.New(interlocktest.Guard[none](interlocktest.New(t), policy), func(context.Context, *kgo.Record) error {
		entered <- none{}
		<-leave
		return nil
	}, silent)
	if err != nil {
		t.Fatal(err)
	}
	opts := []kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.HeartbeatInterval(100 * time.Millisecond)}
	cl := b.client(t, append(append(c.Options(), opts...), kgo.RebalanceTimeout(time.Second))...)
	ctx, shutDown := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, cl) }()
	<-entered
	<-entered
	shutDown()
	time.Sleep(300 * time.Millisecond) // lets the shutdown begin; it proves nothing

	next := b.client(t, append(opts, kgo.DisableAutoCommit())...)
	late, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var moved int32
	for got := 0; got < n; {
		for _, r := range next.PollFetches(late).Records() {
			got, moved = got+1, r.Partition
		}
		if late.Err() != nil {
			t.Fatal("no partition moved to the next owner")
		}
	}
	if err := next.CommitUncommittedOffsets(late); err != nil {
		t.Fatal(err)
	}
	close(leave)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := b.offsets(t)[moved]; got != n {
		t.Errorf("the committed offset is %d, want %d", got, n)
	}
}
