package consumers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/child"
)

// A job is the task of a child process. A child process is this test binary with the job in
// its environment.
type job struct {
	Do        string // a key of jobs
	Redis     string // host and port
	NATS      string // URL
	Port      int    // of the NATS server
	Dir       string // of the NATS server
	Process   string // the name of the process
	OnUnknown guard.OnUnknown
}

const jobVariable = "INTERLOCK_TORTURE_CONSUMER"

var jobs = map[string]func(job) error{
	"nats-server":   serveNATS,
	"nats":          consumeNATS,
	"redis-streams": consumeRedisStreams,
}

func TestMain(m *testing.M) {
	text, ok := os.LookupEnv(jobVariable)
	if !ok {
		os.Exit(m.Run())
	}
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = jobs[j.Do](j)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// start runs j in a child process, which is killed when the test ends.
func start(t *testing.T, j job) *child.Process {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	return child.Self(t, nil, jobVariable+"="+string(text))
}

// The names in Redis that the test reads: effects counts the effect of each message by its ID;
// begun counts the handlers that each process began; asked counts the resolver's calls.
const (
	effects = "test:effects"
	begun   = "test:begun"
	asked   = "test:asked"
)

const (
	guardName = "orders"
	lease     = time.Second // short, so that a killed process's messages come again soon
)

// An account is where the effects of messages are.
type account struct {
	job job
	db  *redis.Client
}

// handle has the effect of a message, with pauses in which the process may be killed.
func (a *account) handle(ctx context.Context, id string) error {
	if err := a.db.HIncrBy(ctx, begun, a.job.Process, 1).Err(); err != nil {
		return guard.NotExecuted(err)
	}
	time.Sleep(rand.N(20 * time.Millisecond)) //nolint:forbidigo // the work
	if err := a.db.HIncrBy(ctx, effects, id, 1).Err(); err != nil {
		return guard.OutcomeUnknown(err)
	}
	time.Sleep(rand.N(20 * time.Millisecond)) //nolint:forbidigo // the work
	return nil
}

// happened looks for the effect of a message.
func (a *account) happened(ctx context.Context, id string) (bool, error) {
	if err := a.db.Incr(ctx, asked).Err(); err != nil {
		return false, err
	}
	return a.db.HExists(ctx, effects, id).Result()
}

// newGuard returns the guard of a consumer. name is what the adapter puts before a message's ID.
func newGuard[T any](a *account, name string) (*guard.Guard[T], error) {
	e, err := redisengine.Open(context.Background(), "redis://"+a.job.Redis)
	if err != nil {
		return nil, err
	}
	policy := guard.Policy{Name: guardName, Scope: guard.Global, Lease: lease, OnUnknown: a.job.OnUnknown}
	var opts []guard.Option
	if policy.OnUnknown == guard.Resolve {
		opts = append(opts, guard.Resolver(func(ctx context.Context, key guard.Key) (none T, _ bool, _ error) {
			happened, err := a.happened(ctx, key.ID[len(name):])
			return none, happened, err
		}))
	}
	return guard.New[T](interlock.New(e), policy, opts...)
}

func newAccount(j job) *account {
	return &account{j, redis.NewClient(&redis.Options{Addr: j.Redis})}
}
