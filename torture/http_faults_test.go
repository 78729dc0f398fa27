package torture

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// TestHTTPFaults proves the rows of the fault matrix about HTTP requests: Redis fails, a
// server process is killed, paused or shut down, or a client disconnects. It prints a
// line for each row.
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
				fmt.Printf("http %02d  %-50s %s (%v)\n", r.number, r.fault, r.result, time.Since(start).Round(time.Millisecond))
			}
		})
	}
}

// chargePolicy is the policy of most rows. It holds unknown outcomes; rerunPolicy does not.
func chargePolicy(lease time.Duration) guard.Policy {
	p := guard.Charge("orders")
	p.Lease = lease
	return p
}

func rerunPolicy(lease time.Duration) guard.Policy {
	return guard.Policy{Name: "orders", Lease: lease, OnUnknown: guard.Rerun}
}

// durable are the options of a Redis that keeps its data across a crash.
var durable = []string{"--appendonly", "yes", "--appendfsync", "always"}

// Rows in which Redis is down before, during or after the handler.
var httpDownRows = []row{
	{5, "S5 Redis down before the handler (closed)", "the response is 503 with Retry-After; the order is executed once, after the restart", func(t *testing.T) {
		c := startShops(t, 2, chargePolicy(5*time.Second), 0)
		c.server.Kill()
		for shop := range c.shops {
			r := c.want(c.order(shop, book), down)
			if r.header.Get("Retry-After") == "" || !r.problem.Retryable || !r.problem.SameKey {
				t.Errorf("the response does not ask for a retry with the same key: %v %q", r.header, r.body)
			}
		}
		c.wantExecutions(book, 0)
		c.wantLogged(0, `"level":"ERROR"`, `"verdict":"down"`)
		c.server.Restart()
		first := c.wantStored(c.retryUntil(0, executed, down))
		c.waitForRedis(1)
		c.wantReplay(1, book, first)
		c.wantExecutions(book, 1)
	}},
	{5, "S5 Redis down before the handler (open)", "the order is executed, marked and logged as unguarded; later orders are guarded after the restart", func(t *testing.T) {
		p := chargePolicy(5 * time.Second)
		p.OnDown = guard.Open
		c := startShops(t, 2, p, 0)
		c.server.Kill()
		for range 2 { // both are executed
			r := c.wantUnstored(c.order(0, book))
			if got := r.header.Get("Interlock-Unguarded"); got != "true" {
				t.Errorf("Interlock-Unguarded is %q, want true", got)
			}
		}
		c.wantExecutions(book, 2)
		c.wantLogged(0, `"level":"WARN"`, `"verdict":"unguarded"`)
		c.server.Restart()
		c.waitForRedis(0)
		c.waitForRedis(1)
		first := c.wantStored(c.order(0, "later"))
		c.wantReplay(1, "later", first)
	}},
	{5, "Redis down during the handler, back within the lease", "the response is marked as not stored; it is stored late, and replayed", func(t *testing.T) {
		p := chargePolicy(15 * time.Second)
		p.LocalCache = 5 * time.Second // the default of 500ms is too short on a busy machine
		c := startShops(t, 2, p, 0, durable...)
		got := c.startSlowOrder(t.Context())
		c.server.Kill()
		c.finishSlowOrders()
		first := c.wantUnstored(<-got)
		c.wantContextEnded(false)
		c.want(c.order(0, book), replayed) // from this process's cache
		c.server.Restart()
		c.retryUntil(1, replayed, down, inProgress)
		c.wantReplay(1, book, first)
		c.wantExecutions(book, 1)
	}},
	{6, "Redis down during the handler, back after the lease", "the response is marked as not stored; the outcome is unknown, and the order is not executed again", func(t *testing.T) {
		const lease = 2 * time.Second
		c := startShops(t, 2, chargePolicy(lease), 0, durable...)
		got := c.startSlowOrder(t.Context())
		c.server.Kill()
		killed := time.Now()
		c.eventually(20*time.Second, "the lease has expired", func() bool { return time.Since(killed) > lease })
		c.finishSlowOrders()
		c.wantUnstored(<-got)
		c.wantContextEnded(true)
		c.server.Restart()
		for shop := range c.shops {
			c.retryUntil(shop, outcomeUnknown, down)
		}
		c.wantExecutions(book, 1)
	}},
	{5, "Redis down after the handler", "retries get the response from the process's cache, then 503; after the restart they get the response again", func(t *testing.T) {
		p := chargePolicy(5 * time.Second)
		p.LocalCache = 3 * time.Second
		c := startShops(t, 2, p, 0, durable...)
		first := c.wantStored(c.order(0, book))
		c.server.Kill()
		c.wantReplay(0, book, first)
		c.want(c.order(1, book), down)
		c.retryUntil(0, down, replayed)
		c.server.Restart()
		for shop := range c.shops {
			c.waitForRedis(shop)
			c.wantReplay(shop, book, first)
		}
		c.wantExecutions(book, 1)
	}},
	{9, "Redis stopped (SIGSTOP) and resumed", "the response is 503 within seconds; the order is executed once, after Redis resumes", func(t *testing.T) {
		c := startShops(t, 2, chargePolicy(5*time.Second), 0)
		c.server.Stop()
		r := c.want(c.order(0, book), down)
		if r.took > 10*time.Second {
			t.Errorf("the response took %v, want at most 10s", r.took)
		}
		c.wantExecutions(book, 0)
		c.server.Cont()
		first := c.retryUntil(0, executed, down, inProgress)
		c.waitForRedis(1)
		c.wantReplay(1, book, first)
		c.wantExecutions(book, 1)
	}},
}

// waitForRedis waits until a shop stores responses again.
func (c *shopCluster) waitForRedis(shop int) {
	c.t.Helper()
	n := 0
	c.eventually(20*time.Second, fmt.Sprintf("shop %d stores responses again", shop), func() bool {
		n++
		r := c.order(shop, fmt.Sprintf("back-%d-%d", shop, n))
		return c.wantOneOf(r, down, executed) == executed && r.header.Get("Idempotency-Stored") == ""
	})
}
