package gateway

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// P8: a gateway that is killed (kill -9) under load and started again, with clients who
// send the same keys again: under a strict policy nothing is sent twice, and the API
// lists every unknown outcome.
func TestGatewayKilled(t *testing.T) {
	const clients = 24
	kills := 12
	if testing.Short() {
		kills = 3
	}
	p := open(t, 10*time.Millisecond)
	first := p.underFire(clients, kills)
	var cut []string
	for key, r := range first {
		switch {
		case r.err != nil:
			cut = append(cut, key)
		case r.status != 201 || p.service.ran(key) != 1:
			t.Errorf("%s: %d %s, and it ran %d times", key, r.status, r.body, p.service.ran(key))
		}
	}
	if len(cut) < kills {
		t.Fatalf("%d requests were cut off by %d kills: this shows nothing", len(cut), kills)
	}
	unknown := p.settle(cut)
	listed := p.unknown()
	if len(listed) != unknown {
		t.Errorf("the API lists %d unknown outcomes, and clients were told of %d", len(listed), unknown)
	}
	twice := 0
	for key := range first {
		if n := p.service.ran(key); n > 1 {
			twice++
			t.Errorf("%s ran %d times", key, n)
		}
	}
	fmt.Printf("gateway: killed %d times under load: %d orders, %d cut off and sent again, %d of them unknown and all listed, %d sent twice\n",
		kills, len(first), len(cut), unknown, twice)
}

// underFire has clients send orders while the gateway is killed and started again, and
// returns what each was told first.
func (p *post) underFire(clients, kills int) map[string]reply {
	p.t.Helper()
	var (
		mu    sync.Mutex
		first = make(map[string]reply)
		all   sync.WaitGroup
		over  atomic.Bool
	)
	for c := range clients {
		all.Go(func() {
			for i := 0; !over.Load(); i++ {
				key := fmt.Sprintf("order-under-fire-%02d-%06d", c, i)
				r := p.order(p.t.Context(), key)
				if r.err != nil {
					<-time.After(2 * time.Millisecond) // no listener: retry
				}
				mu.Lock()
				first[key] = r
				mu.Unlock()
			}
		})
	}
	for range kills {
		<-time.After(300 * time.Millisecond)
		p.kill()
		p.start()
	}
	<-time.After(200 * time.Millisecond)
	over.Store(true)
	all.Wait()
	return first
}

// settle repeats interrupted requests until each has an answer, and returns how many
// outcomes are unknown.
func (p *post) settle(cut []string) int {
	p.t.Helper()
	var unknown atomic.Int64
	var all sync.WaitGroup
	room := make(chan struct{}, 32)
	for _, key := range cut {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			r := p.final(key)
			switch ran := p.service.ran(key); {
			case r.code == "outcome_unknown" && ran <= 1:
				unknown.Add(1)
			case r.status != 201 || ran != 1:
				p.t.Errorf("%s: %d %s %v, and it ran %d times", key, r.status, r.body, r.err, ran)
			}
		})
	}
	all.Wait()
	return int(unknown.Load())
}

// final sends an order until the answer is one that stays.
func (p *post) final(key string) (r reply) {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		if r = p.order(p.t.Context(), key); r.code != "in_progress" {
			return r
		}
	}
	return r
}
