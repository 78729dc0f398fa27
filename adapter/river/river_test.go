package interlockriver_test

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/interlock-go/interlock"
	interlockriver "github.com/interlock-go/interlock/adapter/river"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
	"github.com/interlock-go/interlock/internal/adapter/consume/consumetest"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

type none = struct{}

var policy = guard.Policy{Name: "orders", Scope: guard.Global, Lease: consumetest.Lease}

// A broker is a database of its own.
type broker struct {
	database *postgrestest.Database
	pool     *pgxpool.Pool
	inserter *river.Client[pgxTx]
}

func open(t testing.TB) *broker {
	t.Helper()
	b := &broker{database: postgrestest.Start(t)}
	b.pool = b.connect(t)
	m, err := rivermigrate.New(riverpgxv5.New(b.pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = m.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	}
	if err == nil {
		b.inserter, err = river.NewClient(riverpgxv5.New(b.pool), &river.Config{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *broker) connect(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), b.database.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// An order is a job. Two jobs with one OrderID are repeats.
type order struct{ OrderID, Payload string }

func (order) Kind() string { return "order" }

func (b *broker) Send(t testing.TB, m consumetest.Message) {
	t.Helper()
	metadata := []byte(`{"order": ` + strconv.Quote(m.ID) + `}`)
	if _, err := b.inserter.Insert(t.Context(), order{m.ID, m.Payload}, &river.InsertOpts{Metadata: metadata}); err != nil {
		t.Fatal(err)
	}
}

// soon retries at once.
type soon struct{}

func (soon) NextRetry(*rivertype.JobRow) time.Time { return time.Now() }

// work runs a client until stop is called.
func (b *broker) work(t testing.TB, once rivertype.WorkerMiddleware, handle func(context.Context, *river.Job[order]) error) (stop func()) {
	t.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(handle))
	c, err := river.NewClient(riverpgxv5.New(b.connect(t)), &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}}, Workers: workers, Middleware: []rivertype.Middleware{once},
		FetchPollInterval: 100 * time.Millisecond, FetchCooldown: 50 * time.Millisecond, RetryPolicy: soon{}, JobTimeout: -1, TestOnly: true,
		Logger: slog.New(slog.DiscardHandler),
	})
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
	}
}

func (b *broker) Consume(t testing.TB, client *interlock.Client, p guard.Policy, handle func(context.Context, consumetest.Message) error) func() {
	t.Helper()
	g := guard.Must(guard.New[none](client, p))
	once, err := interlockriver.Middleware(g, interlockriver.ID(func(job *rivertype.JobRow) string {
		_, id, _ := strings.Cut(string(job.Metadata), `"order": "`)
		id, _, _ = strings.Cut(id, `"`)
		return id
	}))
	if err != nil {
		t.Fatal(err)
	}
	stop := b.work(t, once, func(ctx context.Context, job *river.Job[order]) error {
		return handle(ctx, consumetest.Message{ID: job.Args.OrderID, Payload: job.Args.Payload})
	})
	return func() {
		stop()
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func (b *broker) count(t testing.TB, where string) (n int) {
	t.Helper()
	if err := b.pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE "+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (b *broker) Unsettled(t testing.TB) int {
	t.Helper()
	return b.count(t, "state NOT IN ('completed', 'cancelled', 'discarded')")
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

func middleware(t testing.TB, w *interlocktest.World) rivertype.WorkerMiddleware {
	t.Helper()
	once, err := interlockriver.Middleware(interlocktest.Guard[none](w, policy))
	if err != nil {
		t.Fatal(err)
	}
	return once
}

func TestAJobThatSnoozesRunsAgain(t *testing.T) {
	t.Parallel()
	b := open(t)
	var runs atomic.Int32
	defer b.work(t, middleware(t, interlocktest.New(t)), func(context.Context, *river.Job[order]) error {
		if runs.Add(1) == 1 {
			return river.JobSnooze(0)
		}
		return nil
	})()
	b.Send(t, consumetest.Message{ID: "1"})
	await(t, "the job completes", func() bool { return b.count(t, "state = 'completed'") == 1 })
	if runs.Load() != 2 {
		t.Errorf("the job ran %d times, want 2", runs.Load())
	}
}

func TestAJobThatDidNotRunKeepsItsAttempts(t *testing.T) {
	t.Parallel()
	b, w := open(t), interlocktest.New(t)
	var runs atomic.Int32
	defer b.work(t, middleware(t, w), func(context.Context, *river.Job[order]) error { runs.Add(1); return nil })()
	w.Fail()
	if _, err := b.inserter.Insert(t.Context(), order{}, &river.InsertOpts{MaxAttempts: 1}); err != nil {
		t.Fatal(err)
	}
	await(t, "the job is snoozed", func() bool { return b.count(t, "(metadata->'snoozes')::int > 0") == 1 })
	w.Heal()
	await(t, "the job completes", func() bool { return b.count(t, "state = 'completed'") == 1 })
	if runs.Load() != 1 {
		t.Errorf("the job ran %d times, want once", runs.Load())
	}
}

func TestAJobThatMustNotRunIsCanceled(t *testing.T) {
	t.Parallel()
	b := open(t)
	stop := b.Consume(t, interlocktest.New(t).Client(), policy, func(context.Context, consumetest.Message) error { return nil })
	defer stop()
	b.Send(t, consumetest.Message{ID: "1", Payload: "one book"})
	await(t, "the job is done", func() bool { return b.Unsettled(t) == 0 })
	b.Send(t, consumetest.Message{ID: "1", Payload: "a hundred books"})
	b.Send(t, consumetest.Message{ID: ""})
	await(t, "two jobs are canceled", func() bool { return b.count(t, "state = 'cancelled'") == 2 })
	if b.count(t, "errors::text LIKE '%another payload%'") != 1 || b.count(t, "errors::text LIKE '%has no ID%'") != 1 {
		t.Error("the jobs do not name their reasons")
	}
}

func TestMiddlewareRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	w := interlocktest.New(t)
	good := interlocktest.Guard[none](w, policy)
	perUser := interlocktest.Guard[none](w, guard.Policy{Name: "per-user"})
	keeps := interlocktest.Guard[none](w, guard.Policy{Name: "keeps-errors", Scope: guard.Global, OnError: guard.Keep})
	for want, make := range map[string]func() (rivertype.WorkerMiddleware, error){
		"set Scope to guard.Global": func() (rivertype.WorkerMiddleware, error) { return interlockriver.Middleware(perUser) },
		"set OnError to guard.Free": func() (rivertype.WorkerMiddleware, error) { return interlockriver.Middleware(keeps) },
		"the guard is nil":          func() (rivertype.WorkerMiddleware, error) { return interlockriver.Middleware(nil) },
		"ID: the function is nil": func() (rivertype.WorkerMiddleware, error) {
			return interlockriver.Middleware(good, interlockriver.ID(nil))
		},
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Middleware returned %v, want %q", err, want)
		}
	}
}
