package consumers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/child"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// A queue is a broker that the test publishes to.
type queue interface {
	job() job
	publish(t *testing.T, id string)
	unsettled(t *testing.T) int
	name() string // the prefix of a message's ID
}

// kills returns how many consumers the test kills.
func kills() int {
	if testing.Short() {
		return 20
	}
	return 200
}

const (
	consumers = 3
	backlog   = 3 * consumers    // messages that the test keeps at the broker
	patience  = 10 * time.Minute // a limit for the whole, on a slow machine
)

func TestRedisStreams(t *testing.T) { testKills(t, newStream) }

func TestNATS(t *testing.T) { testKills(t, newJetStream) }

// testKills kills consumers with SIGKILL while they work, and then lets the others finish.
func testKills(t *testing.T, open func(*testing.T, *redistest.Server) queue) {
	t.Run("hold: no effect happens twice, and the unknown list has the rest", func(t *testing.T) {
		r := newRun(t, open, guard.Hold)
		r.kill(kills())
		r.finish()
		r.checkHeld()
	})
	t.Run("resolve: every effect happens once", func(t *testing.T) {
		r := newRun(t, open, guard.Resolve)
		r.kill(kills())
		r.finish()
		r.checkResolved()
	})
}

// A run is one broker with its consumers.
type run struct {
	t         *testing.T
	queue     queue
	db        *redis.Client
	client    *interlock.Client
	job       job
	processes []*child.Process
	names     []string // of the processes
	started   int
	published int
}

func newRun(t *testing.T, open func(*testing.T, *redistest.Server) queue, onUnknown guard.OnUnknown) *run {
	t.Helper()
	server := redistest.Start(t)
	r := &run{t: t, queue: open(t, server), db: redis.NewClient(&redis.Options{Addr: server.Addr()})}
	t.Cleanup(func() { _ = r.db.Close() })
	e, err := redisengine.Open(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	r.client = interlock.New(e)
	r.job = r.queue.job()
	r.job.Redis, r.job.OnUnknown = server.Addr(), onUnknown
	for range consumers {
		r.processes, r.names = append(r.processes, nil), append(r.names, "")
	}
	for i := range consumers {
		r.start(i)
	}
	return r
}

func (r *run) start(i int) {
	r.t.Helper()
	r.started++
	r.names[i] = strconv.Itoa(r.started)
	j := r.job
	j.Process = r.names[i]
	r.processes[i] = start(r.t, j)
}

// kill kills n processes, each after it has begun a handler.
func (r *run) kill(n int) {
	r.t.Helper()
	for range n {
		i := rand.IntN(consumers)
		r.await("process "+r.names[i]+" handles a message", func() bool {
			if !r.processes[i].Running() {
				r.t.Fatalf("the process ended by itself:\n%s", r.processes[i].Log())
			}
			r.supply()
			began, err := r.db.HGet(r.t.Context(), begun, r.names[i]).Int()
			return err == nil && began > 0
		})
		<-time.After(rand.N(60 * time.Millisecond)) // any phase of a message
		r.processes[i].Kill()
		r.start(i)
	}
}

// supply publishes messages if the consumers have few left.
func (r *run) supply() {
	r.t.Helper()
	for n := r.queue.unsettled(r.t); n < backlog; n++ {
		r.published++
		r.queue.publish(r.t, fmt.Sprintf("order-%d", r.published))
	}
}

// finish waits until the broker has no message left.
func (r *run) finish() {
	r.t.Helper()
	r.await("all messages are settled", func() bool { return r.queue.unsettled(r.t) == 0 })
}

func (r *run) await(what string, ok func() bool) {
	r.t.Helper()
	late, tick := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			r.t.Fatalf("timed out: %s", what)
		}
	}
}

// effect returns how often a message had its effect.
func (r *run) effect(id string) int {
	r.t.Helper()
	n, err := r.db.HGet(r.t.Context(), effects, id).Int()
	if err != nil && err != redis.Nil { //nolint:errorlint // the client returns it bare
		r.t.Fatal(err)
	}
	return n
}

// states returns the states of all records by their stored keys.
func (r *run) states() map[string]engine.State {
	r.t.Helper()
	records, err := guard.NewRecords(r.client)
	if err != nil {
		r.t.Fatal(err)
	}
	states := map[string]engine.State{}
	for cursor := ""; ; {
		page, next, err := records.From(r.t.Context(), guard.Pattern(guardName), cursor)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, record := range page {
			states[record.Key] = record.State
		}
		if cursor = next; next == "" {
			return states
		}
	}
}

// each calls check with the effects and the record's state of each message.
func (r *run) each(check func(id string, effects int, state engine.State)) {
	r.t.Helper()
	states := r.states()
	for i := range r.published {
		id := fmt.Sprintf("order-%d", i+1)
		key, err := guard.StoredKey(guardName, guard.Global, guard.ID(r.queue.name()+id))
		if err != nil {
			r.t.Fatal(err)
		}
		check(id, r.effect(id), states[key])
	}
}

// checkHeld checks that each message is done with one effect, or is in the unknown list
// with one effect or none.
func (r *run) checkHeld() {
	r.t.Helper()
	unknown, without := 0, 0
	r.each(func(id string, effects int, state engine.State) {
		switch {
		case state == engine.Done && effects == 1:
		case state == engine.Unknown && effects <= 1:
			unknown++
			without += 1 - effects
		default:
			r.t.Errorf("%s has %d effects, and its record is %v", id, effects, state)
		}
	})
	r.t.Logf("%d messages, %d kills: %d outcomes unknown, %d of them without an effect", r.published, r.started-consumers, unknown, without)
	if floor := (r.started - consumers) / 10; unknown < floor {
		r.t.Errorf("the kills hit too few handlers: %d outcomes unknown, want %d", unknown, floor)
	}
	if !testing.Short() && (without == 0 || without == unknown) { // with few kills, that may be chance
		r.t.Errorf("the kills hit one phase: of %d outcomes unknown, %d are without an effect", unknown, without)
	}
}

// checkResolved checks that each message is done with one effect.
func (r *run) checkResolved() {
	r.t.Helper()
	r.each(func(id string, effects int, state engine.State) {
		if effects != 1 || state != engine.Done {
			r.t.Errorf("%s has %d effects, and its record is %v", id, effects, state)
		}
	})
	calls, err := r.db.Get(context.Background(), asked).Int()
	r.t.Logf("%d messages, %d kills: the resolver was asked %d times", r.published, r.started-consumers, calls)
	if floor := (r.started - consumers) / 10; err != nil || calls < floor {
		r.t.Errorf("the kills hit too few handlers: the resolver was asked %d times, want %d; %v", calls, floor, err)
	}
}
