package loadtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Each is an idempotency key that stands for a new one for each request.
const Each = "each"

// ErrElsewhere means that a URL leads away from this machine. A storm at somebody
// else's server is an attack, whatever it is meant to be.
var ErrElsewhere = errors.New("only this machine may be stormed: a URL on localhost, 127.0.0.1 or [::1]")

// Requests are sent to one URL at once.
type Requests struct {
	URL    string
	Method string
	Body   string
	Key    string // the Idempotency-Key of all; [Each] for one each, empty for none
	N      int

	Progress func(done int) // may be nil

	done  atomic.Int64
	mu    sync.Mutex
	tally tally
}

// A tally is what came back.
type tally struct {
	executed, replayed, refused, errors int
	answers                             map[[sha256.Size]byte]bool // of those that succeeded
	statuses                            map[int]int
	problems                            map[string]int
	took                                []time.Duration
	first                               error
}

// mostAnswer is how much of an answer is read.
const mostAnswer = 1 << 20

// CheckURL refuses what cannot be stormed.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return fmt.Errorf("%q is not a URL such as http://127.0.0.1:8080/orders", text)
	case u.User != nil:
		return fmt.Errorf("a URL with a password is in everybody's process list: leave it out")
	case u.Hostname() == "localhost":
		return nil
	}
	if a, err := netip.ParseAddr(u.Hostname()); err != nil || !a.IsLoopback() {
		return ErrElsewhere
	}
	return nil
}

// Run sends them all at once, and waits for the answers.
func (q *Requests) Run(ctx context.Context) (*Result, error) {
	if err := CheckURL(q.URL); err != nil {
		return nil, err
	}
	q.tally.answers, q.tally.statuses, q.tally.problems = make(map[[sha256.Size]byte]bool), make(map[int]int), make(map[string]int)
	client, closeAll := q.client()
	defer closeAll()
	began := time.Now()
	stop := tell(q.Progress, func() int { return int(q.done.Load()) })
	start := make(chan struct{})
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
	if len(q.tally.took) == 0 {
		return nil, fmt.Errorf("no request was answered: %w", q.tally.first)
	}
	t := &q.tally
	return &Result{Statuses: t.statuses, Problems: t.problems, Figures: []Figure{
		count("n", q.N), count("executed", t.executed), count("replayed", t.replayed), count("refused", t.refused),
		count("errors", t.errors), count("answers", len(t.answers)),
		span("p50", percentile(t.took, 0.5)), span("p99", percentile(t.took, 0.99)), span("elapsed", time.Since(began)),
	}}, nil
}

// client is one that only reaches this machine, whatever a name resolves to, asks
// no proxy and follows nobody elsewhere.
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
				return nil, ErrElsewhere
			}
			return conn, nil
		},
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, transport.CloseIdleConnections
}

// send sends one and counts what comes back.
func (q *Requests) send(ctx context.Context, client *http.Client) {
	began := time.Now()
	a, err := q.exchange(ctx, client)
	took := time.Since(began)
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &q.tally
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

// An answer is what is looked at of a response.
type answer struct {
	status   int
	replayed bool
	body     [sha256.Size]byte // its hash
	problem  string            // its code, if it is one
}

func (q *Requests) exchange(ctx context.Context, client *http.Client) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, q.Method, q.URL, strings.NewReader(q.Body))
	if err != nil {
		return answer{}, err
	}
	switch q.Key {
	case "":
	case Each:
		request.Header.Set("Idempotency-Key", rand.Text())
	default:
		request.Header.Set("Idempotency-Key", q.Key)
	}
	if q.Body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	return answer{
		status: response.StatusCode, replayed: response.Header.Get("Idempotent-Replayed") == "true", body: sha256.Sum256(body),
		problem: problemIn(response.Header.Get("Content-Type"), body),
	}, err
}

// mostCode is how long a code may be that is counted: it is somebody else's text.
const mostCode = 64

// problemIn returns the code of a problem (RFC 9457), or "" if a body is none or has
// none.
func problemIn(kind string, body []byte) string {
	if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/problem+json" {
		return ""
	}
	var p struct{ Code string }
	if json.Unmarshal(body, &p) != nil || len(p.Code) > mostCode {
		return ""
	}
	return p.Code
}
