package interlockriver_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/interlock-go/interlock"
	interlockriver "github.com/interlock-go/interlock/adapter/river"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/adapter/consume/consumetest"
)

// 1,000 jobs with one order reach three processes at the same time, and one of them works it.
func TestStorm(t *testing.T) {
	consumetest.Storm(t, func(ctx context.Context, url string) (engine.Engine, error) { return redisengine.Open(ctx, url) },
		func(t testing.TB, _ string) consumetest.StormBroker {
			b := open(t)
			return stormBroker{b, b.database.URL()}
		},
		func(_ testing.TB, url string) consumetest.StormBroker { return stormBroker{url: url} })
}

// A stormBroker is a database whose jobs several processes work.
type stormBroker struct {
	*broker // nil in these processes
	url     string
}

func (b stormBroker) Address() string { return b.url }

func (b stormBroker) Publish(t testing.TB, m consumetest.Message, n int) {
	t.Helper()
	jobs := make([]river.InsertManyParams, n)
	for i := range jobs {
		jobs[i].Args = order{m.ID, m.Payload}
	}
	if _, err := b.inserter.InsertMany(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
}

func (b stormBroker) Consume(t testing.TB, client *interlock.Client, p guard.Policy, handle func(context.Context, consumetest.Message) error) func() {
	t.Helper()
	once, err := interlockriver.Middleware(guard.Must(guard.New[none](client, p)), interlockriver.ID(orderID))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(context.Background(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[order]) error {
		return handle(ctx, consumetest.Message{ID: job.Args.OrderID, Payload: job.Args.Payload})
	}))
	c, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 20}},
		Workers: workers, Middleware: []rivertype.Middleware{once}, JobTimeout: -1, TestOnly: true, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = c.Start(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		pool.Close()
	}
}

func orderID(job *rivertype.JobRow) string {
	var o order
	_ = json.Unmarshal(job.EncodedArgs, &o)
	return o.OrderID
}

// Settled returns how many jobs are completed. Canceled and discarded jobs do not count.
func (b stormBroker) Settled(t testing.TB) int { t.Helper(); return b.count(t, "state = 'completed'") }
