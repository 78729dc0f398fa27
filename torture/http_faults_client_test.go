package torture

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// Rows in which the client hangs up, and asks again.
var httpClientRows = []row{
	{37, "client gone before its request was sent", "not executed; executed once when it asks again", func(t *testing.T) {
		c := openShops(t, 2, held(5*time.Second), 0)
		conn := c.dial(0)
		c.write(conn, strings.TrimSuffix(handWritten(book), "book")) // less than was announced
		conn.Close()
		first := c.wantStored(c.until(1, executed))
		c.wantReplay(0, book, first)
		c.wantTaken(book, 1)
	}},
	{37, "client gone as soon as it has sent", "executed once at most; the answer is there when it asks again", func(t *testing.T) {
		c := openShops(t, 2, held(5*time.Second), 0)
		for n := range 20 {
			key := fmt.Sprint(book, n)
			conn := c.dial(0)
			c.write(conn, handWritten(key))
			conn.Close()
			// Either may be the first, but only one.
			var r reply
			c.soon(20*time.Second, "it is answered", func() bool {
				r = c.order(1, key)
				return c.isAny(r, executed, replayed, inProgress) != inProgress
			})
			c.wantReplay(0, key, r)
			c.wantTaken(key, 1)
		}
	}},
	{37, "client gone during the handler", "which goes on; the answer is stored, and there when it asks again", func(t *testing.T) {
		c := openShops(t, 2, held(5*time.Second), 0)
		ctx, hangUp := context.WithCancel(t.Context())
		got := c.begin(ctx)
		hangUp()
		if r := <-got; r.err == nil {
			t.Fatalf("the client had gone, and got %d %q", r.status, r.body)
		}
		c.want(c.order(1, book), inProgress)
		c.open()
		first := c.until(1, replayed, inProgress)
		c.wantEnded(false)
		c.wantReplay(0, book, first)
		c.wantTaken(book, 1)
	}},
	{37, "client gone after the handler, nothing read", "the answer is there when it asks again", func(t *testing.T) {
		c := openShops(t, 2, held(5*time.Second), 0)
		conn := c.dial(0)
		c.write(conn, handWritten(book))
		c.soon(20*time.Second, "it is executed", func() bool { return len(c.sales(taken, book)) == 1 })
		first := c.until(1, replayed, inProgress)
		conn.Close()
		for shop := range c.shops {
			c.wantReplay(shop, book, first)
		}
		c.wantTaken(book, 1)
	}},
}

func (c *chain) dial(shop int) net.Conn {
	c.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.shops[shop].url, "http://"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	return conn
}

func (c *chain) write(conn net.Conn, text string) {
	c.t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// handWritten is an order as it is on the wire.
func handWritten(key string) string {
	const body = "one book"
	return fmt.Sprintf("POST /orders HTTP/1.1\r\nHost: shop\r\nX-User: ada\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s", key, len(body), body)
}
