package gateway

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

const perSecond = 1000

// P8, S4: 1,000 requests per second through the gateway on Redis, of which one in ten is
// a duplicate. Each order is sent once, and no request fails: the answer "in progress" to a
// duplicate is not an error. Figures are printed; how fast it is
// says the bench.
func TestGatewayLoad(t *testing.T) {
	during := time.Minute
	if testing.Short() {
		during = 5 * time.Second
	}
	p := open(t, 2*time.Millisecond)
	for i := range 50 { // connections, scripts: what a server has that has run for a while
		if r := p.order(t.Context(), fmt.Sprintf("first-order-of-all-%d", i)); r.status != 201 {
			t.Fatalf("%d %s %v", r.status, r.body, r.err)
		}
	}
	keys := arrivals(int(during.Seconds() * perSecond))
	replies, took := p.bear(keys)
	answers := make(map[string][]reply)
	for i, key := range keys {
		answers[key] = append(answers[key], replies[i])
	}
	busy := 0
	for key, all := range answers {
		busy += p.once(key, all)
	}
	slices.SortFunc(replies, func(a, b reply) int { return int(a.took - b.took) })
	share := func(of float64) time.Duration {
		return replies[int(of*float64(len(replies)-1))].took.Round(10 * time.Microsecond)
	}
	fmt.Printf("gateway: %d requests for %d orders, %.0f/s answered, P50 %v, P99 %v; %d came while theirs was at work; each ran once, 0 errors\n",
		len(keys), len(answers), float64(len(keys))/took.Seconds(), share(0.5), share(0.99), busy)
}

// arrivals plans a load in which one in ten is a duplicate of one of the last 3,000.
func arrivals(n int) []string {
	random := rand.New(rand.NewPCG(8, 1000)) // the same each time
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("order-of-the-load-%06d", i)
		if i%10 == 9 {
			keys[i] = keys[i-1-random.IntN(min(i, 3*perSecond))]
		}
	}
	return keys
}

// bear sends a load, each request at its time, whatever becomes of those before. Times
// are counted from when a request was to be sent.
func (p *post) bear(keys []string) ([]reply, time.Duration) {
	replies := make([]reply, len(keys))
	var all sync.WaitGroup
	room := make(chan struct{}, 2*perSecond) // bounds the requests in progress to some seconds
	began := time.Now()
	for i, key := range keys {
		due := began.Add(time.Duration(i) * time.Second / perSecond)
		time.Sleep(time.Until(due))
		room <- struct{}{}
		all.Go(func() {
			replies[i] = p.order(p.t.Context(), key)
			replies[i].took = time.Since(due)
			<-room
		})
	}
	all.Wait()
	return replies, time.Since(began)
}

// once checks that an order ran once, and that everybody who sent it was told the same,
// or that it is at work; it returns how often the latter.
func (p *post) once(key string, all []reply) (busy int) {
	p.t.Helper()
	if n := p.service.ran(key); n != 1 {
		p.t.Errorf("%s ran %d times", key, n)
	}
	body, ran := "", 0
	for _, r := range all {
		switch {
		case r.code == "in_progress":
			busy++
			continue
		case r.err != nil || r.status != 201:
			p.t.Errorf("%s: %d %s %v", key, r.status, r.body, r.err)
			continue
		case !r.replayed:
			ran++
		}
		if body != "" && r.body != body {
			p.t.Errorf("%s: %q, and %q", key, r.body, body)
		}
		body = r.body
	}
	if ran != 1 {
		p.t.Errorf("%s: %d were told that it ran for them", key, ran)
	}
	return busy
}
