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

// A shopCluster is a group of shop processes that share a Redis.
type shopCluster struct {
	*fixture
	journal string
	shops   []*shopProcess
	client  *http.Client
}

// A shopProcess is the process of a shopServer and its URL.
type shopProcess struct {
	*worker
	url string
}

// startShops starts n shops. Each order takes the given pause.
func startShops(t *testing.T, n int, p guard.Policy, pause time.Duration, args ...string) *shopCluster {
	t.Helper()
	c := &shopCluster{
		fixture: &fixture{t: t, server: redistest.Start(t, args...)},
		journal: filepath.Join(t.TempDir(), "journal"),
		client:  &http.Client{Timeout: time.Minute, Transport: newTransport()},
	}
	t.Cleanup(c.client.CloseIdleConnections)
	for i := range n {
		w := start(t, job{Do: "shop", Engine: c.server.URL(), Process: fmt.Sprint(i), Journal: c.journal, Policy: p, Pause: pause})
		c.shops = append(c.shops, &shopProcess{worker: w})
	}
	c.eventually(20*time.Second, "the shops are listening", func() bool { return len(c.events(listening, "")) == n })
	for _, e := range c.events(listening, "") {
		for _, shop := range c.shops {
			if shop.job.Process == e.Process {
				shop.url = "http://" + e.Addr
			}
		}
	}
	return c
}

// newTransport returns a transport for many concurrent requests.
func newTransport() *http.Transport {
	return &http.Transport{MaxConnsPerHost: 300, MaxIdleConnsPerHost: 300, IdleConnTimeout: 10 * time.Second}
}

// events returns the journal's events of one type, of all keys or of one.
func (c *shopCluster) events(step, key string) (found []shopEvent) {
	c.t.Helper()
	all, err := readEntries[shopEvent](c.journal)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range all {
		if e.Did == step && (key == "" || e.Key == key) {
			found = append(found, e)
		}
	}
	return found
}

// startProxy starts an authenticating reverse proxy in front of the shops. It distributes the
// requests in turn. It does not retry, because it cannot read a body twice.
func (c *shopCluster) startProxy() string {
	c.t.Helper()
	var targets []*url.URL
	for _, s := range c.shops {
		u, err := url.Parse(s.url)
		if err != nil {
			c.t.Fatal(err)
		}
		targets = append(targets, u)
	}
	var next atomic.Uint64
	transport := newTransport()
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(targets[next.Add(1)%uint64(len(targets))])
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

// A reply is the response to a request, or its error.
type reply struct {
	status  int
	header  http.Header
	body    string
	problem interlockhttp.Problem
	err     error
	took    time.Duration
}

// send sends an order once. It sets the user in both header fields: in Authorization, which
// the proxy reads, and in X-User, which a shop reads.
func (c *shopCluster) send(ctx context.Context, address, key, body string, fields ...string) (r reply) {
	start := time.Now()
	defer func() { r.took = time.Since(start) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	req.GetBody = nil // otherwise net/http retries when a connection breaks
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

// The outcomes of a request.
const (
	executed       = "executed"
	replayed       = "replayed"
	inProgress     = "409 in_progress"
	stillRunning   = "429 in_progress"
	duplicate      = "429 duplicate"
	outcomeUnknown = "409 outcome_unknown"
	down           = "503 store_unavailable"
)

// outcome returns the outcome of a request.
func (r reply) outcome() string {
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

// book is the key of the order in most rows.
const book = "book-1"

// order sends an order to a shop.
func (c *shopCluster) order(shop int, key string) reply {
	c.t.Helper()
	return c.send(c.t.Context(), c.shops[shop].url+"/orders", key, "one book")
}

// startSlowOrder sends the order for the book to the first shop and returns when its slow
// handler has started. The channel receives the reply.
func (c *shopCluster) startSlowOrder(ctx context.Context) <-chan reply {
	c.t.Helper()
	got := make(chan reply, 1)
	before := len(c.events(handlerStarted, book))
	go func() { got <- c.send(ctx, c.shops[0].url+"/orders", book, "one book", "X-Slow") }() // bounded by the client's timeout
	c.eventually(20*time.Second, "the handler has started", func() bool { return len(c.events(handlerStarted, book)) == before+1 })
	return got
}

// finishSlowOrders lets the slow handlers of the first shop finish.
func (c *shopCluster) finishSlowOrders() {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.shops[0].stdin, "open"); err != nil {
		c.t.Fatal(err)
	}
}

// signal sends a signal to the first shop's process.
func (c *shopCluster) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.shops[0].Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// want checks the outcome of a request.
func (c *shopCluster) want(r reply, outcome string) reply {
	c.t.Helper()
	if got := r.outcome(); got != outcome {
		c.t.Fatalf("the outcome is %s, want %s: %v %q", got, outcome, r.header, r.body)
	}
	return r
}

// wantUnstored checks that an order was executed and its response marked as not stored.
func (c *shopCluster) wantUnstored(r reply) reply {
	c.t.Helper()
	c.want(r, executed)
	if got := r.header.Get("Idempotency-Stored"); got != "false" {
		c.t.Fatalf("Idempotency-Stored is %q, want false: %v", got, r.header)
	}
	return r
}

// wantStored checks that an order was executed and its response stored.
func (c *shopCluster) wantStored(r reply) reply {
	c.t.Helper()
	c.want(r, executed)
	if got := r.header.Get("Idempotency-Stored"); got != "" || r.header.Get("Idempotency-Expires") == "" {
		c.t.Fatalf("the header is %v, want Idempotency-Expires and no Idempotency-Stored", r.header)
	}
	return r
}

// wantReplay checks that a shop replays a response: the same body, and the same header fields
// except those about the replay. A shop may respond "in progress" until it is notified.
func (c *shopCluster) wantReplay(shop int, key string, first reply) {
	c.t.Helper()
	var again reply
	c.eventually(20*time.Second, fmt.Sprintf("shop %d replays the response", shop), func() bool {
		again = c.order(shop, key)
		return c.wantOneOf(again, replayed, inProgress) == replayed
	})
	if again.status != first.status || again.body != first.body {
		c.t.Fatalf("shop %d responded %d %q, want %d %q", shop, again.status, again.body, first.status, first.body)
	}
	for _, h := range []http.Header{first.header, again.header} {
		for _, name := range []string{"Date", "Idempotent-Replayed", "Cache-Control", "Idempotency-Stored", "Idempotency-Expires"} {
			h.Del(name)
		}
	}
	if a, b := fmt.Sprint(first.header), fmt.Sprint(again.header); a != b { // printed in sorted order
		c.t.Fatalf("shop %d responded with header %s, want %s", shop, b, a)
	}
}

// wantExecutions checks how often all shops together executed an order.
func (c *shopCluster) wantExecutions(key string, n int) {
	c.t.Helper()
	if got := c.events(handlerStarted, key); len(got) != n {
		c.t.Fatalf("order %q was executed %d times, want %d: %v", key, len(got), n, got)
	}
}

// wantContextEnded checks whether the slow handler's context ended before the handler.
func (c *shopCluster) wantContextEnded(want bool) {
	c.t.Helper()
	if all := c.events(handlerDone, book); len(all) != 1 || all[0].Ended != want {
		c.t.Fatalf("got the events %+v; want one, with Ended %v", all, want)
	}
}

// retryUntil sends the order for the book to a shop until it has the given outcome. Before
// that, only the outcomes in before are allowed.
func (c *shopCluster) retryUntil(shop int, outcome string, before ...string) (r reply) {
	c.t.Helper()
	c.eventually(20*time.Second, fmt.Sprintf("shop %d responds: %s", shop, outcome), func() bool {
		r = c.order(shop, book)
		return c.wantOneOf(r, append(before, outcome)...) == outcome
	})
	return r
}

// wantLogged checks that a line of a shop's log has all the words.
func (c *shopCluster) wantLogged(shop int, words ...string) {
	c.t.Helper()
	text, err := os.ReadFile(logPath(c.shops[shop].job))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		all := true
		for _, name := range words {
			all = all && strings.Contains(line, name)
		}
		if all {
			return
		}
	}
	c.t.Errorf("no line of the log contains %q:\n%s", words, text)
}
