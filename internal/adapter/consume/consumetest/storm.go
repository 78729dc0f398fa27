package consumetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/child"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// A StormBroker is a queue that several processes consume.
type StormBroker interface {
	// Address tells the processes where the queue is.
	Address() string

	// Publish sends a message n times. All processes consume by then.
	Publish(t testing.TB, m Message, n int)

	// Consume is that of [Broker].
	Consume(t testing.TB, client *interlock.Client, p guard.Policy, handle func(context.Context, Message) error) (stop func())

	// Settled returns how many messages the broker will not deliver again. Messages that were
	// set aside do not count, if the broker knows them. Otherwise the adapter logs to slog's
	// default logger that such a message "is parked".
	Settled(t testing.TB) int
}

// Consumers is how often the processes of [Storm] call Consume in all.
const Consumers = processes * consumers

const (
	duplicates = 1000
	processes  = 3
	consumers  = 3 // of each process, so that it handles several messages at the same time

	stormPatience = 5 * time.Minute // a limit for each event, on a slow machine
)

var stormPolicy = guard.Policy{Name: "orders", Scope: guard.Global, Lease: 6 * time.Second}

// The environment of a process of Storm: its name, the address of Redis and that of the broker.
const (
	stormProcess = "CONSUMETEST_PROCESS"
	stormRedis   = "CONSUMETEST_REDIS"
	stormAddress = "CONSUMETEST_BROKER"
)

// An openEngine opens the engine at a URL.
type openEngine = func(ctx context.Context, url string) (engine.Engine, error)

// Storm publishes one message 1,000 times to three processes that share a Redis. One delivery
// runs, while each process gets a duplicate, and all 1,000 are settled. open makes the queue,
// which may be on that Redis; join returns the queue at an address, in one of the processes.
// The processes are the test's own program, which calls Storm in a test without subtests.
func Storm(t *testing.T, engineAt openEngine, open func(t testing.TB, redis string) StormBroker, join func(t testing.TB, address string) StormBroker) {
	child.SkipIfShort(t, "it starts three processes")
	if process := os.Getenv(stormProcess); process != "" {
		consumeStorm(t, process, engineAt, join)
		return
	}
	redis := redistest.Start(t)
	s := &storm{T: t, broker: open(t, redis.Addr()), count: counters(redis.Addr())}
	for i := range processes {
		s.started = append(s.started, child.Self(t, []string{"-test.run=^" + t.Name() + "$", "-test.count=1"},
			stormProcess+"="+processName(i), stormRedis+"="+redis.Addr(), stormAddress+"="+s.broker.Address()))
	}
	s.await("all processes consume", func() bool { return s.count.read(t, consuming) == processes })
	s.broker.Publish(t, order, duplicates)
	s.await("all messages are settled", func() bool { return s.broker.Settled(t) == duplicates })
	for _, p := range s.started {
		if err := p.End(); err != nil {
			t.Error(err)
		}
		if strings.Contains(p.Log(), "is parked") {
			t.Errorf("a message was parked:\n%s", p.Log())
		}
	}
	t.Logf("%d duplicates over %d processes: %s", duplicates, processes, s.count.all(t))
	s.check()
	s.checkRecord(redis.URL(), engineAt)
}

// A storm is the test that starts the processes.
type storm struct {
	*testing.T
	broker  StormBroker
	count   counters
	started []*child.Process
}

// await waits until ok returns true, while all processes run and the message takes effect at
// most once.
func (s *storm) await(what string, ok func() bool) {
	s.Helper()
	late, tick := time.After(stormPatience), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if n := s.count.read(s.T, effect); n > 1 {
			s.Fatalf("the message took effect %d times before this: %s", n, what)
		}
		for _, p := range s.started {
			if !p.Running() {
				s.Fatalf("process %d ended before this: %s", p.Pid(), what)
			}
		}
		select {
		case <-tick.C:
		case <-late:
			s.Fatalf("timed out: %s; %d messages are settled; %s", what, s.broker.Settled(s.T), s.count.all(s.T))
		}
	}
}

// check checks what the processes have counted, after they have ended.
func (s *storm) check() {
	s.Helper()
	if n := s.broker.Settled(s.T); n != duplicates {
		s.Errorf("%d messages are settled after the processes have ended, want %d", n, duplicates)
	}
	if n := s.count.read(s.T, effect); n != 1 {
		s.Errorf("the message took effect %d times, want once", n)
	}
	for i := range processes {
		if s.count.read(s.T, processName(i)) == 0 {
			s.Errorf("%s got no duplicate while the message ran", processName(i))
		}
	}
	if ran, replayed := s.count.read(s.T, string(guard.Granted)), s.count.read(s.T, string(guard.Replayed)); ran != 1 || replayed < duplicates-1 {
		s.Errorf("%d deliveries ran and %d were found done, want 1 and at least %d", ran, replayed, duplicates-1)
	}
	for _, v := range []guard.Verdict{guard.Mismatch, guard.UnknownBefore, guard.FailedBefore, guard.NoResult} {
		if n := s.count.read(s.T, string(v)); n != 0 {
			s.Errorf("%d deliveries got the verdict %s, and were set aside", n, v)
		}
	}
}

// checkRecord checks that there is one record, and that it is done.
func (s *storm) checkRecord(url string, engineAt openEngine) {
	s.Helper()
	e, err := engineAt(s.Context(), url)
	if err != nil {
		s.Fatal(err)
	}
	client := interlock.New(e)
	defer closeClient(s.T, client)
	records, err := guard.NewRecords(client)
	if err != nil {
		s.Fatal(err)
	}
	var found []guard.Record
	for cursor, more := "", true; more; more = cursor != "" {
		var page []guard.Record
		if page, cursor, err = records.From(s.Context(), guard.Pattern(stormPolicy.Name), cursor); err != nil {
			s.Fatal(err)
		}
		found = append(found, page...)
	}
	if len(found) != 1 || found[0].State != engine.Done {
		s.Errorf("the records are %+v, want one that is done", found)
	}
}

func processName(i int) string { return fmt.Sprintf("process-%d", i+1) }

func closeClient(t *testing.T, client *interlock.Client) {
	t.Helper()
	if err := client.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// consumeStorm is one of the processes. It ends with its standard input.
func consumeStorm(t *testing.T, process string, engineAt openEngine, join func(testing.TB, string) StormBroker) {
	e, err := engineAt(t.Context(), "redis://"+os.Getenv(stormRedis))
	if err != nil {
		t.Fatal(err)
	}
	count := counters(os.Getenv(stormRedis))
	client := interlock.New(e, guard.TraceGuards(&guard.Trace{Checked: func(c guard.Checked) {
		count.add(t, string(c.Verdict))
		if c.Verdict == guard.Refused {
			count.add(t, process)
		}
	}}))
	defer closeClient(t, client)
	broker := join(t, os.Getenv(stormAddress))
	for range consumers {
		defer broker.Consume(t, client, stormPolicy, func(ctx context.Context, _ Message) error {
			count.add(t, effect)
			return count.awaitDuplicates(ctx, t)
		})()
	}
	count.add(t, consuming)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// counters are the counters of all processes, in the Redis at an address. Each command has its
// own connection. A process's name counts its duplicates while the message runs, and a verdict
// the deliveries that got it.
type counters string

const (
	consuming = "consuming" // processes
	effect    = "effect"
)

// add adds one to a counter.
func (c counters) add(t testing.TB, name string) { c.by(t, name, 1) }

// read returns the value of a counter.
func (c counters) read(t testing.TB, name string) int { return c.by(t, name, 0) }

// by adds n to a counter, and returns its new value.
func (c counters) by(t testing.TB, name string, n int) (value int) {
	conn, err := net.DialTimeout("tcp", string(c), stormPatience)
	if err == nil {
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "INCRBY storm:%s %d\r\n", name, n)
	}
	if err == nil {
		_, err = fmt.Fscanf(bufio.NewReader(conn), ":%d", &value)
	}
	if err != nil {
		t.Errorf("counting %s in Redis: %v", name, err)
	}
	return value
}

// all describes the counters.
func (c counters) all(t testing.TB) string {
	names := []string{effect}
	for _, v := range []guard.Verdict{guard.Granted, guard.Replayed, guard.Refused, guard.UnknownBefore, guard.Down} {
		names = append(names, string(v))
	}
	for i := range processes {
		names = append(names, processName(i))
	}
	for i, name := range names {
		names[i] = fmt.Sprint(name, " ", c.read(t, name))
	}
	return strings.Join(names, ", ")
}

// awaitDuplicates holds the delivery that runs until each process has got a duplicate.
func (c counters) awaitDuplicates(ctx context.Context, t testing.TB) error {
	late, tick := time.After(stormPatience), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for i := range processes {
		for c.read(t, processName(i)) == 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-late:
				return guard.OutcomeUnknown(errors.New(processName(i) + " got no duplicate"))
			}
		}
	}
	return nil
}
