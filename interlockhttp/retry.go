package interlockhttp

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/backoff"
)

// A Retry describes why a request is sent again. It does not contain the key, so that it
// can be logged: the key of a payment gives access to its receipt.
type Retry struct {
	Intent  string        // the first 8 bytes of a hash of the key, in hex
	Attempt int           // tries so far
	After   time.Duration // the pause that follows
	Status  int           // the status of the response; zero without one
	Code    Code          // the code of the problem in the response; empty without one
	Err     error         // why there was no response
}

// shouldRetry decides whether to try again, and after which pause.
func (c *retrier) shouldRetry(resp *http.Response, err error) (Retry, bool) {
	r := Retry{Intent: c.intent.hash(), Attempt: c.tries, Err: err}
	if c.tries >= c.transport.attempts || c.req.Context().Err() != nil {
		return r, false
	}
	if err == nil && resp == nil {
		return r, false // violates http.RoundTripper; http.Client reports it
	}
	floor := time.Duration(0)
	if err != nil {
		if wrongServer(err) {
			return r, false
		}
	} else {
		a := readReply(resp)
		if !a.retryable() {
			return r, false
		}
		r.Status, r.Code = resp.StatusCode, a.problem.Code
		floor = min(a.retryDelay(), c.transport.maxRetryAfter)
	}
	r.After = floor + backoff.Full(c.transport.minPause, c.transport.maxPause, c.tries)
	return r, true
}

// hash identifies the intent in logs without revealing its key.
func (n intent) hash() string {
	sum := sha256.Sum256([]byte(n.key))
	return hex.EncodeToString(sum[:8])
}

// A serverReply is a response, with the parts that decide about a retry.
type serverReply struct {
	resp    *http.Response
	problem Problem // empty unless ours
	ours    bool    // the response is a problem with a code of this package
	foreign bool    // the response is a problem of another service, without hints about retries
}

// readReply reads the problem of an error response. Successes are not read, since their
// body may be large or a stream.
func readReply(resp *http.Response) serverReply {
	a := serverReply{resp: resp}
	if resp.StatusCode < http.StatusBadRequest {
		return a
	}
	p, ok := ReadProblem(resp)
	if !ok {
		return a
	}
	if _, a.ours = kinds[p.Code]; a.ours {
		a.problem = *p
	}
	a.foreign = !a.ours
	return a
}

// retryable reports whether the same request with the same key may succeed later.
func (a serverReply) retryable() bool {
	// After Duplicate the work would run a second time.
	if a.ours && (!a.problem.Retryable || !a.problem.SameKey || a.problem.Code == Duplicate) {
		return false
	}
	switch a.resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusConflict:
		if !a.ours {
			return !a.foreign && a.resp.Header.Get("Retry-After") != "" // a temporary conflict
		}
	}
	return a.problem.Code == InProgress || a.problem.Code == Locked
}

// retryDelay returns the pause that the server requests; zero without one. A problem gives
// it in milliseconds, the header in seconds.
func (a serverReply) retryDelay() time.Duration {
	if a.problem.RetryAfter > 0 {
		return a.problem.RetryAfter
	}
	value := a.resp.Header.Get("Retry-After")
	if d, ok := deltaSeconds(value); ok {
		return d
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	// The clocks may differ, so the pause is measured by the server's clock if it is known.
	now, err := http.ParseTime(a.resp.Header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}

// expires returns how long the server keeps the key, if the response says so.
func expires(resp *http.Response) (time.Duration, bool) {
	if resp == nil {
		return 0, false
	}
	return deltaSeconds(resp.Header.Get("Idempotency-Expires"))
}

// maxSeconds is a hundred years, so that adding it to a time does not overflow.
const maxSeconds = 100 * 365 * 24 * 60 * 60

// deltaSeconds parses seconds in a header field: digits only.
func deltaSeconds(value string) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if value == "" || strings.Trim(value, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		n = maxSeconds // only digits, so the number is too large
	}
	return time.Duration(min(n, maxSeconds)) * time.Second, true
}
