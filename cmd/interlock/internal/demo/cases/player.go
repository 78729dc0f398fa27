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
	direct, guarded string // base URLs
	shop            *shop.Shop
	client          *interlock.Client
	http            *http.Client

	mu   sync.Mutex
	runs map[string]*run
}

// New returns a player for a shop, whose locks are client's. [Player.Door] goes
// in front of the shop, and then [Player.At] says where both can be reached.
func New(s *shop.Shop, client *interlock.Client) *Player {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 128 // as many as come at once
	transport.Proxy = nil
	return &Player{
		shop: s, client: client, runs: make(map[string]*run),
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// At says where the shop is, and where it is behind Interlock. It is called
// before anything is run.
func (p *Player) At(direct, guarded string) { p.direct, p.guarded = direct, guarded }

// Close gives up connections that nobody uses.
func (p *Player) Close() { p.http.CloseIdleConnections() }

// Door returns the shop with a door that tells who goes in and out.
func (p *Player) Door(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		run := p.runs[r.Header.Get(runHeader)]
		p.mu.Unlock()
		who, err := strconv.Atoi(r.Header.Get(whoHeader))
		if run == nil || err != nil || who < 1 || who > len(run.shots) {
			next.ServeHTTP(w, r) // somebody with curl
			return
		}
		run.note(who, Enter, Event{Fence: r.Header.Get("Interlock-Fence")})
		defer run.note(who, Leave, Event{}) // before the answer is sent, and so before any lock is given back
		next.ServeHTTP(w, r)
	})
}

// longest is how long a case may take.
const longest = 30 * time.Second

// Run runs a case, directly or behind Interlock, and judges it. What happens is
// told in order, one event at a time.
func (p *Player) Run(ctx context.Context, c Case, direct bool, tell func(Event)) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	base := p.guarded
	if direct {
		base = p.direct
	}
	r := start(c, tell)
	p.mu.Lock()
	p.runs[r.id] = r
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.runs, r.id)
	}()
	r.fire(ctx, func(ctx context.Context, who int, s shot) {
		req, err := r.request(ctx, base, who, s)
		if err != nil {
			r.note(who, Failed, Event{Code: "bad request"})
			return
		}
		resp, err := p.http.Do(req)
		r.settle(who, resp, err)
	}, func(ctx context.Context, before int) { p.lineUp(ctx, r, before, direct) })
	if ctx.Err() != nil {
		return Verdict{}, context.Cause(ctx)
	}
	return judge(c, r, direct, r.effect(c, p.shop)), nil
}

// How far apart those come who stand in line, so that the picture shows it; and
// those who would if there were one.
const (
	apart  = 15 * time.Millisecond
	hardly = 2 * time.Millisecond
)

// lineUp waits until all who came before have gone in, stand in line or were sent
// away, so that it is known who came first. It does not wait for ever: that is for the verdict.
func (p *Player) lineUp(ctx context.Context, r *run, before int, direct bool) {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end) && ctx.Err() == nil; {
		r.mu.Lock()
		placed := len(r.entered) + r.tally.refused + r.tally.replayed + r.tally.failed
		r.mu.Unlock()
		if !direct {
			placed += p.waiting(ctx, r.id)
		}
		if placed >= before {
			break
		}
		pause(ctx, time.Millisecond)
	}
	if direct {
		pause(ctx, hardly)
		return
	}
	pause(ctx, apart)
}

// waiting counts who stands in line for the locks of a run.
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

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
