package torture

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// TestHTTPFaults proves what becomes of requests over HTTP when a Redis dies, a
// process of a server is killed, paused or shut down, or a client hangs up; and
// prints a line for each. The numbers are those of the fault matrix.
func TestHTTPFaults(t *testing.T) {
	var rows []row
	for _, group := range [][]row{httpDownRows, httpProcessRows, httpClientRows} {
		rows = append(rows, group...)
	}
	for _, r := range rows {
		t.Run(fmt.Sprintf("%02d %s", r.number, r.fault), func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			r.prove(t)
			if !t.Failed() {
				fmt.Printf("http %02d  %-50s %s (%v)\n", r.number, r.fault, r.answer, time.Since(start).Round(time.Millisecond))
			}
		})
	}
}

// held is the policy of most rows, and rerun its opposite.
func held(lease time.Duration) guard.Policy {
	p := guard.Charge("orders")
	p.Lease = lease
	return p
}

func rerun(lease time.Duration) guard.Policy {
	return guard.Policy{Name: "orders", Lease: lease, OnUnknown: guard.Rerun}
}

// durable has a Redis find its data again after a crash.
var durable = []string{"--appendonly", "yes", "--appendfsync", "always"}

// Rows in which Redis is gone: before, during and after the handler.
var httpDownRows = []row{
	{5, "S5 Redis gone before (closed)", "503 and Retry-After, nothing executed; executed once when it is back", func(t *testing.T) {
		c := openShops(t, 2, held(5*time.Second), 0)
		c.server.Kill()
		for shop := range c.shops {
			r := c.want(c.order(shop, book), down)
			if r.header.Get("Retry-After") == "" || !r.problem.Retryable || !r.problem.SameKey {
				t.Errorf("it does not say to come back: %v %q", r.header, r.body)
			}
		}
		c.wantTaken(book, 0)
		c.wantLogged(0, `"level":"ERROR"`, `"verdict":"down"`)
		c.server.Restart()
		first := c.wantStored(c.until(0, executed, down))
		c.backTo(1)
		c.wantReplay(1, book, first)
		c.wantTaken(book, 1)
	}},
	{5, "S5 Redis gone before (open)", "executed, marked and logged as unguarded; guarded when it is back", func(t *testing.T) {
		p := held(5 * time.Second)
		p.OnDown = guard.Open
		c := openShops(t, 2, p, 0)
		c.server.Kill()
		for range 2 { // unguarded
			r := c.wantUnstored(c.order(0, book))
			if got := r.header.Get("Interlock-Unguarded"); got != "true" {
				t.Errorf("Interlock-Unguarded is %q", got)
			}
		}
		c.wantTaken(book, 2)
		c.wantLogged(0, `"level":"WARN"`, `"verdict":"unguarded"`)
		c.server.Restart()
		c.backTo(0)
		c.backTo(1)
		first := c.wantStored(c.order(0, "later"))
		c.wantReplay(1, "later", first)
	}},
	{5, "Redis gone during, back within the lease", "answered, not stored; stored late, and replayed", func(t *testing.T) {
		p := held(15 * time.Second)
		p.LocalCache = 5 * time.Second // half a second is short where many tests run
		c := openShops(t, 2, p, 0, durable...)
		got := c.begin(t.Context())
		c.server.Kill()
		c.open()
		first := c.wantUnstored(<-got)
		c.wantEnded(false)
		c.want(c.order(0, book), replayed) // this process knows
		c.server.Restart()
		c.until(1, replayed, down, inProgress)
		c.wantReplay(1, book, first)
		c.wantTaken(book, 1)
	}},
	{6, "Redis gone during, back after the lease", "answered, not stored; unknown, and not executed again", func(t *testing.T) {
		const lease = 2 * time.Second
		c := openShops(t, 2, held(lease), 0, durable...)
		got := c.begin(t.Context())
		c.server.Kill()
		gone := time.Now()
		c.soon(20*time.Second, "the lease is over", func() bool { return time.Since(gone) > lease })
		c.open()
		c.wantUnstored(<-got)
		c.wantEnded(true)
		c.server.Restart()
		for shop := range c.shops {
			c.until(shop, outcomeUnknown, down)
		}
		c.wantTaken(book, 1)
	}},
	{5, "Redis gone after", "replayed in the process for a moment, then 503; replayed when it is back", func(t *testing.T) {
		p := held(5 * time.Second)
		p.LocalCache = 3 * time.Second
		c := openShops(t, 2, p, 0, durable...)
		first := c.wantStored(c.order(0, book))
		c.server.Kill()
		c.wantReplay(0, book, first)
		c.want(c.order(1, book), down)
		c.until(0, down, replayed)
		c.server.Restart()
		for shop := range c.shops {
			c.backTo(shop)
			c.wantReplay(shop, book, first)
		}
		c.wantTaken(book, 1)
	}},
	{9, "Redis stopped (SIGSTOP) and resumed", "503 within seconds, nothing executed; then executed once", func(t *testing.T) {
		c := openShops(t, 2, held(5*time.Second), 0)
		c.server.Stop()
		r := c.want(c.order(0, book), down)
		if r.took > 10*time.Second {
			t.Errorf("it took %v", r.took)
		}
		c.wantTaken(book, 0)
		c.server.Cont()
		first := c.until(0, executed, down, inProgress)
		c.backTo(1)
		c.wantReplay(1, book, first)
		c.wantTaken(book, 1)
	}},
}

// backTo waits until a shop has found Redis again.
func (c *chain) backTo(shop int) {
	c.t.Helper()
	n := 0
	c.soon(20*time.Second, fmt.Sprintf("shop %d has Redis again", shop), func() bool {
		n++
		r := c.order(shop, fmt.Sprintf("back-%d-%d", shop, n))
		return c.isAny(r, down, executed) == executed && r.header.Get("Idempotency-Stored") == ""
	})
}
