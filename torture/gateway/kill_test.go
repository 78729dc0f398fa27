package gateway

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Requirement P8: a gateway is killed (kill -9) under load and restarted, and clients retry
// with the same keys. With a strict policy no order is sent twice, and the API lists every
// unknown outcome.
func TestGatewayKilled(t *testing.T) {
	const clients = 24
	kills := 12
	if testing.Short() {
		kills = 3
	}
	p := newGateway(t, 10*time.Millisecond)
	first := p.sendWhileKilling(clients, kills)
	var cut []string
	for key, r := range first {
		switch {
		case r.err != nil:
			cut = append(cut, key)
		case r.status != 201 || p.service.runCount(key) != 1:
			t.Errorf("%s: %d %s after %d runs, want 201 after 1", key, r.status, r.body, p.service.runCount(key))
		}
	}
	if len(cut) < kills {
		t.Fatalf("%d kills interrupted only %d requests: this proves nothing", kills, len(cut))
	}
	unknown := p.retryInterrupted(cut)
	listed := p.unknown()
	if len(listed) != unknown {
		t.Errorf("the API lists %d unknown outcomes, but clients got %d", len(listed), unknown)
	}
	twice := 0
	for key := range first {
		if n := p.service.runCount(key); n > 1 {
			twice++
			t.Errorf("%s ran %d times, want at most 1", key, n)
		}
	}
	fmt.Printf("gateway: killed %d times under load: %d orders, %d interrupted and retried, %d of them unknown and all listed, %d sent twice\n",
		kills, len(first), len(cut), unknown, twice)
}

// sendWhileKilling has clients send orders while the gateway is killed and restarted. It
// returns the first reply to each order.
func (p *gatewayFixture) sendWhileKilling(clients, kills int) map[string]reply {
	p.t.Helper()
	var (
		mu    sync.Mutex
		first = make(map[string]reply)
		all   sync.WaitGroup
		stop  atomic.Bool
	)
	for c := range clients {
		all.Go(func() {
			for i := 0; !stop.Load(); i++ {
				key := fmt.Sprintf("order-during-kills-%02d-%06d", c, i)
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
	stop.Store(true)
	all.Wait()
	return first
}

// retryInterrupted retries interrupted requests until each has a final reply. It returns
// the number of unknown outcomes.
func (p *gatewayFixture) retryInterrupted(cut []string) int {
	p.t.Helper()
	var unknown atomic.Int64
	var all sync.WaitGroup
	slots := make(chan struct{}, 32)
	for _, key := range cut {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			r := p.retryUntilFinal(key)
			switch ran := p.service.runCount(key); {
			case r.code == "outcome_unknown" && ran <= 1:
				unknown.Add(1)
			case r.status != 201 || ran != 1:
				p.t.Errorf("%s: %d %s %v after %d runs", key, r.status, r.body, r.err, ran)
			}
		})
	}
	all.Wait()
	return int(unknown.Load())
}

// retryUntilFinal sends an order until the reply is not "in progress".
func (p *gatewayFixture) retryUntilFinal(key string) (r reply) {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		if r = p.order(p.t.Context(), key); r.code != "in_progress" {
			return r
		}
	}
	return r
}
