package torture

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// Rows in which the client disconnects and retries.
var httpClientRows = []row{
	{37, "client disconnects before its request is complete", "the incomplete request is not executed; its retry is executed once", func(t *testing.T) {
		c := startShops(t, 2, chargePolicy(5*time.Second), 0)
		conn := c.dial(0)
		c.write(conn, strings.TrimSuffix(rawOrder(book), "book")) // shorter than its Content-Length
		conn.Close()
		first := c.wantStored(c.retryUntil(1, executed))
		c.wantReplay(0, book, first)
		c.wantExecutions(book, 1)
	}},
	{37, "client disconnects right after its request", "the order is executed once; a retry gets the response", func(t *testing.T) {
		c := startShops(t, 2, chargePolicy(5*time.Second), 0)
		for n := range 20 {
			key := fmt.Sprint(book, n)
			conn := c.dial(0)
			c.write(conn, rawOrder(key))
			conn.Close()
			// Either request may be executed, but only one of them.
			var r reply
			c.eventually(20*time.Second, "a retry gets the response", func() bool {
				r = c.order(1, key)
				return c.wantOneOf(r, executed, replayed, inProgress) != inProgress
			})
			c.wantReplay(0, key, r)
			c.wantExecutions(key, 1)
		}
	}},
	{37, "client disconnects during the handler", "the handler continues; a retry gets the stored response", func(t *testing.T) {
		c := startShops(t, 2, chargePolicy(5*time.Second), 0)
		ctx, disconnect := context.WithCancel(t.Context())
		got := c.startSlowOrder(ctx)
		disconnect()
		if r := <-got; r.err == nil {
			t.Fatalf("the client disconnected, but got %d %q", r.status, r.body)
		}
		c.want(c.order(1, book), inProgress)
		c.finishSlowOrders()
		first := c.retryUntil(1, replayed, inProgress)
		c.wantContextEnded(false)
		c.wantReplay(0, book, first)
		c.wantExecutions(book, 1)
	}},
	{37, "client disconnects after the handler, response not read", "a retry gets the response", func(t *testing.T) {
		c := startShops(t, 2, chargePolicy(5*time.Second), 0)
		conn := c.dial(0)
		c.write(conn, rawOrder(book))
		c.eventually(20*time.Second, "the order is executed", func() bool { return len(c.events(handlerStarted, book)) == 1 })
		first := c.retryUntil(1, replayed, inProgress)
		conn.Close()
		for shop := range c.shops {
			c.wantReplay(shop, book, first)
		}
		c.wantExecutions(book, 1)
	}},
}

func (c *shopCluster) dial(shop int) net.Conn {
	c.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.shops[shop].url, "http://"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	return conn
}

func (c *shopCluster) write(conn net.Conn, text string) {
	c.t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// rawOrder returns the bytes of an order's HTTP request.
func rawOrder(key string) string {
	const body = "one book"
	return fmt.Sprintf("POST /orders HTTP/1.1\r\nHost: shop\r\nX-User: ada\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s", key, len(body), body)
}
