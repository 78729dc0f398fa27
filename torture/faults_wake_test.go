package torture

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// Rows about waking waiters.
var wakeRows = []row{
	{21, "subscribers cut off", "the waiter gets the lock at its next poll", func(t *testing.T) {
		f := newFixture(t)
		for range 5 {
			_, hold := f.lock(f.other.Mutex(key))
			got := make(chan *interlock.Hold, 1)
			go func() {
				_, hold := f.lock(f.client.Mutex(key))
				got <- hold
			}()
			f.eventually(5*time.Second, "a client is subscribed", func() bool { return f.subscribers() == 1 })
			f.server.Must("CLIENT", "KILL", "TYPE", "pubsub")
			start := time.Now()
			f.unlock(hold)
			select {
			case ownHold := <-got:
				f.unlock(ownHold)
			case <-time.After(2 * time.Second):
				t.Fatal("the waiter did not get the lock within 2s")
			}
			if d := time.Since(start); d > 1500*time.Millisecond {
				t.Errorf("the waiter got the lock after %v, want at most 1.5s", d)
			}
		}
	}},
	{21, "a forged message (PUBLISH)", "the message costs the waiter an attempt, and grants nothing", func(t *testing.T) {
		f := newFixture(t)
		_, hold := f.lock(f.other.Mutex(key))
		var entered atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, hold := f.lock(f.client.Mutex(key))
			entered.Store(true)
			f.unlock(hold)
		}()
		f.eventually(5*time.Second, "a client is subscribed", func() bool { return f.subscribers() == 1 })
		for range 100 {
			f.server.Must("PUBLISH", "redisson_lock__channel:{"+key+"}", "0")
		}
		if entered.Load() {
			t.Error("a forged message granted the lock")
		}
		f.unlock(hold)
		<-done
	}},
	{22, "thundering wake-up", "each process makes one attempt, and one process gets the lock", func(t *testing.T) {
		const processes = 20
		f := newFixture(t)
		_, hold := f.lock(f.other.Mutex(key))
		winners := make(chan *interlock.Hold, processes)
		for range processes {
			c := f.newClient(f.openEngine(f.server.URL()))
			go func() {
				if _, hold, err := c.Mutex(key).Lock(t.Context()); err == nil {
					winners <- hold
				}
			}()
		}
		f.eventually(10*time.Second, "all processes are subscribed", func() bool { return f.subscribers() == processes })
		before := f.commandCount("eval")
		f.unlock(hold)
		winner := <-winners
		// Polls come later; these attempts are due to the wake-up.
		tries := f.commandCount("eval") - before - 1
		if tries > 2*processes {
			t.Errorf("%d attempts for one release and %d processes, want at most %d", tries, processes, 2*processes)
		}
		if len(winners) > 0 {
			t.Error("two processes got the lock at once")
		}
		f.unlock(winner)
		for range processes - 1 {
			f.unlock(<-winners)
		}
	}},
}

// subscribers counts the subscriptions to the lock's channel.
func (f *fixture) subscribers() int {
	answer := strings.Fields(f.server.Must("PUBSUB", "NUMSUB", "redisson_lock__channel:{"+key+"}"))
	n, _ := strconv.Atoi(answer[len(answer)-1])
	return n
}

// commandCount returns how often the server has run commands with this prefix.
func (f *fixture) commandCount(command string) (n int) {
	for line := range strings.Lines(f.server.Must("INFO", "commandstats")) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_"+command); ok {
			_, calls, _ := strings.Cut(rest, "calls=")
			calls, _, _ = strings.Cut(calls, ",")
			k, _ := strconv.Atoi(calls)
			n += k
		}
	}
	return n
}
