package torture

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// TestHTTPStorm sends 100 identical requests at once to three processes behind a
// round-robin proxy (requirement S3). One is executed, and 99 are duplicates.
func TestHTTPStorm(t *testing.T) {
	const rounds = 3
	c := startShops(t, 3, guard.Charge("orders"), 20*time.Millisecond)
	proxyURL := c.startProxy()

	t.Run("S3 100 submissions at once, interval 1 s (P4)", func(t *testing.T) {
		c.withT(t, func() {
			for range rounds {
				c.clickStorm(proxyURL, 100)
			}
		})
	})
	t.Run("P10 the button is clicked five times", func(t *testing.T) {
		c.withT(t, func() { c.clickStorm(proxyURL, 5) })
	})
	t.Run("S3 100 orders at once with the same key", func(t *testing.T) {
		c.withT(t, func() {
			for round := range rounds {
				c.orderStorm(proxyURL, fmt.Sprint("storm-", round), 100)
			}
		})
	})
}

// withT runs a part of a test whose failures are reported to t.
func (c *shopCluster) withT(t *testing.T, run func()) {
	outer := c.t
	c.t = t
	defer func() { c.t = outer }()
	run()
}

// clickStorm repeats clicksAtOnce until all clicks fall into one interval.
func (c *shopCluster) clickStorm(proxyURL string, clicks int) {
	c.t.Helper()
	for range 5 {
		if c.clicksAtOnce(proxyURL, clicks) {
			return
		}
	}
	c.t.Fatalf("%d clicks never arrived within 1s", clicks)
}

// clicksAtOnce clicks a button many times at once, and again when the interval ends. It
// reports false if the clicks took longer than the interval.
func (c *shopCluster) clicksAtOnce(proxyURL string, clicks int) bool {
	c.t.Helper()
	body := fmt.Sprint("click ", time.Now().UnixNano()) // a new button in each round
	clicked := func() int {
		n := 0
		for _, e := range c.events(handlerStarted, "") {
			if e.Body == body {
				n++
			}
		}
		return n
	}
	began := time.Now()
	replies := c.sendAtOnce(clicks, proxyURL+"/clicks", "", body)
	took, got := time.Since(began), countOutcomes(replies)
	fmt.Printf("S3: %3d submissions at once over HTTP, 3 processes: %v, mean response %v (reference: 75 ms)\n", clicks, got, mean(replies))
	most := 1 + int(took/time.Second) // one in each interval
	if n := got[executed]; n < 1 || n > most || n+got[duplicate]+got[stillRunning] != clicks {
		c.t.Fatalf("got %v in %v, want 1 executed and %d refused with 429", got, took, clicks-1)
	}
	if most > 1 { // on a machine this busy the clicks were not concurrent
		return false
	}
	if n := clicked(); n != 1 {
		c.t.Fatalf("the handler ran %d times, want once", n)
	}
	for _, r := range replies {
		// The text says whether the first submission still runs.
		message := strings.Contains(r.body, guard.DefaultMessage()["en"]) || strings.Contains(r.body, "please do not submit again")
		if r.outcome() != executed && (!message || r.header.Get("Retry-After") == "") {
			c.t.Fatalf("a duplicate got %v %q, want the message and Retry-After", r.header, r.body)
		}
	}
	c.eventually(10*time.Second, "the interval has ended", func() bool {
		r := c.send(c.t.Context(), proxyURL+"/clicks", "", body)
		return c.wantOneOf(r, duplicate, stillRunning, executed) == executed
	})
	if d := time.Since(began); d < time.Second {
		c.t.Fatalf("executed again after %v, want at least 1s", d)
	}
	if n := clicked(); n != 2 {
		c.t.Fatalf("after the interval the handler ran %d times in total, want 2", n)
	}
	return true
}

// orderStorm sends the same order many times at once. One is executed; the others are
// refused or get its response. Afterwards every shop replays that response.
func (c *shopCluster) orderStorm(proxyURL, key string, orders int) {
	c.t.Helper()
	replies := c.sendAtOnce(orders, proxyURL+"/orders", key, "one book")
	got := countOutcomes(replies)
	fmt.Printf("S3: %3d orders at once over HTTP, 3 processes: %v, mean response %v (reference: 75 ms)\n", orders, got, mean(replies))
	if got[executed] != 1 || got[executed]+got[inProgress]+got[replayed] != orders {
		c.t.Fatalf("got %v, want 1 executed and %d duplicates", got, orders-1)
	}
	c.wantExecutions(key, 1)
	var first reply
	for _, r := range replies {
		if r.outcome() == executed {
			first = c.wantStored(r)
		}
	}
	for _, r := range replies {
		if r.outcome() == replayed && r.body != first.body {
			c.t.Fatalf("a duplicate got %q, want %q", r.body, first.body)
		}
	}
	for shop := range c.shops {
		c.wantReplay(shop, key, first)
	}
	c.wantExecutions(key, 1)
}

// sendAtOnce sends n identical requests at once.
func (c *shopCluster) sendAtOnce(n int, address, key, body string) []reply {
	replies, start := make([]reply, n), make(chan struct{})
	var wg sync.WaitGroup
	for i := range replies {
		wg.Go(func() {
			<-start
			replies[i] = c.send(c.t.Context(), address, key, body)
		})
	}
	close(start)
	wg.Wait()
	return replies
}

// wantOneOf checks that a request has one of the outcomes, and returns it.
func (c *shopCluster) wantOneOf(r reply, outcomes ...string) string {
	c.t.Helper()
	got := r.outcome()
	if !slices.Contains(outcomes, got) {
		c.t.Fatalf("the outcome is %s, want one of %q: %q", got, outcomes, r.body)
	}
	return got
}

func countOutcomes(replies []reply) tally {
	counts := tally{}
	for _, r := range replies {
		counts[r.outcome()]++
	}
	return counts
}

func mean(replies []reply) time.Duration {
	var sum time.Duration
	for _, r := range replies {
		sum += r.took
	}
	return (sum / time.Duration(len(replies))).Round(100 * time.Microsecond)
}
