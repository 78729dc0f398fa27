package torture

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Rows in which a server process is killed, paused or shut down while a handler runs, or
// in which the handler panics.
var httpProcessRows = []row{
	{30, "process paused for longer than the lease (hold)", "the outcome is unknown; the late response is not stored", func(t *testing.T) {
		c := startShops(t, 3, chargePolicy(time.Second), 0)
		got := c.startSlowOrder(t.Context())
		c.signal(syscall.SIGSTOP)
		for _, shop := range []int{1, 2} {
			c.retryUntil(shop, outcomeUnknown, inProgress)
		}
		c.finishSlowOrders()
		c.signal(syscall.SIGCONT)
		c.wantUnstored(<-got)
		c.wantContextEnded(true)
		for shop := range c.shops {
			c.retryUntil(shop, outcomeUnknown)
		}
		c.wantExecutions(book, 1)
	}},
	{30, "process paused for longer than the lease (rerun)", "the order is executed again; the late response is not stored and changes no record", func(t *testing.T) {
		c := startShops(t, 3, rerunPolicy(time.Second), 0)
		got := c.startSlowOrder(t.Context())
		c.signal(syscall.SIGSTOP)
		second := c.wantStored(c.retryUntil(1, executed, inProgress))
		c.finishSlowOrders()
		c.signal(syscall.SIGCONT)
		if late := c.wantUnstored(<-got); late.body == second.body {
			t.Errorf("both processes responded %q, want different orders", late.body)
		}
		c.wantContextEnded(true)
		for shop := range c.shops {
			c.wantReplay(shop, book, second)
		}
		c.wantExecutions(book, 2)
	}},
	{31, "process killed (SIGKILL) during the handler (hold)", "retries are refused until the lease expires; then the outcome is unknown, and the order is never executed again", func(t *testing.T) {
		c := startShops(t, 3, chargePolicy(2*time.Second), 0)
		got := c.startSlowOrder(t.Context())
		c.shops[0].kill()
		if r := <-got; r.err == nil {
			t.Errorf("the client of a killed process got %d %q, want an error", r.status, r.body)
		}
		for _, shop := range []int{1, 2} {
			c.retryUntil(shop, outcomeUnknown, inProgress)
		}
		c.wantExecutions(book, 1)
	}},
	{31, "process killed (SIGKILL) during the handler (rerun)", "the order is executed again when the lease expires, not before", func(t *testing.T) {
		const lease = 2 * time.Second
		c := startShops(t, 3, rerunPolicy(lease), 0)
		asked := time.Now()
		got := c.startSlowOrder(t.Context())
		c.shops[0].kill()
		<-got
		first := c.wantStored(c.retryUntil(1, executed, inProgress))
		if d := c.events(handlerStarted, book)[1].At.Sub(asked); d < lease {
			t.Errorf("executed again after %v, want at least the lease of %v", d, lease)
		}
		c.wantReplay(2, book, first)
		c.wantExecutions(book, 2)
	}},
	{32, "handler panics (hold)", "the outcome is unknown at once; the order is never executed again", func(t *testing.T) {
		c := startShops(t, 2, chargePolicy(time.Minute), 0)
		c.panicOnce()
		for shop := range c.shops {
			c.want(c.order(shop, book), outcomeUnknown)
		}
		c.wantExecutions(book, 1)
	}},
	{32, "handler panics (rerun)", "the order is executed again at once", func(t *testing.T) {
		c := startShops(t, 2, rerunPolicy(time.Minute), 0)
		c.panicOnce()
		first := c.wantStored(c.order(1, book))
		c.wantReplay(0, book, first)
		c.wantExecutions(book, 2)
	}},
	{39, "shutdown (SIGTERM) during the handler", "the client gets its response, which is stored; exit code 0", func(t *testing.T) {
		c := startShops(t, 2, chargePolicy(5*time.Second), 0)
		got := c.startSlowOrder(t.Context())
		c.signal(syscall.SIGTERM)
		c.eventually(20*time.Second, "no new connection is accepted", func() bool {
			conn, err := net.Dial("tcp", strings.TrimPrefix(c.shops[0].url, "http://"))
			if err == nil {
				conn.Close()
			}
			return err != nil
		})
		c.want(c.order(1, book), inProgress)
		c.finishSlowOrders()
		first := c.wantStored(<-got)
		c.waitForExit()
		c.wantContextEnded(false)
		c.wantReplay(1, book, first)
		c.wantExecutions(book, 1)
	}},
}

// panicOnce sends an order that makes the first shop's handler panic.
func (c *shopCluster) panicOnce() {
	c.t.Helper()
	r := c.send(c.t.Context(), c.shops[0].url+"/orders", book, "one book", "X-Panic")
	if r.err == nil {
		c.t.Fatalf("the handler panicked, but the client got %d %q", r.status, r.body)
	}
	c.wantExecutions(book, 1)
}

// waitForExit waits until the first shop's process exits with code 0. After 40s it kills
// the process.
func (c *shopCluster) waitForExit() {
	c.t.Helper()
	w := c.shops[0].worker
	timeout := time.AfterFunc(40*time.Second, func() { _ = w.Process.Kill() })
	defer timeout.Stop()
	if err := w.Wait(); err != nil {
		c.t.Fatalf("process %s: %v", w.job.Process, err)
	}
}
