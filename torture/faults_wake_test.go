package torture

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// Rows in which waiters are to be woken.
var wakeRows = []row{
	{21, "subscribers cut off", "woken all the same, within a poll", func(t *testing.T) {
		p := newPlace(t)
		for range 5 {
			_, hold := p.lock(p.other.Mutex(key))
			got := make(chan *interlock.Hold, 1)
			go func() {
				_, mine := p.lock(p.client.Mutex(key))
				got <- mine
			}()
			p.soon(5*time.Second, "a client listens", func() bool { return p.listeners() == 1 })
			p.server.Must("CLIENT", "KILL", "TYPE", "pubsub")
			start := time.Now()
			p.unlock(hold)
			select {
			case mine := <-got:
				p.unlock(mine)
			case <-time.After(2 * time.Second):
				t.Fatal("not woken within 2 s")
			}
			if d := time.Since(start); d > 1500*time.Millisecond {
				t.Errorf("woken after %v", d)
			}
		}
	}},
	{21, "a forged message (PUBLISH)", "costs one try", func(t *testing.T) {
		p := newPlace(t)
		_, hold := p.lock(p.other.Mutex(key))
		var entered atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, mine := p.lock(p.client.Mutex(key))
			entered.Store(true)
			p.unlock(mine)
		}()
		p.soon(5*time.Second, "a client listens", func() bool { return p.listeners() == 1 })
		for range 100 {
			p.server.Must("PUBLISH", "redisson_lock__channel:{"+key+"}", "0")
		}
		if entered.Load() {
			t.Error("let in by a message")
		}
		p.unlock(hold)
		<-done
	}},
	{22, "thundering wake-up", "one try a process, one winner", func(t *testing.T) {
		const processes = 20
		p := newPlace(t)
		_, hold := p.lock(p.other.Mutex(key))
		winners := make(chan *interlock.Hold, processes)
		for range processes {
			c := p.use(p.open(p.server.URL()))
			go func() {
				if _, mine, err := c.Mutex(key).Lock(t.Context()); err == nil {
					winners <- mine
				}
			}()
		}
		p.soon(10*time.Second, "all listen", func() bool { return p.listeners() == processes })
		before := p.calls("eval")
		p.unlock(hold)
		winner := <-winners
		// A poll comes within a second; what came before is due to the wake-up.
		tries := p.calls("eval") - before - 1
		if tries > 2*processes {
			t.Errorf("%d tries for one release and %d processes", tries, processes)
		}
		if len(winners) > 0 {
			t.Error("two winners")
		}
		p.unlock(winner)
		for range processes - 1 {
			p.unlock(<-winners)
		}
	}},
}

// listeners returns how many connections are subscribed to the lock's channel.
func (p *place) listeners() int {
	answer := strings.Fields(p.server.Must("PUBSUB", "NUMSUB", "redisson_lock__channel:{"+key+"}"))
	n, _ := strconv.Atoi(answer[len(answer)-1])
	return n
}

// calls returns how often the server has run commands that begin so.
func (p *place) calls(command string) (n int) {
	for line := range strings.Lines(p.server.Must("INFO", "commandstats")) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_"+command); ok {
			_, calls, _ := strings.Cut(rest, "calls=")
			calls, _, _ = strings.Cut(calls, ",")
			k, _ := strconv.Atoi(calls)
			n += k
		}
	}
	return n
}
