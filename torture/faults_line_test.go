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

// The two keys in which Redis has the line of a fair lock.
const queueKey, placesKey = "redisson_lock_queue:{" + key + "}", "redisson_lock_timeout:{" + key + "}"

// Rows with waiters for a fair lock.
var lineRows = []row{
	{1, "reply of a fair acquire lost", "asked again, recognised, one place in line", func(t *testing.T) {
		p := newPlace(t)
		for range 5 {
			_, hold := p.lock(p.other.Mutex(key, interlock.Fair()))
			mine := p.waits(p.client.Mutex(key, interlock.Fair()))
			before := p.inLine(1)[0]
			p.cutOnce()
			p.unlock(hold)
			p.net.CutAfterRequest() // the next one may be granted
			got := p.served(mine, 5*time.Second)
			if got.Holder() != before || p.server.Must("HGET", key, before) != "1" {
				t.Errorf("%s was in line, and %s has the lock", before, got.Holder())
			}
			p.unlock(got)
			p.wantNothing(time.Second)
		}
	}},
	{11, "server restarted empty, fair waiters", "they line up anew, and go one by one", func(t *testing.T) {
		p := newPlace(t)
		ctx, _ := p.lock(p.other.Mutex(key, interlock.Fair(), interlock.Watchdog(3*time.Second)))
		waiting := p.lineOf(5, func(int) interlock.Locker { return p.client.Mutex(key, interlock.Fair()) })
		p.server.Kill()
		p.server.Restart()
		p.wantLost(ctx, 3*time.Second, interlock.ErrNotHolder)
		p.oneByOne(waiting, 5, 10*time.Second)
		p.wantNothing(time.Second)
	}},
	{21, "subscribers cut off, fair waiters", "woken all the same, within a poll", func(t *testing.T) {
		p := newPlace(t)
		for range 3 {
			_, hold := p.lock(p.other.Mutex(key, interlock.Fair()))
			mine := p.waits(p.client.Mutex(key, interlock.Fair()))
			p.inLine(1)
			p.deafened()
			p.unlock(hold)
			p.unlock(p.served(mine, 1500*time.Millisecond))
		}
	}},
	{25, "queue deleted by another client", "waiters queue again, and all are served", func(t *testing.T) {
		for _, keys := range [][]string{{queueKey}, {placesKey}, {queueKey, placesKey}} {
			p := newPlace(t)
			_, hold := p.lock(p.other.Mutex(key, interlock.Fair()))
			waiting := p.lineOf(5, func(int) interlock.Locker { return p.client.Mutex(key, interlock.Fair()) })
			p.server.Must(append([]string{"DEL"}, keys...)...)
			p.inLine(5)
			p.unlock(hold)
			p.oneByOne(waiting, 5, 5*time.Second)
			p.wantNothing(time.Second)
		}
	}},
	{25, "foreign entries in the queue", "removed; no waiter waits for them", func(t *testing.T) {
		p := newPlace(t)
		now := time.Now().UnixMilli()
		_, hold := p.lock(p.other.Mutex(key, interlock.Fair()))
		for i := range 20 { // more than one look finds
			p.server.Must("RPUSH", queueKey, fmt.Sprint("nobody:", i), fmt.Sprint("late:", i), fmt.Sprint("never:", i))
			p.server.Must("ZADD", placesKey, fmt.Sprint(now-1000), fmt.Sprint("late:", i), fmt.Sprint(now+48*3600*1000), fmt.Sprint("never:", i))
		}
		mine := p.waits(p.client.Mutex(key, interlock.Fair()))
		p.soon(5*time.Second, "the caller waits in the queue", func() bool { return p.server.Must("LLEN", queueKey) != "60" })
		p.unlock(hold)
		p.unlock(p.served(mine, 1500*time.Millisecond))
		p.wantNothing(time.Second)
	}},
	{37, "fair waiter gone while its grant is on the way", "passed on to the next", func(t *testing.T) {
		p := newPlace(t)
		_, hold := p.lock(p.other.Mutex(key, interlock.Fair()))
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, _, err := p.client.Mutex(key, interlock.Fair()).Lock(ctx)
			gone <- err
		}()
		p.inLine(1)
		next := p.waits(p.use(p.open(p.server.URL())).Mutex(key, interlock.Fair()))
		first := p.inLine(2)[0]
		p.net.Delay(faultnet.Replies, 300*time.Millisecond)
		p.unlock(hold)
		p.soon(5*time.Second, "the first waiter holds the lock", func() bool { return p.server.Must("HEXISTS", key, first) == "1" })
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was cancelled", err)
		}
		p.unlock(p.served(next, 5*time.Second))
		p.soon(10*time.Second, "the clean-up is done", func() bool { return p.client.Stats().CleanedUp == 1 })
		p.wantNothing(time.Second)
	}},
}

// waits waits for a lock in the background, and sends the hold when it has it.
func (p *place) waits(lock interlock.Locker) <-chan *interlock.Hold {
	return p.lineOf(1, func(int) interlock.Locker { return lock })
}

// lineOf has some wait for locks in the background, one behind the other, who all
// send their holds to the same channel.
func (p *place) lineOf(n int, lock func(i int) interlock.Locker) <-chan *interlock.Hold {
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
			p.inLine(i + 1)
		}
	}
	return got
}

// served returns the hold of a waiter, and fails if it does not come in time.
func (p *place) served(got <-chan *interlock.Hold, within time.Duration) *interlock.Hold {
	p.t.Helper()
	select {
	case hold := <-got:
		return hold
	case <-time.After(within):
		p.t.Fatalf("not served within %v", within)
		return nil
	}
}

// oneByOne demands that n who wait are served in time, never two at once.
func (p *place) oneByOne(got <-chan *interlock.Hold, n int, within time.Duration) {
	p.t.Helper()
	for range n {
		hold := p.served(got, within)
		if holder := p.server.Must("HKEYS", key); !strings.Contains(holder, hold.Holder()) || len(got) > 0 {
			p.t.Errorf("%s was let in, and %q holds the lock", hold.Holder(), holder)
		}
		p.unlock(hold)
	}
}

// inQueue waits until n stand in line, and returns who they are.
func (p *place) inLine(n int) (names []string) {
	p.t.Helper()
	p.soon(5*time.Second, fmt.Sprint(n, " waiters"), func() bool {
		lock, err := p.other.Inspect(p.t.Context(), key)
		if err != nil {
			p.t.Fatal(err)
		}
		names = nil
		for _, w := range lock.Waiters {
			names = append(names, w.Holder)
		}
		return len(names) == n
	})
	return names
}

// cutOnce loses the reply to the next request, and waits until it has.
func (p *place) cutOnce() {
	p.t.Helper()
	before := p.net.Connections()
	p.net.CutAfterRequest()
	p.soon(5*time.Second, "a connection was cut, and there is another", func() bool { return p.net.Connections() > before })
}

// deafened cuts off all listeners, after the first one subscribes.
func (p *place) deafened() {
	p.t.Helper()
	p.soon(5*time.Second, "a client listens", func() bool { return p.server.Must("PUBSUB", "CHANNELS", "*"+key+"*") != "" })
	p.server.Must("CLIENT", "KILL", "TYPE", "pubsub")
}

// wantNothing checks that nothing is left of the lock, nor of its line, soon.
func (p *place) wantNothing(within time.Duration) {
	p.t.Helper()
	var left string
	defer func() {
		if p.t.Failed() {
			p.t.Logf("left: %q", left)
		}
	}()
	p.soon(within, "nothing is left of the lock", func() bool {
		left = remains(p.server)
		return left == ""
	})
}

// remains returns the keys on a server but those that are to last: of clients, of
// attempts given up, and of fences.
func remains(server *redistest.Server) string {
	lasting := []string{"interlock_client:", "interlock_abandoned:", "redisson_lock_token:"}
	var left []string
	for name := range strings.FieldsSeq(server.Must("KEYS", "*")) {
		if !slices.ContainsFunc(lasting, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			left = append(left, name)
		}
	}
	return strings.Join(left, " ")
}
