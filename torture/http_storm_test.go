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

// TestHTTPStorm has 100 requests for the same thing at once, to three processes
// behind a round-robin (S3): one is executed, and 99 are duplicates.
func TestHTTPStorm(t *testing.T) {
	const rounds = 3
	c := openShops(t, 3, guard.Charge("orders"), 20*time.Millisecond)
	front := c.front()

	t.Run("S3 100 submissions at once, interval 1 s (P4)", func(t *testing.T) {
		c.in(t, func() {
			for range rounds {
				c.clickStorm(front, 100)
			}
		})
	})
	t.Run("P10 the button is clicked five times", func(t *testing.T) {
		c.in(t, func() { c.clickStorm(front, 5) })
	})
	t.Run("S3 100 orders at once with the same key", func(t *testing.T) {
		c.in(t, func() {
			for round := range rounds {
				c.orderStorm(front, fmt.Sprint("storm-", round), 100)
			}
		})
	})
}

// in has what goes wrong with the chain be about a part of the test.
func (c *chain) in(t *testing.T, do func()) {
	outer := c.t
	c.t = t
	defer func() { c.t = outer }()
	do()
}

// clickStorm clicks a button at once, until the clicks have come within one interval.
func (c *chain) clickStorm(front string, clicks int) {
	c.t.Helper()
	for range 5 {
		if c.clicksAtOnce(front, clicks) {
			return
		}
	}
	c.t.Fatalf("%d clicks never came within a second", clicks)
}

// clicksAtOnce clicks the same button at once, and again when the interval is over. It
// reports whether it came to that.
func (c *chain) clicksAtOnce(front string, clicks int) bool {
	c.t.Helper()
	body := fmt.Sprint("click ", time.Now().UnixNano()) // another button each time
	clicked := func() int {
		n := 0
		for _, s := range c.sales(taken, "") {
			if s.Body == body {
				n++
			}
		}
		return n
	}
	began := time.Now()
	replies := c.crowd(clicks, front+"/clicks", "", body)
	took, got := time.Since(began), endings(replies)
	fmt.Printf("S3: %3d submissions at once over HTTP, 3 processes: %v, mean answer %v (theirs: 75 ms)\n", clicks, got, mean(replies))
	most := 1 + int(took/time.Second) // one in each interval
	if n := got[executed]; n < 1 || n > most || n+got[duplicate]+got[stillRunning] != clicks {
		c.t.Fatalf("%v in %v: one is to be executed, and %d refused with 429", got, took, clicks-1)
	}
	if most > 1 { // a machine this busy shows nothing about clicks at once
		return false
	}
	if n := clicked(); n != 1 {
		c.t.Fatalf("the handlers ran %d times", n)
	}
	for _, r := range replies {
		if r.ending() != executed && (!strings.Contains(r.body, guard.DefaultMessage()["en"]) || r.header.Get("Retry-After") == "") {
			c.t.Fatalf("a duplicate is told %v %q", r.header, r.body)
		}
	}
	c.soon(10*time.Second, "the interval is over", func() bool {
		r := c.send(c.t.Context(), front+"/clicks", "", body)
		return c.isAny(r, duplicate, stillRunning, executed) == executed
	})
	if d := time.Since(began); d < time.Second {
		c.t.Fatalf("executed again after %v", d)
	}
	if n := clicked(); n != 2 {
		c.t.Fatalf("the handlers ran %d times", n)
	}
	return true
}

// orderStorm sends the same order at once: one is executed, the others are told so,
// or get its answer. Then every shop has that answer, byte for byte.
func (c *chain) orderStorm(front, key string, orders int) {
	c.t.Helper()
	replies := c.crowd(orders, front+"/orders", key, "one book")
	got := endings(replies)
	fmt.Printf("S3: %3d orders at once over HTTP, 3 processes: %v, mean answer %v (theirs: 75 ms)\n", orders, got, mean(replies))
	if got[executed] != 1 || got[executed]+got[inProgress]+got[replayed] != orders {
		c.t.Fatalf("%v: one is to be executed, and the others are duplicates", got)
	}
	c.wantTaken(key, 1)
	var first reply
	for _, r := range replies {
		if r.ending() == executed {
			first = c.wantStored(r)
		}
	}
	for _, r := range replies {
		if r.ending() == replayed && r.body != first.body {
			c.t.Fatalf("a duplicate got %q, want %q", r.body, first.body)
		}
	}
	for shop := range c.shops {
		c.wantReplay(shop, key, first)
	}
	c.wantTaken(key, 1)
}

// crowd sends the same request many times at once.
func (c *chain) crowd(n int, address, key, body string) []reply {
	replies, gun := make([]reply, n), make(chan struct{})
	var wg sync.WaitGroup
	for i := range replies {
		wg.Go(func() {
			<-gun
			replies[i] = c.send(c.t.Context(), address, key, body)
		})
	}
	close(gun)
	wg.Wait()
	return replies
}

// isAny checks that a request ended in one of some ways, and returns which.
func (c *chain) isAny(r reply, endings ...string) string {
	c.t.Helper()
	got := r.ending()
	if !slices.Contains(endings, got) {
		c.t.Fatalf("%s, want one of %q: %q", got, endings, r.body)
	}
	return got
}

func endings(replies []reply) tally {
	counts := tally{}
	for _, r := range replies {
		counts[r.ending()]++
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
