// Package consumetest tests the adapters of message brokers. All of them pass one table of
// deliveries and faults, with a real broker and an engine that fails on command.
package consumetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
)

// A Message is sent to a broker. Two messages with one ID are repeats.
type Message struct {
	ID, Payload string
	Lane        int // the partition, if the broker has partitions: 0 or 1
}

// A Broker is a queue that belongs to one test, and the adapter under test.
type Broker interface {
	Send(t testing.TB, m Message)

	// Consume starts a consumer, as a process of its own would, and returns when it gets
	// messages. It makes a guard of p on client. stop shuts the consumer down as a service
	// does, and returns when it has left.
	Consume(t testing.TB, client *interlock.Client, p guard.Policy, handle func(context.Context, Message) error) (stop func())

	// Unsettled returns how many messages the broker will deliver, or deliver again.
	Unsettled(t testing.TB) int
}

// Lease is the lease of all guards in the table.
const Lease = 3 * time.Second

// patience bounds the wait for an event. It is long, because a busy machine is slow.
const patience = 90 * time.Second

// rows are the sentences that hold for every broker.
var rows = []struct {
	name string
	run  func(*fixture)
}{
	{"a message runs once and is settled", runsOnce},
	{"a repeat of a message that was done is settled without running", repeatAfterDone},
	{"a repeat of a running message comes again later, and neither waits nor is settled", repeatWhileRunning},
	{"a handler's error frees the message, and the broker delivers it again", handlerError},
	{"a panic leaves the outcome unknown, and the message runs no more", panics},
	{"a poison message does not block the next message", poison},
	{"a message with an unknown outcome is listed and does not run", unknownIsListed},
	{"with Rerun a message with an unknown outcome runs again", unknownReruns},
	{"nothing runs while the engine is down, and the message runs afterwards", engineDown},
	{"a lost claim ends the handler's context, and the message is not settled as done", lostClaim},
	{"another payload under the same ID does not run", mismatch},
	{"a shutdown waits for a running handler, and its message does not run again", shutdown},
}

// Run checks every row against brokers that open returns. It prints how many rows passed.
func Run(t *testing.T, open func(t testing.TB) Broker) {
	var passed atomic.Int64
	t.Cleanup(func() { t.Logf("%d of %d cases passed", passed.Load(), len(rows)) })
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				if !t.Failed() && !t.Skipped() {
					passed.Add(1)
				}
			})
			row.run(newFixture(t, open(t)))
		})
	}
}

// A fixture is one row's broker, engine and handler.
type fixture struct {
	t      testing.TB
	broker Broker
	world  *interlocktest.World
	policy guard.Policy

	mu       sync.Mutex
	runs     map[string]int
	verdicts map[guard.Verdict]int
}

func newFixture(t testing.TB, b Broker) *fixture {
	return &fixture{t: t, broker: b, world: interlocktest.New(t),
		policy: guard.Policy{Name: "orders", Scope: guard.Global, Lease: Lease},
		runs:   map[string]int{}, verdicts: map[guard.Verdict]int{}}
}

// consume starts a consumer that counts runs, and stops it when the test ends.
func (f *fixture) consume(handle func(ctx context.Context, m Message, run int) error) (stop func()) {
	f.t.Helper()
	client := f.world.Client(guard.TraceGuards(&guard.Trace{Checked: func(c guard.Checked) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.verdicts[c.Verdict]++
	}}))
	stop = sync.OnceFunc(f.broker.Consume(f.t, client, f.policy, func(ctx context.Context, m Message) error {
		f.mu.Lock()
		f.runs[m.ID]++
		run := f.runs[m.ID]
		f.mu.Unlock()
		return handle(ctx, m, run)
	}))
	f.t.Cleanup(stop)
	return stop
}

func (f *fixture) send(ms ...Message) {
	f.t.Helper()
	for _, m := range ms {
		f.broker.Send(f.t, m)
	}
}

// wait waits until the state that got describes is want.
func (f *fixture) wait(what string, want string, got func() string) {
	f.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for got() != want {
		select {
		case <-tick.C:
		case <-late:
			f.t.Fatalf("%s: %s, want %s; verdicts %v, runs %v", what, got(), want, f.verdicts, f.runs)
		}
	}
}

func (f *fixture) waitSettled() {
	f.t.Helper()
	f.wait("messages at the broker", "0", func() string { return fmt.Sprint(f.broker.Unsettled(f.t)) })
}

// staysUnsettled checks that the broker keeps n messages. A message that is settled wrongly
// is so at once, because its verdict is known; the pause is for the way to the broker.
func (f *fixture) staysUnsettled(n int) {
	f.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 10 {
		if got := f.broker.Unsettled(f.t); got != n {
			f.t.Fatalf("%d messages at the broker, want %d", got, n)
		}
		<-tick.C
	}
}

// waitVerdict waits for the first answer of that kind.
func (f *fixture) waitVerdict(v guard.Verdict) {
	f.t.Helper()
	f.wait("the verdict "+string(v), "true", func() string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return fmt.Sprint(f.verdicts[v] > 0)
	})
}

func (f *fixture) waitRuns(id string, n int) {
	f.t.Helper()
	f.wait("runs of "+id, fmt.Sprint(n), func() string { return fmt.Sprint(f.ran(id)) })
}

func (f *fixture) ran(id string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs[id]
}

// check compares the number of runs.
func (f *fixture) check(id string, want int) {
	f.t.Helper()
	if got := f.ran(id); got != want {
		f.t.Errorf("%s ran %d times, want %d", id, got, want)
	}
}

// states returns the states of all records.
func (f *fixture) states() string {
	f.t.Helper()
	records, err := guard.NewRecords(f.world.Client())
	if err != nil {
		f.t.Fatal(err)
	}
	page, _, err := records.From(f.t.Context(), guard.Pattern(f.policy.Name), "")
	if err != nil {
		f.t.Fatal(err)
	}
	var states []string
	for _, r := range page {
		states = append(states, fmt.Sprint(r.State))
	}
	return fmt.Sprint(states)
}

func (f *fixture) waitStates(want string) {
	f.t.Helper()
	f.wait("the records", want, f.states)
}

// within receives from c, or fails the test.
func (f *fixture) within(what string, c <-chan struct{}) {
	f.t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		f.t.Fatalf("timed out: %s; verdicts %v, runs %v", what, f.verdicts, f.runs)
	}
}

var order = Message{ID: "order-1", Payload: "one book"}

func succeed(context.Context, Message, int) error { return nil }

func runsOnce(f *fixture) {
	f.consume(succeed)
	f.send(order)
	f.waitRuns(order.ID, 1)
	f.waitSettled()
	f.waitStates("[done]")
	f.check(order.ID, 1)
}

func repeatAfterDone(f *fixture) {
	f.consume(succeed)
	f.send(order)
	f.waitSettled()
	f.send(order)
	f.waitVerdict(guard.Replayed)
	f.waitSettled()
	f.check(order.ID, 1)
}

func repeatWhileRunning(f *fixture) {
	entered, leave := make(chan struct{}), make(chan struct{})
	handle := func(_ context.Context, _ Message, run int) error {
		if run == 1 {
			close(entered)
			<-leave
		}
		return nil
	}
	f.consume(handle)
	f.consume(handle)
	release := sync.OnceFunc(func() { close(leave) })
	f.t.Cleanup(release) // should the test fail before
	repeat := order
	repeat.Lane = 1
	f.send(order)
	f.within("the first delivery runs", entered)
	f.send(repeat)
	f.waitVerdict(guard.Refused)
	f.staysUnsettled(2)
	f.check(order.ID, 1)
	release()
	f.waitSettled()
	f.check(order.ID, 1)
	f.waitStates("[done]")
}

func handlerError(f *fixture) {
	f.consume(func(_ context.Context, _ Message, run int) error {
		if run == 1 {
			return errors.New("out of stock")
		}
		return nil
	})
	f.send(order)
	f.waitRuns(order.ID, 2)
	f.waitSettled()
	f.waitStates("[done]")
	f.check(order.ID, 2)
}

func panics(f *fixture) {
	f.consume(func(context.Context, Message, int) error { panic("a bug in the handler") })
	f.send(order)
	f.waitVerdict(guard.UnknownBefore)
	f.waitSettled()
	f.waitStates("[unknown]")
	f.check(order.ID, 1)
}

func poison(f *fixture) {
	f.consume(func(_ context.Context, m Message, _ int) error {
		if m.ID == order.ID {
			panic("a bug in the handler")
		}
		return nil
	})
	next := Message{ID: "order-2", Payload: "two books"}
	f.send(order, next)
	f.waitRuns(next.ID, 1)
	f.waitSettled()
	f.check(order.ID, 1)
	f.check(next.ID, 1)
}

// leaveUnknown makes an unknown outcome, as a process does that dies.
func (f *fixture) leaveUnknown() {
	f.t.Helper()
	f.consume(func(context.Context, Message, int) error {
		return guard.OutcomeUnknown(errors.New("no reply from the bank"))
	})
	f.send(order)
	f.waitStates("[unknown]")
	f.waitSettled()
}

func unknownIsListed(f *fixture) {
	f.leaveUnknown()
	f.check(order.ID, 1)
	f.send(order)
	f.wait("unknown outcomes that were found", "true", func() string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return fmt.Sprint(f.verdicts[guard.UnknownBefore] >= 2) // the first delivery's own, and the second message
	})
	f.waitSettled()
	f.check(order.ID, 1)
	f.waitStates("[unknown]")
}

func unknownReruns(f *fixture) {
	f.policy.OnUnknown = guard.Rerun
	f.consume(func(_ context.Context, _ Message, run int) error {
		if run == 1 {
			return guard.OutcomeUnknown(errors.New("no reply from the bank"))
		}
		return nil
	})
	f.send(order)
	f.waitRuns(order.ID, 2)
	f.waitSettled()
	f.waitStates("[done]")
}

func engineDown(f *fixture) {
	f.consume(succeed)
	f.world.Fail()
	f.send(order)
	f.waitVerdict(guard.Down)
	f.staysUnsettled(1)
	f.check(order.ID, 0)
	f.world.Heal()
	f.waitRuns(order.ID, 1)
	f.waitSettled()
	f.check(order.ID, 1)
}

func lostClaim(f *fixture) {
	entered, ended := make(chan struct{}), make(chan error, 1)
	f.consume(func(ctx context.Context, _ Message, _ int) error {
		close(entered)
		select {
		case <-ctx.Done():
		case <-time.After(patience):
		}
		ended <- context.Cause(ctx)
		return ctx.Err()
	})
	f.send(order)
	f.within("the message runs", entered)
	f.world.Fail(interlocktest.RenewClaim)
	if err := <-ended; !errors.Is(err, interlock.ErrLost) {
		f.t.Errorf("the context ended with %v, want a lost claim", err)
	}
	f.world.Heal()
	f.waitVerdict(guard.UnknownBefore) // it was delivered again
	f.waitSettled()
	f.check(order.ID, 1)
	f.waitStates("[unknown]")
}

func mismatch(f *fixture) {
	f.consume(succeed)
	f.send(order)
	f.waitSettled()
	f.send(Message{ID: order.ID, Payload: "a hundred books"})
	f.waitVerdict(guard.Mismatch)
	f.waitSettled()
	f.check(order.ID, 1)
}

func shutdown(f *fixture) {
	entered, leave := make(chan struct{}), make(chan struct{})
	atEnd := make(chan error, 1)
	stop := f.consume(func(ctx context.Context, _ Message, _ int) error {
		close(entered)
		<-leave
		atEnd <- ctx.Err()
		return nil
	})
	release := sync.OnceFunc(func() { close(leave) })
	f.t.Cleanup(release) // should the test fail before
	f.send(order)
	f.within("the message runs", entered)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	select {
	case <-stopped:
		f.t.Error("the consumer left while its handler ran")
	case <-time.After(300 * time.Millisecond): // lets the shutdown begin; it proves nothing
	}
	release()
	if err := <-atEnd; err != nil {
		f.t.Errorf("the shutdown ended the handler's context: %v", err)
	}
	f.within("the consumer leaves", stopped)
	f.waitStates("[done]")
	f.consume(func(context.Context, Message, int) error { return nil })
	f.waitSettled()
	f.check(order.ID, 1)
}
