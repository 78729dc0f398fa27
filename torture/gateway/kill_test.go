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
	f := newGateway(t, 10*time.Millisecond)
	first := f.sendWhileKilling(clients, kills)
	var cut []string
	for key, r := range first {
		switch {
		case r.err != nil:
			cut = append(cut, key)
		case r.status != 201 || f.service.runCount(key) != 1:
			t.Errorf("%s: %d %s after %d runs, want 201 after 1", key, r.status, r.body, f.service.runCount(key))
		}
	}
	if len(cut) < kills {
		t.Fatalf("%d kills interrupted %d requests, want at least one per kill", kills, len(cut))
	}
	unknown := f.retryInterrupted(cut)
	listed := f.unknown()
	if len(listed) != unknown {
		t.Errorf("the API lists %d unknown outcomes, want %d as reported to clients", len(listed), unknown)
	}
	twice := 0
	for key := range first {
		if n := f.service.runCount(key); n > 1 {
			twice++
			t.Errorf("%s ran %d times, want at most 1", key, n)
		}
	}
	fmt.Printf("gateway: killed %d times under load: %d orders, %d interrupted and retried, %d of them unknown and all listed, %d sent twice\n",
		kills, len(first), len(cut), unknown, twice)
}

// sendWhileKilling has clients send orders while the gateway is killed and restarted. It
// returns the first reply to each order.
func (f *gatewayFixture) sendWhileKilling(clients, kills int) map[string]reply {
	f.t.Helper()
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
				r := f.order(f.t.Context(), key)
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
		f.kill()
		f.start()
	}
	<-time.After(200 * time.Millisecond)
	stop.Store(true)
	all.Wait()
	return first
}

// retryInterrupted retries interrupted requests until each has a final reply. It returns
// the number of unknown outcomes.
func (f *gatewayFixture) retryInterrupted(cut []string) int {
	f.t.Helper()
	var unknown atomic.Int64
	var all sync.WaitGroup
	slots := make(chan struct{}, 32)
	for _, key := range cut {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			r := f.retryUntilFinal(key)
			switch ran := f.service.runCount(key); {
			case r.code == "outcome_unknown" && ran <= 1:
				unknown.Add(1)
			case r.status != 201 || ran != 1:
				f.t.Errorf("%s: got %d %s %v after %d runs, want 201 after 1 run", key, r.status, r.body, r.err, ran)
			}
		})
	}
	all.Wait()
	return int(unknown.Load())
}

// retryUntilFinal sends an order until the reply is not "in progress".
func (f *gatewayFixture) retryUntilFinal(key string) (r reply) {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		if r = f.order(f.t.Context(), key); r.code != "in_progress" {
			return r
		}
	}
	return r
}
