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

// Requirements P8 and S4: 1,000 requests per second through the gateway on Redis; one in
// ten is a duplicate. Each order is sent once, and no request fails. The response "in
// progress" to a duplicate is not an error. Package bench measures the speed.
func TestGatewayLoad(t *testing.T) {
	during := time.Minute
	if testing.Short() {
		during = 5 * time.Second
	}
	f := newGateway(t, 2*time.Millisecond)
	for i := range 50 { // opens connections and loads scripts
		if r := f.order(t.Context(), fmt.Sprintf("first-order-of-all-%d", i)); r.status != 201 {
			t.Fatalf("order %d: got %d %s %v, want 201", i, r.status, r.body, r.err)
		}
	}
	keys := arrivals(int(during.Seconds() * perSecond))
	replies, took := f.sendLoad(keys)
	answers := make(map[string][]reply)
	for i, key := range keys {
		answers[key] = append(answers[key], replies[i])
	}
	busy := 0
	for key, all := range answers {
		busy += f.checkOnce(key, all)
	}
	slices.SortFunc(replies, func(a, b reply) int { return int(a.took - b.took) })
	quantile := func(q float64) time.Duration {
		return replies[int(q*float64(len(replies)-1))].took.Round(10 * time.Microsecond)
	}
	fmt.Printf("gateway: %d requests for %d orders, %.0f/s answered, P50 %v, P99 %v; %d duplicates of running orders; each ran once, 0 errors\n",
		len(keys), len(answers), float64(len(keys))/took.Seconds(), quantile(0.5), quantile(0.99), busy)
}

// arrivals returns n keys. One in ten is a duplicate of one of the last 3,000.
func arrivals(n int) []string {
	random := rand.New(rand.NewPCG(8, 1000)) // the same in each run
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("order-of-the-load-%06d", i)
		if i%10 == 9 {
			keys[i] = keys[i-1-random.IntN(min(i, 3*perSecond))]
		}
	}
	return keys
}

// sendLoad sends each request at its scheduled time, independent of earlier responses.
// Response times are measured from the scheduled time.
func (f *gatewayFixture) sendLoad(keys []string) ([]reply, time.Duration) {
	replies := make([]reply, len(keys))
	var all sync.WaitGroup
	slots := make(chan struct{}, 2*perSecond) // limits the requests in progress
	began := time.Now()
	for i, key := range keys {
		due := began.Add(time.Duration(i) * time.Second / perSecond)
		time.Sleep(time.Until(due))
		slots <- struct{}{}
		all.Go(func() {
			replies[i] = f.order(f.t.Context(), key)
			replies[i].took = time.Since(due)
			<-slots
		})
	}
	all.Wait()
	return replies, time.Since(began)
}

// checkOnce checks that an order ran once, and that all its requests got the same response
// or "in progress". It returns how many got "in progress".
func (f *gatewayFixture) checkOnce(key string, all []reply) (busy int) {
	f.t.Helper()
	if n := f.service.runCount(key); n != 1 {
		f.t.Errorf("%s ran %d times, want 1", key, n)
	}
	body, ran := "", 0
	for _, r := range all {
		switch {
		case r.code == "in_progress":
			busy++
			continue
		case r.err != nil || r.status != 201:
			f.t.Errorf("%s: got %d %s %v, want 201", key, r.status, r.body, r.err)
			continue
		case !r.replayed:
			ran++
		}
		if body != "" && r.body != body {
			f.t.Errorf("%s: two different responses: %q and %q", key, r.body, body)
		}
		body = r.body
	}
	if ran != 1 {
		f.t.Errorf("%s: %d responses were not replays, want 1", key, ran)
	}
	return busy
}
