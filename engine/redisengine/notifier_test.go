package redisengine_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func listen(t *testing.T, e *redisengine.Engine, key string) <-chan struct{} {
	t.Helper()
	wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: key})
	t.Cleanup(stop)
	awaitWake(t, wake)
	return wake
}

// noWake checks that there is no wake-up for a while.
func noWake(t *testing.T, wake <-chan struct{}) {
	t.Helper()
	select {
	case <-wake:
		t.Error("a wake-up came, want none")
	case <-time.After(200 * time.Millisecond):
	}
}

func TestLostSubscriber(t *testing.T) {
	t.Parallel()

	t.Run("a killed subscriber subscribes again, and wakes all waiters", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := open(t, s)
		first, second := listen(t, e, "one"), listen(t, e, "two")
		for range 3 {
			s.Must("CLIENT", "KILL", "TYPE", "pubsub")
			awaitWake(t, first)
			awaitWake(t, second)
		}
		s.Must("PUBLISH", channelOf("two"), "0")
		awaitWake(t, second)
		noWake(t, first)
	})

	t.Run("a forbidden channel does not silence the others", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Must("ACL", "SETUSER", "shop", "on", ">pw", "~*", "+@all", "resetchannels", "&redisson_lock__channel:*")
		e := openURL(t, "redis://shop:pw@"+s.Addr())
		wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: "k"})
		defer stop()
		awaitWake(t, wake)
		connection := s.Must("CLIENT", "LIST", "TYPE", "pubsub")
		_, stopWatch := e.Watch("me")
		defer stopWatch()
		eventually(t, "the server refuses the channel", func() bool { return strings.Contains(s.Must("ACL", "LOG"), "interlock_client:me") })
		s.Must("PUBLISH", "redisson_lock__channel:{k}", "0")
		awaitWake(t, wake)
		if id, _, _ := strings.Cut(connection, " "); !strings.HasPrefix(s.Must("CLIENT", "LIST", "TYPE", "pubsub"), id+" ") {
			t.Error("the connection was closed")
		}
		// A new connection subscribes to all channels with one command.
		s.Must("CLIENT", "KILL", "TYPE", "pubsub")
		awaitWake(t, wake)
		s.Must("PUBLISH", "redisson_lock__channel:{k}", "0")
		awaitWake(t, wake)
	})

	t.Run("a subscriber reconnects to a restarted server", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := open(t, s)
		wake := listen(t, e, "k")
		s.Kill()
		noWake(t, wake)
		s.Restart()
		awaitWake(t, wake)
		s.Must("PUBLISH", channelOf("k"), "0")
		awaitWake(t, wake)
	})

	t.Run("a subscriber closes a connection that has become silent", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		p := faultnet.New(t, s.Addr())
		e := openURL(t, "redis://"+p.Addr()+"?timeout=300ms")
		wake := listen(t, e, "k")
		before := p.Connections()
		p.BlackHole(faultnet.Replies, true)
		eventually(t, "the subscriber opens another connection", func() bool { return p.Connections() > before+1 })
		p.BlackHole(faultnet.Replies, false)
		awaitWake(t, wake)
		s.Must("PUBLISH", channelOf("k"), "0")
		awaitWake(t, wake)
	})

	t.Run("a waiter that begins while the connection is lost is woken after the reconnect", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		p := faultnet.New(t, s.Addr())
		e := openURL(t, "redis://"+p.Addr())
		first := listen(t, e, "first")
		p.Refuse(true)
		p.Reset()
		noWake(t, first)
		second, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: "second"})
		defer stop()
		noWake(t, second)
		p.Refuse(false)
		awaitWake(t, first)
		awaitWake(t, second)
	})
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	subscribers := func(key string) string {
		_, n, _ := strings.Cut(s.Must("PUBSUB", "NUMSUB", channelOf(key)), "\n")
		return n
	}

	t.Run("many waiters for one lock share a subscription, until the last has left", func(t *testing.T) {
		t.Parallel()
		var stops []func()
		for range 10 {
			wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: key(t)})
			awaitWake(t, wake)
			stops = append(stops, stop)
		}
		if n := subscribers(key(t)); n != "1" {
			t.Errorf("%s subscriptions, want 1", n)
		}
		for _, stop := range stops[1:] {
			stop()
		}
		<-time.After(2500 * time.Millisecond) // longer than unsubscribeDelay and its ticker
		if n := subscribers(key(t)); n != "1" {
			t.Errorf("%s subscriptions while one waits, want 1", n)
		}
		stops[0]()
		eventually(t, "the subscription ends", func() bool { return subscribers(key(t)) == "0" })
		listen(t, e, key(t)) // a new subscription works
	})

	t.Run("an idle subscription of this process is not counted as a listener", func(t *testing.T) {
		t.Parallel()
		r := request(t, ann, "a")
		wake, stop := e.Capabilities().Notifier.Notify(r)
		awaitWake(t, wake)
		stop()
		granted(t, e, r)
		released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
	})

	t.Run("a forged message causes a wake-up and nothing else", func(t *testing.T) {
		t.Parallel()
		r := request(t, ann, "a")
		granted(t, e, r)
		wake := listen(t, e, r.Key)
		for _, payload := range []string{"0", "1", "", "nonsense", strings.Repeat("x", 1<<20)} {
			s.Must("PUBLISH", channelOf(r.Key), payload)
			awaitWake(t, wake)
			busy(t, e, request(t, bob, "b"))
		}
		renewed(t, e, r, nil)
	})

	t.Run("waiters for five hundred locks share one connection", func(t *testing.T) {
		t.Parallel()
		wakes := make([]<-chan struct{}, 500)
		for i := range wakes {
			wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: fmt.Sprint(key(t), i)})
			defer stop()
			wakes[i] = wake
		}
		for _, wake := range wakes {
			awaitWake(t, wake)
		}
		for i, wake := range wakes {
			s.Must("PUBLISH", channelOf(fmt.Sprint(key(t), i)), "0")
			awaitWake(t, wake)
		}
		if n := strings.Count(s.Must("CLIENT", "LIST", "TYPE", "pubsub"), "name=interlock"); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

// Not parallel: it counts goroutines.
func TestNothingIsLeftRunning(t *testing.T) {
	s := redistest.Start(t)
	before := runtime.NumGoroutine()
	for range 5 {
		e, err := redisengine.Open(context.Background(), s.URL())
		if err != nil {
			t.Fatal(err)
		}
		wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: "k"})
		awaitWake(t, wake)
		stop()
		s.Must("CLIENT", "KILL", "TYPE", "pubsub")
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		// The goroutines of rueidis end a little later.
		if all := stacks(); strings.Contains(strings.ReplaceAll(all, "redisengine.(*greetedConn)", ""), "redisengine.(*") {
			t.Fatalf("goroutines of the engine run after Close:\n%s", all)
		}
	}
	eventually(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

func stacks() string {
	b := make([]byte, 1<<20)
	return string(b[:runtime.Stack(b, true)])
}

// Not parallel: it counts allocations. Calls that a busy machine delays allocate more, so
// the best of several rounds counts.
func TestAllocations(t *testing.T) {
	s := redistest.Start(t)
	e := open(t, s)
	r := request(t, ann, "a")
	n := math.Inf(1)
	for round := 0; round < 50 && n > 1; round++ {
		n = min(n, testing.AllocsPerRun(100, func() {
			if _, err := e.Acquire(context.Background(), r); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Release(context.Background(), r); err != nil {
				t.Fatal(err)
			}
		}))
	}
	if !raceEnabled && n > 1 {
		t.Errorf("acquire and release allocate %v times, want at most once", n)
	}
}

// A slowClient has a listener that closes slowly.
type slowClient struct {
	broken
	listener slowListener
}

func (c slowClient) Listen(context.Context, redisengine.PublishMode, func(string)) (redisengine.Listener, error) {
	close(c.listener.opened)
	return c.listener, nil
}

type slowListener struct{ opened, closing, mayClose chan struct{} }

func (l slowListener) Subscribe(context.Context, []string) error   { return nil }
func (l slowListener) Unsubscribe(context.Context, []string) error { return nil }
func (l slowListener) Lost() <-chan error                          { return nil }

func (l slowListener) Close() error {
	close(l.closing)
	<-l.mayClose
	return nil
}

func TestCloseWaitsForTheSubscriber(t *testing.T) {
	t.Parallel()
	l := slowListener{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	e := redisengine.On(slowClient{listener: l})
	_, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: "k"})
	defer stop()
	<-l.opened
	closed := make(chan error)
	go func() { closed <- e.Close() }()
	<-l.closing
	select {
	case <-closed:
		close(l.mayClose)
		t.Fatal("Close did not wait for the listener")
	case <-time.After(100 * time.Millisecond):
	}
	close(l.mayClose)
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
}
