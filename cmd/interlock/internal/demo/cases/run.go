package cases

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/shop"
	"github.com/interlock-go/interlock/engine/enginetest/history"
	"github.com/interlock-go/interlock/interlockhttp"
)

// An Event is a change of the state of a request.
type Event struct {
	AtMS         float64 `json:"at_ms"`   // since the start of the run
	Request      int     `json:"request"` // its number, from 1
	Kind         Kind    `json:"kind"`
	Label        string  `json:"label,omitempty"`
	Shared       bool    `json:"shared,omitempty"`
	Status       int     `json:"status,omitempty"`
	Code         string  `json:"code,omitempty"` // of the problem
	RetryAfterMS int64   `json:"retry_after_ms,omitempty"`
	Fence        string  `json:"fence,omitempty"` // as a string: too large for a JavaScript number
}

// A Kind is a kind of event.
type Kind string

// The kinds.
const (
	Ask      Kind = "ask"      // the request is sent
	Enter    Kind = "enter"    // it enters the shop
	Leave    Kind = "leave"    // it leaves the shop
	Answered Kind = "answered" // the response of the shop has arrived
	Refused  Kind = "refused"  // the gateway refused it
	Replayed Kind = "replayed" // it got an earlier response
	Failed   Kind = "failed"   // it got an error or no response
)

// A run is a case that is being run.
type run struct {
	id    string
	calls []call
	began time.Time
	emit  func(Event) // called under mu, so it must not block

	mu      sync.Mutex // guards the next three fields, and keeps events in order
	log     history.Log
	entered map[int]bool    // requests that reached the shop
	counts  outcomes        // of the requests so far
	served  chan struct{}   // closed when the first request enters the shop
	done    []chan struct{} // closed when the request is answered
}

// outcomes counts the requests by outcome.
type outcomes struct{ ran, refused, replayed, failed int }

// start returns a new run.
func start(c Case, emit func(Event)) *run {
	// 50 random bits are enough: an ID lives in the demo's keys only. Paths and keys need
	// no escapes.
	r := &run{id: strings.ToLower(rand.Text()[:10]), calls: c.calls, began: time.Now(), emit: emit, entered: make(map[int]bool), served: make(chan struct{})}
	for range c.calls {
		r.done = append(r.done, make(chan struct{}))
	}
	return r
}

// record adds an event to the history and emits it.
func (r *run) record(n int, kind Kind, e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now() // under the lock, so that times rise with the order of events
	s := r.calls[n-1]
	e.AtMS, e.Request, e.Kind, e.Shared, e.Label = float64(now.Sub(r.began).Microseconds())/1000, n, kind, s.shared, s.label
	h := history.Event{Key: r.id, Actor: strconv.Itoa(n), Shared: s.shared, At: now}
	switch kind {
	case Ask:
		h.Kind = history.Ask
	case Enter:
		h.Kind = history.Enter
		h.Fence, _ = strconv.ParseUint(e.Fence, 10, 64) // direct requests have no fence
		// Only the first entry closes the channel.
		if len(r.entered) == 0 {
			close(r.served)
		}
		r.entered[n] = true
		r.counts.ran++
	case Leave:
		h.Kind = history.Leave
	case Refused, Replayed, Failed:
		h.Kind = history.Stop
		*map[Kind]*int{Refused: &r.counts.refused, Replayed: &r.counts.replayed, Failed: &r.counts.failed}[kind]++
	}
	// Answered follows a Leave, which the history has already.
	if h.Kind != "" {
		r.log.Add(h)
	}
	r.emit(e)
}

// sendAll sends each request when it is due, and waits for all. It calls waitQueued(n)
// before a queued request, to wait until the n earlier ones have arrived.
func (r *run) sendAll(ctx context.Context, send func(context.Context, int, call), waitQueued func(context.Context, int)) {
	var all sync.WaitGroup
	for i, s := range r.calls {
		// The wait is in this loop, so that no later request is sent either.
		if s.queued && i > 0 {
			waitQueued(ctx, i)
		}
		all.Go(func() { // waited for below
			// Also for a request that was not sent: another one may wait for it.
			defer close(r.done[i])
			if r.waitTurn(ctx, s) {
				r.record(i+1, Ask, Event{})
				send(ctx, i+1, s)
			}
		})
	}
	all.Wait()
}

// waitTurn waits until a call is due. It reports false if ctx ended first.
func (r *run) waitTurn(ctx context.Context, s call) bool {
	switch {
	case s.after > 0:
		select {
		case <-r.done[s.after-1]:
			return true
		case <-ctx.Done():
			return false
		}
	case s.at > 0:
		return r.waitAfterFirst(ctx, s.at)
	}
	return ctx.Err() == nil
}

// waitAfterFirst waits until the first request has been in the shop for d. If the time
// counted from the start, a busy machine could send the second request before the first.
func (r *run) waitAfterFirst(ctx context.Context, d time.Duration) bool {
	select {
	case <-r.served:
	case <-r.done[0]: // the first request was answered without reaching the shop
	case <-ctx.Done():
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// The headers that identify a request of a run.
const (
	runHeader     = "X-Demo-Run"
	requestHeader = "X-Demo-Request"
)

// request builds the HTTP request of a call.
func (r *run) request(ctx context.Context, base string, n int, s call) (*http.Request, error) {
	fill := strings.NewReplacer("{id}", r.id, "{n}", strconv.Itoa(n)).Replace
	req, err := http.NewRequestWithContext(ctx, s.method, base+fill(s.path), strings.NewReader(fill(s.body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set(runHeader, r.id)
	req.Header.Set(requestHeader, strconv.Itoa(n))
	if s.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.key != "" {
		req.Header.Set("Idempotency-Key", fill(s.key))
	}
	return req, nil
}

// settle records the response of a request. A refusal has a problem document, and never
// reached the shop. The shop's own 4xx responses are answers.
func (r *run) settle(n int, resp *http.Response, err error) {
	if err != nil {
		r.record(n, Failed, Event{Code: "no-response"})
		return
	}
	defer resp.Body.Close() //nolint:errcheck // the body was only read
	e := Event{Status: resp.StatusCode}
	problem, refused := interlockhttp.ReadProblem(resp)
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection can be reused
	r.mu.Lock()
	ran := r.entered[n]
	r.mu.Unlock()
	switch {
	case resp.Header.Get("Idempotent-Replayed") == "true":
		r.record(n, Replayed, e)
	case refused && !ran && resp.StatusCode < http.StatusInternalServerError:
		e.Code, e.RetryAfterMS = string(problem.Code), problem.RetryAfter.Milliseconds()
		r.record(n, Refused, e)
	case resp.StatusCode >= http.StatusInternalServerError || !ran:
		if refused {
			e.Code = string(problem.Code)
		}
		r.record(n, Failed, e)
	default:
		r.record(n, Answered, e)
	}
}

// effect returns the finding about the shop's data.
func (r *run) effect(c Case, s *shop.Shop) effect { return c.want.effect(s.State(), r.id) }
