package loadtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Each is a value of Key that gives every request a new key.
const Each = "each"

// ErrNotLocal means that a URL is not on this machine. A load test on the server of
// another party is an attack.
var ErrNotLocal = errors.New("the URL is not on this machine: use localhost, 127.0.0.1 or [::1]")

// Requests are sent to one URL at the same time.
type Requests struct {
	URL    string
	Method string
	Body   string
	Header http.Header // of all requests; it may replace Content-Type and Host
	Key    string      // the Idempotency-Key of all requests, [Each], or empty for none
	N      int

	Progress func(done int) // may be nil

	done   atomic.Int64 // read by the progress report during the run
	mu     sync.Mutex   // guards counts until all requests are answered
	counts responseCounts
}

// responseCounts counts the responses.
type responseCounts struct {
	executed, replayed, refused, errors int
	answers                             map[[sha256.Size]byte]bool // hashes of successful responses
	statuses                            map[int]int
	problems                            map[string]int
	took                                []time.Duration // of answered requests only
	first                               error           // for the message if no request is answered
}

// maxAnswer is the number of bytes of a response that are read. The limit keeps a hostile
// server from filling our memory.
const maxAnswer = 1 << 20

// CheckURL returns an error unless the URL is on this machine.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return fmt.Errorf("%q is not a URL such as http://127.0.0.1:8080/orders", text)
	case u.User != nil:
		return fmt.Errorf("the URL contains a password, which other users can see in the process list: leave it out")
	case u.Hostname() == "localhost":
		return nil
	}
	if a, err := netip.ParseAddr(u.Hostname()); err != nil || !a.IsLoopback() {
		return ErrNotLocal
	}
	return nil
}

// Run sends all requests at once and waits for the responses.
func (q *Requests) Run(ctx context.Context) (*Result, error) {
	if err := CheckURL(q.URL); err != nil {
		return nil, err
	}
	q.counts.answers, q.counts.statuses, q.counts.problems = make(map[[sha256.Size]byte]bool), make(map[int]int), make(map[string]int)
	client, closeAll := q.client()
	defer closeAll()
	began := time.Now()
	stop := reportProgress(q.Progress, func() int { return int(q.done.Load()) })
	start := make(chan struct{}) // closed below, to send all requests at once
	var all sync.WaitGroup
	for range q.N {
		all.Go(func() { // waited for below
			<-start
			q.send(ctx, client)
			q.done.Add(1)
		})
	}
	close(start)
	all.Wait()
	stop()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// Without any answer, the figures would all be zero and could meet a threshold.
	if len(q.counts.took) == 0 {
		return nil, fmt.Errorf("no request was answered: %w", q.counts.first)
	}
	t := &q.counts
	return &Result{Statuses: t.statuses, Problems: t.problems, Figures: []Figure{
		count("n", q.N), count("executed", t.executed), count("replayed", t.replayed), count("refused", t.refused),
		count("errors", t.errors), count("answers", len(t.answers)),
		span("p50", percentile(t.took, 0.5)), span("p99", percentile(t.took, 0.99)), span("elapsed", time.Since(began)),
	}}, nil
}

// client returns an HTTP client that connects to this machine only, whatever a name
// resolves to. It uses no proxy and follows no redirects.
func (q *Requests) client() (c *http.Client, closeAll func()) {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	transport := &http.Transport{
		MaxIdleConnsPerHost: q.N,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
				_ = conn.Close()
				return nil, ErrNotLocal
			}
			return conn, nil
		},
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, transport.CloseIdleConnections
}

// send sends a request and counts its response.
func (q *Requests) send(ctx context.Context, client *http.Client) {
	began := time.Now()
	a, err := q.exchange(ctx, client)
	took := time.Since(began)
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &q.counts
	if err != nil {
		t.errors++
		if t.first == nil {
			t.first = err
		}
		return
	}
	t.took = append(t.took, took)
	t.statuses[a.status]++
	if a.problem != "" {
		t.problems[a.problem]++
	}
	switch {
	case a.status >= 500:
		t.errors++
	// A refusal is an expected answer of a gateway, such as 409 for a duplicate.
	case a.status >= 400:
		t.refused++
	case a.replayed:
		t.replayed++
		t.answers[a.body] = true
	default:
		t.executed++
		t.answers[a.body] = true
	}
}

// An answer contains the parts of a response that are counted.
type answer struct {
	status   int
	replayed bool
	body     [sha256.Size]byte // hash of the body
	problem  string            // the code of a problem, or ""
}

// exchange sends one request. It reads the body before the connection is reused.
func (q *Requests) exchange(ctx context.Context, client *http.Client) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, q.Method, q.URL, strings.NewReader(q.Body))
	if err != nil {
		return answer{}, err
	}
	if q.Body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(request.Header, q.Header.Clone())
	if host := q.Header.Get("Host"); host != "" {
		request.Host = host // net/http ignores the field
	}
	switch q.Key {
	case "":
	case Each:
		// New keys show that different requests all run.
		request.Header.Set("Idempotency-Key", rand.Text())
	default:
		request.Header.Set("Idempotency-Key", q.Key)
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // the body was read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return answer{
		status: response.StatusCode, replayed: response.Header.Get("Idempotent-Replayed") == "true", body: sha256.Sum256(body),
		problem: problemIn(response.Header.Get("Content-Type"), body),
	}, err
}

// maxCode is the longest code that is counted, in bytes. The server chooses the code.
const maxCode = 64

// problemIn returns the code of a problem document (RFC 9457), or "" if the body is
// something else.
func problemIn(kind string, body []byte) string {
	if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/problem+json" {
		return ""
	}
	var p struct{ Code string }
	if json.Unmarshal(body, &p) != nil || len(p.Code) > maxCode {
		return ""
	}
	return p.Code
}
