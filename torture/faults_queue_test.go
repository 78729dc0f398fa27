package torture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// The two Redis keys that store the queue of a fair lock.
const queueKey, timeoutsKey = "redisson_lock_queue:{" + key + "}", "redisson_lock_timeout:{" + key + "}"

// Rows with waiters for a fair lock.
var queueRows = []row{
	{1, "reply of a fair acquire lost", "the request is retried and recognised; the waiter keeps its one queue position", func(t *testing.T) {
		f := newFixture(t)
		for range 5 {
			_, hold := f.lock(f.other.Mutex(key, interlock.Fair()))
			waiter := f.startWaiter(f.client.Mutex(key, interlock.Fair()))
			before := f.waitForQueue(1)[0]
			f.loseOneReply()
			f.unlock(hold)
			f.proxy.CutAfterRequest() // the reply to a request that may be granted
			got := f.wantGrant(waiter, 5*time.Second)
			if got.Holder() != before || f.server.Must("HGET", key, before) != "1" {
				t.Errorf("%s got the lock, want %s, which was first in the queue", got.Holder(), before)
			}
			f.unlock(got)
			f.wantNoKeys(time.Second)
		}
	}},
	{11, "server restarted empty, fair waiters", "waiters queue again and are served one by one", func(t *testing.T) {
		f := newFixture(t)
		ctx, _ := f.lock(f.other.Mutex(key, interlock.Fair(), interlock.Watchdog(3*time.Second)))
		waiting := f.startWaiters(5, func(int) interlock.Locker { return f.client.Mutex(key, interlock.Fair()) })
		f.server.Kill()
		f.server.Restart()
		f.wantLost(ctx, 3*time.Second, interlock.ErrNotHolder)
		f.wantOneByOne(waiting, 5, 10*time.Second)
		f.wantNoKeys(time.Second)
	}},
	{21, "subscribers cut off, fair waiters", "the waiter gets the lock at its next poll", func(t *testing.T) {
		f := newFixture(t)
		for range 3 {
			_, hold := f.lock(f.other.Mutex(key, interlock.Fair()))
			waiter := f.startWaiter(f.client.Mutex(key, interlock.Fair()))
			f.waitForQueue(1)
			f.cutSubscribers()
			f.unlock(hold)
			f.unlock(f.wantGrant(waiter, 1500*time.Millisecond))
		}
	}},
	{25, "queue deleted by another client", "waiters queue again, and all are served", func(t *testing.T) {
		for _, keys := range [][]string{{queueKey}, {timeoutsKey}, {queueKey, timeoutsKey}} {
			f := newFixture(t)
			_, hold := f.lock(f.other.Mutex(key, interlock.Fair()))
			waiting := f.startWaiters(5, func(int) interlock.Locker { return f.client.Mutex(key, interlock.Fair()) })
			f.server.Must(append([]string{"DEL"}, keys...)...)
			f.waitForQueue(5)
			f.unlock(hold)
			f.wantOneByOne(waiting, 5, 5*time.Second)
			f.wantNoKeys(time.Second)
		}
	}},
	{25, "foreign entries in the queue", "the entries are removed; no waiter waits for them", func(t *testing.T) {
		f := newFixture(t)
		now := time.Now().UnixMilli()
		_, hold := f.lock(f.other.Mutex(key, interlock.Fair()))
		for i := range 20 { // more entries than one call removes
			f.server.Must("RPUSH", queueKey, fmt.Sprint("unknown:", i), fmt.Sprint("late:", i), fmt.Sprint("never:", i))
			f.server.Must("ZADD", timeoutsKey, fmt.Sprint(now-1000), fmt.Sprint("late:", i), fmt.Sprint(now+48*3600*1000), fmt.Sprint("never:", i))
		}
		waiter := f.startWaiter(f.client.Mutex(key, interlock.Fair()))
		f.eventually(5*time.Second, "the caller waits in the queue", func() bool { return f.server.Must("LLEN", queueKey) != "60" })
		f.unlock(hold)
		f.unlock(f.wantGrant(waiter, 1500*time.Millisecond))
		f.wantNoKeys(time.Second)
	}},
	{37, "fair waiter cancelled while its grant is in flight", "the next waiter gets the lock", func(t *testing.T) {
		f := newFixture(t)
		_, hold := f.lock(f.other.Mutex(key, interlock.Fair()))
		ctx, cancel := context.WithCancel(t.Context())
		cancelled := make(chan error, 1)
		go func() {
			_, _, err := f.client.Mutex(key, interlock.Fair()).Lock(ctx)
			cancelled <- err
		}()
		f.waitForQueue(1)
		next := f.startWaiter(f.newClient(f.openEngine(f.server.URL())).Mutex(key, interlock.Fair()))
		first := f.waitForQueue(2)[0]
		f.proxy.Delay(faultnet.Replies, 300*time.Millisecond)
		f.unlock(hold)
		f.eventually(5*time.Second, "the first waiter holds the lock", func() bool { return f.server.Must("HEXISTS", key, first) == "1" })
		cancel()
		if err := <-cancelled; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		f.unlock(f.wantGrant(next, 5*time.Second))
		f.eventually(10*time.Second, "the clean-up is done", func() bool { return f.client.Stats().CleanedUp == 1 })
		f.wantNoKeys(time.Second)
	}},
}

// startWaiter acquires a lock in the background and sends the hold on the channel.
func (f *fixture) startWaiter(lock interlock.Locker) <-chan *interlock.Hold {
	return f.startWaiters(1, func(int) interlock.Locker { return lock })
}

// startWaiters starts n waiters in the background, one behind the other. All send their
// holds on the same channel.
func (f *fixture) startWaiters(n int, lock func(i int) interlock.Locker) <-chan *interlock.Hold {
	f.t.Helper()
	got := make(chan *interlock.Hold, n)
	for i := range n {
		go func() { // ends with the test's context at the latest
			_, hold, err := lock(i).Lock(f.t.Context())
			switch {
			case err == nil:
				got <- hold
			case f.t.Context().Err() == nil:
				f.t.Errorf("Lock: %v", err)
			}
		}()
		if n > 1 {
			f.waitForQueue(i + 1)
		}
	}
	return got
}

// wantGrant returns the hold of a waiter, and fails if none arrives in time.
func (f *fixture) wantGrant(got <-chan *interlock.Hold, within time.Duration) *interlock.Hold {
	f.t.Helper()
	select {
	case hold := <-got:
		return hold
	case <-time.After(within):
		f.t.Fatalf("no waiter got the lock within %v", within)
		return nil
	}
}

// wantOneByOne checks that n waiters get the lock in time, one at a time.
func (f *fixture) wantOneByOne(got <-chan *interlock.Hold, n int, within time.Duration) {
	f.t.Helper()
	for range n {
		hold := f.wantGrant(got, within)
		if holder := f.server.Must("HKEYS", key); !strings.Contains(holder, hold.Holder()) || len(got) > 0 {
			f.t.Errorf("%s got the lock, but the server's holder is %q, or a second waiter got it", hold.Holder(), holder)
		}
		f.unlock(hold)
	}
}

// waitForQueue waits until the queue has n waiters, and returns their holder ids.
func (f *fixture) waitForQueue(n int) (holders []string) {
	f.t.Helper()
	f.eventually(5*time.Second, fmt.Sprint(n, " waiters"), func() bool {
		lock, err := f.other.Inspect(f.t.Context(), key)
		if err != nil {
			f.t.Fatal(err)
		}
		holders = nil
		for _, w := range lock.Waiters {
			holders = append(holders, w.Holder)
		}
		return len(holders) == n
	})
	return holders
}

// loseOneReply cuts the connection after the next request and waits for a new one.
func (f *fixture) loseOneReply() {
	f.t.Helper()
	before := f.proxy.Connections()
	f.proxy.CutAfterRequest()
	f.eventually(5*time.Second, "a connection was cut and replaced", func() bool { return f.proxy.Connections() > before })
}

// cutSubscribers waits for a subscription and then kills all subscribed connections.
func (f *fixture) cutSubscribers() {
	f.t.Helper()
	f.eventually(5*time.Second, "a client is subscribed", func() bool { return f.server.Must("PUBSUB", "CHANNELS", "*"+key+"*") != "" })
	f.server.Must("CLIENT", "KILL", "TYPE", "pubsub")
}

// wantNoKeys waits until no key of the lock or its queue is left.
func (f *fixture) wantNoKeys(within time.Duration) {
	f.t.Helper()
	var left string
	defer func() {
		if f.t.Failed() {
			f.t.Logf("the server still has the keys %q", left)
		}
	}()
	f.eventually(within, "no key of the lock is left", func() bool {
		left = leftoverKeys(f.server)
		return left == ""
	})
}

// leftoverKeys returns the keys on a server. It omits those that outlive a lock: clients,
// abandoned attempts and fence counters.
func leftoverKeys(server *redistest.Server) string {
	lasting := []string{"interlock_client:", "interlock_abandoned:", "redisson_lock_token:"}
	var left []string
	for name := range strings.FieldsSeq(server.Must("KEYS", "*")) {
		if !slices.ContainsFunc(lasting, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			left = append(left, name)
		}
	}
	return strings.Join(left, " ")
}
