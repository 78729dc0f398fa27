package cases

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/shop"
)

// A Player runs cases. Make one with [New].
type Player struct {
	direct, guarded string            // base URLs
	shop            *shop.Shop        // read for its state; requests go through HTTP
	client          *interlock.Client // of the gateway, to count its waiters
	http            *http.Client      // for both URLs

	mu   sync.Mutex      // guards runs
	runs map[string]*run // the active ones, by ID; Run adds and removes its own
}

// New returns a player for a shop whose locks belong to client. Wrap the shop with
// [Player.Observe], and call [Player.SetURLs] before the first run.
func New(s *shop.Shop, client *interlock.Client) *Player {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 128 // more than any case sends at once
	transport.Proxy = nil               // the shop is on this machine
	return &Player{
		shop: s, client: client, runs: make(map[string]*run),
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// SetURLs sets the URLs of the shop: direct, and behind Interlock.
func (p *Player) SetURLs(direct, guarded string) { p.direct, p.guarded = direct, guarded }

// Close closes idle connections.
func (p *Player) Close() { p.http.CloseIdleConnections() }

// Observe wraps the shop's handler and records when requests enter and leave it. The
// headers survive the gateway, so both ways are measured at the same place.
func (p *Player) Observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		run := p.runs[r.Header.Get(runHeader)]
		p.mu.Unlock()
		n, err := strconv.Atoi(r.Header.Get(requestHeader))
		if run == nil || err != nil || n < 1 || n > len(run.calls) {
			next.ServeHTTP(w, r) // not a request of a run
			return
		}
		run.record(n, Enter, Event{Fence: r.Header.Get("Interlock-Fence")})
		defer run.record(n, Leave, Event{}) // before the response is sent, and so before its lock is released
		next.ServeHTTP(w, r)
	})
}

// maxDuration limits a run. The longest case takes about 6 s.
const maxDuration = 30 * time.Second

// Run runs a case, directly or behind Interlock, and returns its verdict. It calls emit
// for each event, in order and one at a time. Several runs may be active: their IDs keep
// their keys and data apart.
func (p *Player) Run(ctx context.Context, c Case, direct bool, emit func(Event)) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, maxDuration)
	defer cancel()
	base := p.guarded
	if direct {
		base = p.direct
	}
	r := start(c, emit)
	p.mu.Lock()
	p.runs[r.id] = r
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.runs, r.id)
	}()
	r.sendAll(ctx, func(ctx context.Context, n int, s call) {
		req, err := r.request(ctx, base, n, s)
		if err != nil {
			r.record(n, Failed, Event{Code: "bad-request"})
			return
		}
		resp, err := p.http.Do(req)
		r.settle(n, resp, err)
	}, func(ctx context.Context, before int) { p.waitQueued(ctx, r, before, direct) })
	if ctx.Err() != nil {
		return Verdict{}, context.Cause(ctx)
	}
	return judge(c, r, direct, r.effect(c, p.shop)), nil
}

// The time between two queued requests, long enough to be visible on the chart; and
// between two direct ones, which have no queue.
const (
	queueInterval  = 15 * time.Millisecond
	directInterval = 2 * time.Millisecond
)

// waitQueued waits until all earlier requests are running, queued or answered, so that
// the order of arrival is known. After 2 s it gives up, and the verdict decides.
func (p *Player) waitQueued(ctx context.Context, r *run, before int, direct bool) {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end) && ctx.Err() == nil; {
		r.mu.Lock()
		// A refused, replayed or failed request never enters the shop, but it has
		// arrived.
		arrived := len(r.entered) + r.counts.refused + r.counts.replayed + r.counts.failed
		r.mu.Unlock()
		if !direct {
			arrived += p.waiting(ctx, r.id)
		}
		if arrived >= before {
			break
		}
		// Engines notify of a release, not of a new waiter.
		pause(ctx, time.Millisecond)
	}
	if direct {
		pause(ctx, directInterval)
		return
	}
	pause(ctx, queueInterval)
}

// waiting counts the waiters of a run's locks. Every key of a run contains its ID. An
// error ends the count; waitQueued asks again.
func (p *Player) waiting(ctx context.Context, id string) int {
	n := 0
	for lock, err := range p.client.Locks(ctx, "*"+id+"*") {
		if err != nil {
			return n
		}
		n += len(lock.Waiters)
	}
	return n
}

// pause waits for d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
