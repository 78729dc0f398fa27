package torture

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Rows in which the process of a server is killed, paused or shut down while a
// handler is at work, or the handler panics.
var httpProcessRows = []row{
	{30, "process paused for longer than the lease (hold)", "unknown; its late answer is not stored", func(t *testing.T) {
		c := openShops(t, 3, held(time.Second), 0)
		got := c.begin(t.Context())
		c.signal(syscall.SIGSTOP)
		for _, shop := range []int{1, 2} {
			c.until(shop, outcomeUnknown, inProgress)
		}
		c.open()
		c.signal(syscall.SIGCONT)
		c.wantUnstored(<-got)
		c.wantEnded(true)
		for shop := range c.shops {
			c.until(shop, outcomeUnknown)
		}
		c.wantTaken(book, 1)
	}},
	{30, "the same (rerun)", "executed again; the late answer is not stored, nor the record changed", func(t *testing.T) {
		c := openShops(t, 3, rerun(time.Second), 0)
		got := c.begin(t.Context())
		c.signal(syscall.SIGSTOP)
		second := c.wantStored(c.until(1, executed, inProgress))
		c.open()
		c.signal(syscall.SIGCONT)
		if late := c.wantUnstored(<-got); late.body == second.body {
			t.Errorf("both answered %q", late.body)
		}
		c.wantEnded(true)
		for shop := range c.shops {
			c.wantReplay(shop, book, second)
		}
		c.wantTaken(book, 2)
	}},
	{31, "process killed (SIGKILL) at work (hold)", "refused until the lease is over, then unknown; never executed again", func(t *testing.T) {
		c := openShops(t, 3, held(2*time.Second), 0)
		got := c.begin(t.Context())
		c.shops[0].kill()
		if r := <-got; r.err == nil {
			t.Errorf("the client of a dead process got %d %q", r.status, r.body)
		}
		for _, shop := range []int{1, 2} {
			c.until(shop, outcomeUnknown, inProgress)
		}
		c.wantTaken(book, 1)
	}},
	{31, "the same (rerun)", "executed again when the lease is over, and not before", func(t *testing.T) {
		const lease = 2 * time.Second
		c := openShops(t, 3, rerun(lease), 0)
		asked := time.Now()
		got := c.begin(t.Context())
		c.shops[0].kill()
		<-got
		first := c.wantStored(c.until(1, executed, inProgress))
		if d := c.sales(taken, book)[1].At.Sub(asked); d < lease {
			t.Errorf("executed again after %v, with a lease of %v", d, lease)
		}
		c.wantReplay(2, book, first)
		c.wantTaken(book, 2)
	}},
	{32, "handler panics (hold)", "unknown at once, and never executed again", func(t *testing.T) {
		c := openShops(t, 2, held(time.Minute), 0)
		c.panics()
		for shop := range c.shops {
			c.want(c.order(shop, book), outcomeUnknown)
		}
		c.wantTaken(book, 1)
	}},
	{32, "the same (rerun)", "executed again at once", func(t *testing.T) {
		c := openShops(t, 2, rerun(time.Minute), 0)
		c.panics()
		first := c.wantStored(c.order(1, book))
		c.wantReplay(0, book, first)
		c.wantTaken(book, 2)
	}},
	{39, "shutdown (SIGTERM) while it works", "the client gets its answer, which is stored; exit code 0", func(t *testing.T) {
		c := openShops(t, 2, held(5*time.Second), 0)
		got := c.begin(t.Context())
		c.signal(syscall.SIGTERM)
		c.soon(20*time.Second, "no new connection is accepted", func() bool {
			conn, err := net.Dial("tcp", strings.TrimPrefix(c.shops[0].url, "http://"))
			if err == nil {
				conn.Close()
			}
			return err != nil
		})
		c.want(c.order(1, book), inProgress)
		c.open()
		first := c.wantStored(<-got)
		c.ended()
		c.wantEnded(false)
		c.wantReplay(1, book, first)
		c.wantTaken(book, 1)
	}},
}

// panics has the handler of the first shop panic.
func (c *chain) panics() {
	c.t.Helper()
	r := c.send(c.t.Context(), c.shops[0].url+"/orders", book, "one book", "X-Panic")
	if r.err == nil {
		c.t.Fatalf("the handler had panicked, and the client got %d %q", r.status, r.body)
	}
	c.wantTaken(book, 1)
}

// ended waits until the process of the first shop has ended by itself, with exit
// code 0.
func (c *chain) ended() {
	c.t.Helper()
	w := c.shops[0].worker
	late := time.AfterFunc(40*time.Second, func() { _ = w.Process.Kill() })
	defer late.Stop()
	if err := w.Wait(); err != nil {
		c.t.Fatalf("process %s: %v", w.job.Process, err)
	}
}
