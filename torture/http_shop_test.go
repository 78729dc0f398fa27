package torture

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// A chain is shops that share a Redis.
type chain struct {
	*place
	journal string
	shops   []*shop
	client  *http.Client
}

// A shop is a keeper, and where its process listens.
type shop struct {
	*worker
	url string
}

// openShops opens shops whose orders have a policy and take some time each.
func openShops(t *testing.T, n int, p guard.Policy, pause time.Duration, args ...string) *chain {
	t.Helper()
	c := &chain{
		place:   &place{t: t, server: redistest.Start(t, args...)},
		journal: filepath.Join(t.TempDir(), "journal"),
		client:  &http.Client{Timeout: time.Minute, Transport: connections()},
	}
	t.Cleanup(c.client.CloseIdleConnections)
	for i := range n {
		w := start(t, job{Do: "shop", Redis: c.server.URL(), Process: fmt.Sprint(i), Journal: c.journal, Policy: p, Pause: pause})
		c.shops = append(c.shops, &shop{worker: w})
	}
	c.soon(20*time.Second, "the shops are open", func() bool { return len(c.sales(opened, "")) == n })
	for _, s := range c.sales(opened, "") {
		for _, shop := range c.shops {
			if shop.job.Process == s.Process {
				shop.url = "http://" + s.Addr
			}
		}
	}
	return c
}

// connections returns a transport with room for a crowd.
func connections() *http.Transport {
	return &http.Transport{MaxConnsPerHost: 300, MaxIdleConnsPerHost: 300, IdleConnTimeout: 10 * time.Second}
}

// sales returns what the keepers did, or what they did for one key.
func (c *chain) sales(did, key string) (found []sale) {
	c.t.Helper()
	all, err := entries[sale](c.journal)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, s := range all {
		if s.Did == did && (key == "" || s.Key == key) {
			found = append(found, s)
		}
	}
	return found
}

// front is in front of the shops: it knows who is who, and gives each request to the
// next shop, once. It does not send one again, since it has the body only once.
func (c *chain) front() string {
	c.t.Helper()
	var targets []*url.URL
	for _, s := range c.shops {
		u, err := url.Parse(s.url)
		if err != nil {
			c.t.Fatal(err)
		}
		targets = append(targets, u)
	}
	var turn atomic.Uint64
	transport := connections()
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(targets[turn.Add(1)%uint64(len(targets))])
			r.Out.Header.Set("X-User", strings.TrimPrefix(r.In.Header.Get("Authorization"), "Bearer "))
			r.Out.Header.Del("Authorization")
		},
	})
	c.t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return server.URL
}

// A reply is what came back.
type reply struct {
	status  int
	header  http.Header
	body    string
	problem interlockhttp.Problem
	err     error
	took    time.Duration
}

// send sends an order once, with the user as clients send it to the front, or as the
// front sends it to shops.
func (c *chain) send(ctx context.Context, address, key, body string, fields ...string) (r reply) {
	start := time.Now()
	defer func() { r.took = time.Since(start) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	req.GetBody = nil // or net/http sends it again by itself when a connection breaks
	req.Header.Set("Authorization", "Bearer ada")
	req.Header.Set("X-User", "ada")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	for _, name := range fields {
		req.Header.Set(name, "yes")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	if p, ok := interlockhttp.ReadProblem(resp); ok {
		r.problem = *p
	}
	text, err := io.ReadAll(resp.Body)
	r.status, r.header, r.body, r.err = resp.StatusCode, resp.Header, string(text), err
	return r
}

// The states of an order.
const (
	executed       = "executed"
	replayed       = "replayed"
	inProgress     = "409 in_progress"
	stillRunning   = "429 in_progress"
	duplicate      = "429 duplicate"
	outcomeUnknown = "409 outcome_unknown"
	down           = "503 store_unavailable"
)

// ending names how a request ended.
func (r reply) ending() string {
	switch {
	case r.err != nil:
		return r.err.Error()
	case r.problem.Code != "":
		return fmt.Sprint(r.status, " ", r.problem.Code)
	case r.status != http.StatusCreated:
		return fmt.Sprint(r.status, " ", r.body)
	case r.header.Get("Idempotent-Replayed") == "true":
		return replayed
	}
	return executed
}

// book is the key of the order that things happen to.
const book = "book-1"

// order sends an order to a shop of the chain.
func (c *chain) order(shop int, key string) reply {
	c.t.Helper()
	return c.send(c.t.Context(), c.shops[shop].url+"/orders", key, "one book")
}

// begin sends the order for the book to the first shop, the one that things happen
// to, and returns when its slow handler has begun. The reply comes on the channel.
func (c *chain) begin(ctx context.Context) <-chan reply {
	c.t.Helper()
	got := make(chan reply, 1)
	before := len(c.sales(taken, book))
	go func() { got <- c.send(ctx, c.shops[0].url+"/orders", book, "one book", "X-Slow") }() // bounded by the client's timeout
	c.soon(20*time.Second, "the handler is at work", func() bool { return len(c.sales(taken, book)) == before+1 })
	return got
}

// open lets the slow orders of the first shop be done.
func (c *chain) open() {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.shops[0].orders, "open"); err != nil {
		c.t.Fatal(err)
	}
}

// signal tells the process of the first shop something.
func (c *chain) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.shops[0].Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// want checks how a request ended.
func (c *chain) want(r reply, ending string) reply {
	c.t.Helper()
	if got := r.ending(); got != ending {
		c.t.Fatalf("%s, want %s: %v %q", got, ending, r.header, r.body)
	}
	return r
}

// wantUnstored checks that an order was executed and its response marked as not stored.
func (c *chain) wantUnstored(r reply) reply {
	c.t.Helper()
	c.want(r, executed)
	if got := r.header.Get("Idempotency-Stored"); got != "false" {
		c.t.Fatalf("Idempotency-Stored is %q, want false: %v", got, r.header)
	}
	return r
}

// wantStored is the opposite.
func (c *chain) wantStored(r reply) reply {
	c.t.Helper()
	c.want(r, executed)
	if got := r.header.Get("Idempotency-Stored"); got != "" || r.header.Get("Idempotency-Expires") == "" {
		c.t.Fatalf("it does not say for how long it is kept: %v", r.header)
	}
	return r
}

// wantReplay checks that a shop gives an answer again, byte for byte: with every
// field, but for those about the answer itself. A shop that was not
// notified yet answers "in progress" for a moment.
func (c *chain) wantReplay(shop int, key string, first reply) {
	c.t.Helper()
	var again reply
	c.soon(20*time.Second, fmt.Sprintf("shop %d has heard of the end", shop), func() bool {
		again = c.order(shop, key)
		return c.isAny(again, replayed, inProgress) == replayed
	})
	if again.status != first.status || again.body != first.body {
		c.t.Fatalf("shop %d answered %d %q, want %d %q", shop, again.status, again.body, first.status, first.body)
	}
	for _, h := range []http.Header{first.header, again.header} {
		for _, name := range []string{"Date", "Idempotent-Replayed", "Cache-Control", "Idempotency-Stored", "Idempotency-Expires"} {
			h.Del(name)
		}
	}
	if a, b := fmt.Sprint(first.header), fmt.Sprint(again.header); a != b { // printed in the order of the names
		c.t.Fatalf("shop %d answered with the fields %s, want %s", shop, b, a)
	}
}

// wantTaken checks how often an order was executed, in all shops.
func (c *chain) wantTaken(key string, n int) {
	c.t.Helper()
	if got := c.sales(taken, key); len(got) != n {
		c.t.Fatalf("order %q was executed %d times, want %d: %v", key, len(got), n, got)
	}
}

// wantEnded checks whether the context of the slow handler had ended before it.
func (c *chain) wantEnded(want bool) {
	c.t.Helper()
	if all := c.sales(served, book); len(all) != 1 || all[0].Ended != want {
		c.t.Fatalf("the handler's context had ended before it: want %v once, got %+v", want, all)
	}
}

// until sends the order for the book to a shop again and again, until it ends in a
// way; before, it may end only in the others that are given.
func (c *chain) until(shop int, ending string, before ...string) (r reply) {
	c.t.Helper()
	c.soon(20*time.Second, fmt.Sprintf("shop %d answers: %s", shop, ending), func() bool {
		r = c.order(shop, book)
		return c.isAny(r, append(before, ending)...) == ending
	})
	return r
}

// wantLogged checks that the process of a shop has told its operator something.
func (c *chain) wantLogged(shop int, words ...string) {
	c.t.Helper()
	text, err := os.ReadFile(logOf(c.shops[shop].job))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			return
		}
	}
	c.t.Errorf("no line of the log has %q:\n%s", words, text)
}
