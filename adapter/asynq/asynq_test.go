package interlockasynq_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/interlock-go/interlock"
	interlockasynq "github.com/interlock-go/interlock/adapter/asynq"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
	"github.com/interlock-go/interlock/internal/adapter/consume/consumetest"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

type none = struct{}

var policy = guard.Policy{Name: "orders", Scope: guard.Global, Lease: consumetest.Lease}

const taskType = "order:place"

var queues atomic.Int64

// A broker is a queue of its own.
type broker struct {
	redis     asynq.RedisClientOpt
	queue     string
	client    *asynq.Client
	inspector *asynq.Inspector
}

func open(t testing.TB, addr string) *broker {
	t.Helper()
	redis := asynq.RedisClientOpt{Addr: addr}
	b := &broker{redis, fmt.Sprintf("orders-%d", queues.Add(1)), asynq.NewClient(redis), asynq.NewInspector(redis)}
	t.Cleanup(func() {
		_ = b.client.Close()
		_ = b.inspector.Close()
	})
	return b
}

const idHeader = "order-id"

func headerID(_ context.Context, task *asynq.Task) string { return task.Headers()[idHeader] }

func (b *broker) Send(t testing.TB, m consumetest.Message) {
	t.Helper()
	b.enqueue(t, asynq.NewTaskWithHeaders(taskType, []byte(m.Payload), map[string]string{idHeader: m.ID}))
}

func (b *broker) enqueue(t testing.TB, task *asynq.Task, opts ...asynq.Option) {
	t.Helper()
	if _, err := b.client.Enqueue(task, append(opts, asynq.Queue(b.queue))...); err != nil {
		t.Fatal(err)
	}
}

// serve runs a server until stop is called.
func (b *broker) serve(t testing.TB, once asynq.MiddlewareFunc, config asynq.Config, handle asynq.HandlerFunc) (stop func()) {
	t.Helper()
	config.Queues = map[string]int{b.queue: 1}
	config.Concurrency = 4
	config.TaskCheckInterval, config.DelayedTaskCheckInterval = 50*time.Millisecond, 100*time.Millisecond
	config.ShutdownTimeout = time.Minute
	config.LogLevel = asynq.FatalLevel
	mux := asynq.NewServeMux()
	mux.Use(once)
	mux.Handle(taskType, handle)
	srv := asynq.NewServer(b.redis, config)
	if err := srv.Start(mux); err != nil {
		t.Fatal(err)
	}
	return srv.Shutdown
}

func quick(int, error, *asynq.Task) time.Duration { return 100 * time.Millisecond }

func (b *broker) Consume(t testing.TB, client *interlock.Client, p guard.Policy, handle func(context.Context, consumetest.Message) error) func() {
	t.Helper()
	g := guard.Must(guard.New[none](client, p))
	once, err := interlockasynq.Middleware(g, interlockasynq.ID(headerID))
	if err != nil {
		t.Fatal(err)
	}
	stop := b.serve(t, once, interlockasynq.Config(asynq.Config{RetryDelayFunc: quick}), func(ctx context.Context, task *asynq.Task) error {
		return handle(ctx, consumetest.Message{ID: headerID(ctx, task), Payload: string(task.Payload())})
	})
	return func() {
		stop()
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func (b *broker) info(t testing.TB) *asynq.QueueInfo {
	t.Helper()
	info, err := b.inspector.GetQueueInfo(b.queue)
	if errors.Is(err, asynq.ErrQueueNotFound) {
		return &asynq.QueueInfo{}
	}
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func (b *broker) Unsettled(t testing.TB) int {
	t.Helper()
	info := b.info(t)
	return info.Pending + info.Active + info.Scheduled + info.Retry
}

func TestConsumer(t *testing.T) {
	server := redistest.Start(t)
	consumetest.Run(t, func(t testing.TB) consumetest.Broker { return open(t, server.Addr()) })
}

// await polls until the state is as wanted.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	late, tick := time.After(time.Minute), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("timed out: %s", what)
		}
	}
}

// A task that comes too early, or while the engine is down, keeps all its retries.
func TestRetriesWithoutARunDoNotCount(t *testing.T) {
	b := open(t, redistest.Start(t).Addr())
	w := interlocktest.New(t)
	once, err := interlockasynq.Middleware(interlocktest.Guard[none](w, policy))
	if err != nil {
		t.Fatal(err)
	}
	var ran atomic.Int32
	defer b.serve(t, once, interlockasynq.Config(asynq.Config{}), func(context.Context, *asynq.Task) error { ran.Add(1); return nil })()
	w.Fail()
	b.enqueue(t, asynq.NewTask(taskType, nil), asynq.MaxRetry(1), asynq.TaskID("1"))
	await(t, "the task waits for its retry", func() bool { return b.info(t).Retry == 1 })
	info, err := b.inspector.GetTaskInfo(b.queue, "1")
	if err != nil || info.Retried != 0 {
		t.Errorf("the task counts %d retries, want 0; %v", info.Retried, err)
	}
	w.Heal()
	await(t, "the task is settled", func() bool { return b.Unsettled(t) == 0 })
	if ran.Load() != 1 {
		t.Errorf("the task ran %d times", ran.Load())
	}
}

func TestATaskThatMustNotRunIsArchived(t *testing.T) {
	b := open(t, redistest.Start(t).Addr())
	b.Consume(t, interlocktest.New(t).Client(), policy, func(context.Context, consumetest.Message) error { return nil })
	b.Send(t, consumetest.Message{ID: "1", Payload: "one book"})
	await(t, "the task is done", func() bool { return b.Unsettled(t) == 0 })
	b.Send(t, consumetest.Message{ID: "1", Payload: "a hundred books"})
	b.Send(t, consumetest.Message{ID: ""})
	await(t, "two tasks are archived", func() bool { return b.info(t).Archived == 2 })
	tasks, err := b.inspector.ListArchivedTasks(b.queue)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, task := range tasks {
		reasons = append(reasons, task.LastErr)
		if task.Retried != 0 {
			t.Errorf("the task was retried %d times before: %s", task.Retried, task.LastErr)
		}
	}
	if all := strings.Join(reasons, "\n"); !strings.Contains(all, "another payload") || !strings.Contains(all, "has no ID") {
		t.Errorf("the reasons are %s", all)
	}
}

func TestConfigKeepsTheRulesOfItsCaller(t *testing.T) {
	failure, ignored := errors.New("out of stock"), errors.New("ignored")
	c := interlockasynq.Config(asynq.Config{RetryDelayFunc: quick, IsFailure: func(err error) bool { return !errors.Is(err, ignored) }})
	if c.RetryDelayFunc(1, failure, nil) != 100*time.Millisecond || !c.IsFailure(failure) || c.IsFailure(ignored) {
		t.Error("the caller's functions are not used")
	}
	if c := interlockasynq.Config(asynq.Config{}); !c.IsFailure(failure) || c.IsFailure(nil) {
		t.Error("the defaults of asynq are not used")
	}
}

func TestMiddlewareRefusesWhatDoesNotFit(t *testing.T) {
	w := interlocktest.New(t)
	good := interlocktest.Guard[none](w, policy)
	perUser := interlocktest.Guard[none](w, guard.Policy{Name: "per-user"})
	for want, make := range map[string]func() (asynq.MiddlewareFunc, error){
		"set Scope to guard.Global": func() (asynq.MiddlewareFunc, error) { return interlockasynq.Middleware(perUser) },
		"the guard is nil":          func() (asynq.MiddlewareFunc, error) { return interlockasynq.Middleware(nil) },
		"ID: the function is nil":   func() (asynq.MiddlewareFunc, error) { return interlockasynq.Middleware(good, interlockasynq.ID(nil)) },
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Middleware returned %v, want %q", err, want)
		}
	}
}

// asynq archives a task that has used up its retries, whatever IsFailure says.
func TestATaskWithoutRetriesWaitsForItsTurn(t *testing.T) {
	b := open(t, redistest.Start(t).Addr())
	w := interlocktest.New(t)
	var tries, ran atomic.Int32
	once, err := interlockasynq.Middleware(interlocktest.Guard[none](w, policy), interlockasynq.ID(func(context.Context, *asynq.Task) string {
		tries.Add(1)
		return "1"
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer b.serve(t, once, interlockasynq.Config(asynq.Config{}), func(context.Context, *asynq.Task) error { ran.Add(1); return nil })()
	w.Fail()
	b.enqueue(t, asynq.NewTask(taskType, nil), asynq.MaxRetry(0))
	await(t, "the task is tried twice", func() bool { return tries.Load() > 1 || b.info(t).Archived > 0 })
	w.Heal()
	await(t, "the task is settled", func() bool { return b.Unsettled(t) == 0 })
	if n := b.info(t); ran.Load() != 1 || n.Archived != 0 {
		t.Errorf("the task ran %d times, and %d are archived", ran.Load(), n.Archived)
	}
}
