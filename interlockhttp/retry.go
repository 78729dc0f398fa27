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

// A Retry says why a request is sent again. It does not tell the key, so that it can
// be logged as it is: who has the key of a payment may ask for its receipt.
type Retry struct {
	Intent  string        // tells intents apart: the beginning of a hash of the key
	Attempt int           // how often the request was sent until now
	After   time.Duration // how long the pause is that follows
	Status  int           // of the answer; zero if there was none
	Code    Code          // of the problem in it; empty if there was none
	Err     error         // why there was no answer
}

// shouldRetry tells whether what a try came to is worth another one, and when.
func (c *retrier) shouldRetry(resp *http.Response, err error) (Retry, bool) {
	r := Retry{Intent: c.intent.hash(), Attempt: c.tries, Err: err}
	if c.tries >= c.transport.attempts || c.req.Context().Err() != nil {
		return r, false
	}
	if err == nil && resp == nil {
		return r, false // against the contract, and for http.Client to complain about
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

func (n intent) hash() string {
	sum := sha256.Sum256([]byte(n.key))
	return hex.EncodeToString(sum[:8])
}

// A serverReply is what a server said, as far as it is about coming back.
type serverReply struct {
	resp    *http.Response
	problem Problem // empty if there is none, or it is not one of ours
	ours    bool
	foreign bool // it is somebody else's, who says nothing of retries
}

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

// retryable tells whether the same request, with the same key, may fare better later.
func (a serverReply) retryable() bool {
	// What was refused because it had just been done would be done twice.
	if a.ours && (!a.problem.Retryable || !a.problem.SameKey || a.problem.Code == Duplicate) {
		return false
	}
	switch a.resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusConflict:
		if !a.ours {
			return !a.foreign && a.resp.Header.Get("Retry-After") != "" // a conflict that passes
		}
	}
	return a.problem.Code == InProgress || a.problem.Code == Locked
}

// retryDelay returns how long the server wants to be left alone; zero if it does not
// say. A problem says it in milliseconds, the header in seconds at best.
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
	// The two clocks differ; where the server's is known, it is the one that counts.
	now, err := http.ParseTime(a.resp.Header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}

// expires returns for how long the key of a request is good, if the answer says so.
func expires(resp *http.Response) (time.Duration, bool) {
	if resp == nil {
		return 0, false
	}
	return deltaSeconds(resp.Header.Get("Idempotency-Expires"))
}

// maxSeconds is a hundred years: a sum with it is still a time.
const maxSeconds = 100 * 365 * 24 * 60 * 60

// deltaSeconds reads a number of seconds as header fields have it: digits, and nothing else.
func deltaSeconds(value string) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if value == "" || strings.Trim(value, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		n = maxSeconds // all digits: it is only too large
	}
	return time.Duration(min(n, maxSeconds)) * time.Second, true
}
