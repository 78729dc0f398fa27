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
	{1, "reply of a fair acquire lost", "retried and recognised; one queue position", func(t *testing.T) {
		p := newFixture(t)
		for range 5 {
			_, hold := p.lock(p.other.Mutex(key, interlock.Fair()))
			mine := p.startWaiter(p.client.Mutex(key, interlock.Fair()))
			before := p.waitForQueue(1)[0]
			p.loseOneReply()
			p.unlock(hold)
			p.proxy.CutAfterRequest() // the reply to a request that may be granted
			got := p.wantGrant(mine, 5*time.Second)
			if got.Holder() != before || p.server.Must("HGET", key, before) != "1" {
				t.Errorf("%s was queued, but %s got the lock", before, got.Holder())
			}
			p.unlock(got)
			p.wantNoKeys(time.Second)
		}
	}},
	{11, "server restarted empty, fair waiters", "waiters queue again and are served one by one", func(t *testing.T) {
		p := newFixture(t)
		ctx, _ := p.lock(p.other.Mutex(key, interlock.Fair(), interlock.Watchdog(3*time.Second)))
		waiting := p.startWaiters(5, func(int) interlock.Locker { return p.client.Mutex(key, interlock.Fair()) })
		p.server.Kill()
		p.server.Restart()
		p.wantLost(ctx, 3*time.Second, interlock.ErrNotHolder)
		p.wantOneByOne(waiting, 5, 10*time.Second)
		p.wantNoKeys(time.Second)
	}},
	{21, "subscribers cut off, fair waiters", "woken by the next poll", func(t *testing.T) {
		p := newFixture(t)
		for range 3 {
			_, hold := p.lock(p.other.Mutex(key, interlock.Fair()))
			mine := p.startWaiter(p.client.Mutex(key, interlock.Fair()))
			p.waitForQueue(1)
			p.cutSubscribers()
			p.unlock(hold)
			p.unlock(p.wantGrant(mine, 1500*time.Millisecond))
		}
	}},
	{25, "queue deleted by another client", "waiters queue again, and all are served", func(t *testing.T) {
		for _, keys := range [][]string{{queueKey}, {timeoutsKey}, {queueKey, timeoutsKey}} {
			p := newFixture(t)
			_, hold := p.lock(p.other.Mutex(key, interlock.Fair()))
			waiting := p.startWaiters(5, func(int) interlock.Locker { return p.client.Mutex(key, interlock.Fair()) })
			p.server.Must(append([]string{"DEL"}, keys...)...)
			p.waitForQueue(5)
			p.unlock(hold)
			p.wantOneByOne(waiting, 5, 5*time.Second)
			p.wantNoKeys(time.Second)
		}
	}},
	{25, "foreign entries in the queue", "removed; no waiter waits for them", func(t *testing.T) {
		p := newFixture(t)
		now := time.Now().UnixMilli()
		_, hold := p.lock(p.other.Mutex(key, interlock.Fair()))
		for i := range 20 { // more than one call removes
			p.server.Must("RPUSH", queueKey, fmt.Sprint("unknown:", i), fmt.Sprint("late:", i), fmt.Sprint("never:", i))
			p.server.Must("ZADD", timeoutsKey, fmt.Sprint(now-1000), fmt.Sprint("late:", i), fmt.Sprint(now+48*3600*1000), fmt.Sprint("never:", i))
		}
		mine := p.startWaiter(p.client.Mutex(key, interlock.Fair()))
		p.eventually(5*time.Second, "the caller waits in the queue", func() bool { return p.server.Must("LLEN", queueKey) != "60" })
		p.unlock(hold)
		p.unlock(p.wantGrant(mine, 1500*time.Millisecond))
		p.wantNoKeys(time.Second)
	}},
	{37, "fair waiter cancelled while its grant is in flight", "the next waiter gets the lock", func(t *testing.T) {
		p := newFixture(t)
		_, hold := p.lock(p.other.Mutex(key, interlock.Fair()))
		ctx, cancel := context.WithCancel(t.Context())
		cancelled := make(chan error, 1)
		go func() {
			_, _, err := p.client.Mutex(key, interlock.Fair()).Lock(ctx)
			cancelled <- err
		}()
		p.waitForQueue(1)
		next := p.startWaiter(p.newClient(p.openEngine(p.server.URL())).Mutex(key, interlock.Fair()))
		first := p.waitForQueue(2)[0]
		p.proxy.Delay(faultnet.Replies, 300*time.Millisecond)
		p.unlock(hold)
		p.eventually(5*time.Second, "the first waiter holds the lock", func() bool { return p.server.Must("HEXISTS", key, first) == "1" })
		cancel()
		if err := <-cancelled; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		p.unlock(p.wantGrant(next, 5*time.Second))
		p.eventually(10*time.Second, "the clean-up is done", func() bool { return p.client.Stats().CleanedUp == 1 })
		p.wantNoKeys(time.Second)
	}},
}

// startWaiter acquires a lock in the background and sends the hold on the channel.
func (p *fixture) startWaiter(lock interlock.Locker) <-chan *interlock.Hold {
	return p.startWaiters(1, func(int) interlock.Locker { return lock })
}

// startWaiters starts n waiters in the background, one behind the other. All send their
// holds on the same channel.
func (p *fixture) startWaiters(n int, lock func(i int) interlock.Locker) <-chan *interlock.Hold {
	p.t.Helper()
	got := make(chan *interlock.Hold, n)
	for i := range n {
		go func() { // ends with the test's context at the latest
			_, hold, err := lock(i).Lock(p.t.Context())
			switch {
			case err == nil:
				got <- hold
			case p.t.Context().Err() == nil:
				p.t.Errorf("Lock: %v", err)
			}
		}()
		if n > 1 {
			p.waitForQueue(i + 1)
		}
	}
	return got
}

// wantGrant returns the hold of a waiter, and fails if none arrives in time.
func (p *fixture) wantGrant(got <-chan *interlock.Hold, within time.Duration) *interlock.Hold {
	p.t.Helper()
	select {
	case hold := <-got:
		return hold
	case <-time.After(within):
		p.t.Fatalf("no waiter got the lock within %v", within)
		return nil
	}
}

// wantOneByOne checks that n waiters get the lock in time, one at a time.
func (p *fixture) wantOneByOne(got <-chan *interlock.Hold, n int, within time.Duration) {
	p.t.Helper()
	for range n {
		hold := p.wantGrant(got, within)
		if holder := p.server.Must("HKEYS", key); !strings.Contains(holder, hold.Holder()) || len(got) > 0 {
			p.t.Errorf("%s got the lock, but the server's holder is %q", hold.Holder(), holder)
		}
		p.unlock(hold)
	}
}

// waitForQueue waits until the queue has n waiters, and returns their holder ids.
func (p *fixture) waitForQueue(n int) (holders []string) {
	p.t.Helper()
	p.eventually(5*time.Second, fmt.Sprint(n, " waiters"), func() bool {
		lock, err := p.other.Inspect(p.t.Context(), key)
		if err != nil {
			p.t.Fatal(err)
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
func (p *fixture) loseOneReply() {
	p.t.Helper()
	before := p.proxy.Connections()
	p.proxy.CutAfterRequest()
	p.eventually(5*time.Second, "a connection was cut and replaced", func() bool { return p.proxy.Connections() > before })
}

// cutSubscribers waits for a subscription and then kills all subscribed connections.
func (p *fixture) cutSubscribers() {
	p.t.Helper()
	p.eventually(5*time.Second, "a client is subscribed", func() bool { return p.server.Must("PUBSUB", "CHANNELS", "*"+key+"*") != "" })
	p.server.Must("CLIENT", "KILL", "TYPE", "pubsub")
}

// wantNoKeys waits until no key of the lock or its queue is left.
func (p *fixture) wantNoKeys(within time.Duration) {
	p.t.Helper()
	var left string
	defer func() {
		if p.t.Failed() {
			p.t.Logf("keys left: %q", left)
		}
	}()
	p.eventually(within, "no key of the lock is left", func() bool {
		left = leftoverKeys(p.server)
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
