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

// An Event is something that happened to one of the requests.
type Event struct {
	At     float64 `json:"at"`  // milliseconds after the start
	Who    int     `json:"who"` // counted from 1
	Kind   Kind    `json:"kind"`
	Label  string  `json:"label,omitempty"`
	Shared bool    `json:"shared,omitempty"`
	Status int     `json:"status,omitempty"`
	Code   string  `json:"code,omitempty"`  // of the problem, if it was refused
	Left   int64   `json:"left,omitempty"`  // milliseconds after which to come back
	Fence  string  `json:"fence,omitempty"` // a number too large for a browser's
}

// A Kind is what happened.
type Kind string

// The kinds.
const (
	Ask      Kind = "ask"      // it is sent
	Enter    Kind = "enter"    // the shop begins with it
	Leave    Kind = "leave"    // the shop is done with it
	Answered Kind = "answered" // its answer is there
	Refused  Kind = "refused"  // it never reached the shop
	Replayed Kind = "replayed" // it got the answer to an earlier one
	Failed   Kind = "failed"   // it got no proper answer
)

// A run is a case under way.
type run struct {
	id    string
	shots []shot
	began time.Time
	tell  func(Event)

	mu      sync.Mutex
	log     history.Log
	entered map[int]bool
	tally   tally
	served  chan struct{}   // closed when the shop begins with the first that comes there
	done    []chan struct{} // closed when the shot is answered
}

// A tally is what became of the requests.
type tally struct{ ran, refused, replayed, failed int }

// start makes a run. What happens is told in order, one at a time.
func start(c Case, tell func(Event)) *run {
	r := &run{id: strings.ToLower(rand.Text()[:10]), shots: c.shots, began: time.Now(), tell: tell, entered: make(map[int]bool), served: make(chan struct{})}
	for range c.shots {
		r.done = append(r.done, make(chan struct{}))
	}
	return r
}

// note records something that happened, for the checker and for who looks on.
func (r *run) note(who int, kind Kind, e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	s := r.shots[who-1]
	e.At, e.Who, e.Kind, e.Shared, e.Label = float64(now.Sub(r.began).Microseconds())/1000, who, kind, s.shared, s.label
	h := history.Event{Key: r.id, Who: strconv.Itoa(who), Shared: s.shared, At: now}
	switch kind {
	case Ask:
		h.Kind = history.Ask
	case Enter:
		h.Kind = history.Enter
		h.Fence, _ = strconv.ParseUint(e.Fence, 10, 64) // none, directly
		if len(r.entered) == 0 {
			close(r.served)
		}
		r.entered[who] = true
		r.tally.ran++
	case Leave:
		h.Kind = history.Leave
	case Refused, Replayed, Failed:
		h.Kind = history.Stop
		*map[Kind]*int{Refused: &r.tally.refused, Replayed: &r.tally.replayed, Failed: &r.tally.failed}[kind]++
	}
	if h.Kind != "" {
		r.log.Add(h)
	}
	r.tell(e)
}

// fire sends everybody's request when its time has come, and waits for all.
func (r *run) fire(ctx context.Context, send func(context.Context, int, shot), inLine func(context.Context, int)) {
	var all sync.WaitGroup
	for i, s := range r.shots {
		if s.inLine && i > 0 {
			inLine(ctx, i)
		}
		all.Go(func() { // waited for below
			defer close(r.done[i])
			if r.turn(ctx, s) {
				r.note(i+1, Ask, Event{})
				send(ctx, i+1, s)
			}
		})
	}
	all.Wait()
}

// turn waits until a shot's time has come.
func (r *run) turn(ctx context.Context, s shot) bool {
	switch {
	case s.after > 0:
		select {
		case <-r.done[s.after-1]:
			return true
		case <-ctx.Done():
			return false
		}
	case s.at > 0:
		return r.later(ctx, s.at)
	}
	return ctx.Err() == nil
}

// later waits until the first request has been served for a while. By the clock alone,
// on a machine that is busy, the second might come before the first.
func (r *run) later(ctx context.Context, d time.Duration) bool {
	select {
	case <-r.served:
	case <-r.done[0]: // it never came there
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

// What the shop is told of who calls, so that it can be told on the page.
const (
	runHeader = "X-Demo-Run"
	whoHeader = "X-Demo-Who"
)

// request makes the request of a shot.
func (r *run) request(ctx context.Context, base string, who int, s shot) (*http.Request, error) {
	fill := strings.NewReplacer("{id}", r.id, "{n}", strconv.Itoa(who)).Replace
	req, err := http.NewRequestWithContext(ctx, s.method, base+fill(s.path), strings.NewReader(fill(s.body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set(runHeader, r.id)
	req.Header.Set(whoHeader, strconv.Itoa(who))
	if s.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.key != "" {
		req.Header.Set("Idempotency-Key", fill(s.key))
	}
	return req, nil
}

// settle notes what came back.
func (r *run) settle(who int, resp *http.Response, err error) {
	if err != nil {
		r.note(who, Failed, Event{Code: "no answer"})
		return
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	e := Event{Status: resp.StatusCode}
	problem, refused := interlockhttp.ReadProblem(resp)
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection can be used again
	r.mu.Lock()
	ran := r.entered[who]
	r.mu.Unlock()
	switch {
	case resp.Header.Get("Idempotent-Replayed") == "true":
		r.note(who, Replayed, e)
	case refused && !ran && resp.StatusCode < http.StatusInternalServerError:
		e.Code, e.Left = string(problem.Code), problem.RetryAfter.Milliseconds()
		r.note(who, Refused, e)
	case resp.StatusCode >= http.StatusInternalServerError || !ran:
		if refused {
			e.Code = string(problem.Code)
		}
		r.note(who, Failed, e)
	default:
		r.note(who, Answered, e)
	}
}

// effect returns what became of the shop, as far as this run is concerned.
func (r *run) effect(c Case, s *shop.Shop) effect { return c.want.effect(s.State(), r.id) }
