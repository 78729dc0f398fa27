package torture

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// An arrival is a request, and when it is sent: that is fixed before, and does not
// depend on how those before it fare.
type arrival struct {
	at  time.Duration
	key string
}

const perSecond = 1000

// arrivals plans a load in which one in five is a duplicate: half of those come with
// their first, and half later, by up to three seconds.
func arrivals(name string, during time.Duration) []arrival {
	random := rand.New(rand.NewPCG(4, 1000)) // the same each time
	all := make([]arrival, int(during.Seconds()*perSecond))
	for i := range all {
		a := arrival{time.Duration(i) * time.Second / perSecond, fmt.Sprint(name, "-", i)}
		switch i % 10 {
		case 4:
			a = all[i-1]
		case 9:
			a.key = all[i-1-random.IntN(min(i, 3*perSecond))].key
		}
		all[i] = a
	}
	return all
}

// A haul is what came of a load. Times are counted from when a request was to be
// sent, so that one that had to wait its turn is not let off.
type haul struct {
	replies []reply
	late    time.Duration // by how much, at most, one was sent after its time
	took    time.Duration // from the first to the last answer
}

// bear sends a load to the shops in turn.
func (c *chain) bear(load []arrival, path string) haul {
	h := haul{replies: make([]reply, len(load))}
	var wg sync.WaitGroup
	room := make(chan struct{}, 4*perSecond) // bounds the requests in progress to some seconds
	began := time.Now()
	for i, a := range load {
		due := began.Add(a.at)
		time.Sleep(time.Until(due))
		room <- struct{}{}
		h.late = max(h.late, time.Since(due))
		wg.Go(func() {
			h.replies[i] = c.send(c.t.Context(), c.shops[i%len(c.shops)].url+path, a.key, "one book")
			h.replies[i].took = time.Since(due)
			<-room
		})
	}
	wg.Wait()
	h.took = time.Since(began)
	return h
}

// share returns the time within which a share of the requests was answered.
func (h haul) share(of float64) time.Duration {
	times := make([]time.Duration, len(h.replies))
	for i, r := range h.replies {
		times[i] = r.took
	}
	slices.Sort(times)
	return times[min(int(of*float64(len(times))), len(times)-1)]
}

func (h haul) rate() float64 { return float64(len(h.replies)) / h.took.Seconds() }

func (h haul) print(what string) {
	fmt.Printf("S4: %-9s %d requests, %.0f/s answered, P50 %v, P99 %v, sent %v late at most: %v\n", what, len(h.replies), h.rate(),
		h.share(0.5).Round(10*time.Microsecond), h.share(0.99).Round(10*time.Microsecond), h.late.Round(10*time.Microsecond), endings(h.replies))
}

// TestHTTPLoad has three processes answer 1,000 requests per second, of which one in
// five is a duplicate (S4). Every order is executed once, and no request fails.
// It prints what the guard adds, beside the same handler without one (P9: less than
// 10 ms). A figure is no promise: nothing is asserted but that the rate does not break
// down.
func TestHTTPLoad(t *testing.T) {
	during, rounds := time.Minute, 20
	if testing.Short() {
		during, rounds = 5*time.Second, 5
	}
	c := openShops(t, 3, guard.Charge("orders"), 5*time.Millisecond)
	for shop := range c.shops { // connections, scripts: what a server has that has run for a while
		c.want(c.order(shop, fmt.Sprint("first-", shop)), executed)
	}
	var plain float64 // per second
	t.Run("P9 with and without a guard, by turns", func(t *testing.T) {
		c.in(t, func() { plain = c.turns(rounds) })
	})
	t.Run("S4 1,000 requests per second, one in five a duplicate", func(t *testing.T) {
		c.in(t, func() {
			load := arrivals("load", during)
			guarded := c.bear(load, "/orders")
			guarded.print("guarded")
			fmt.Printf("S4: theirs: 950 to 1,000/s, P99 150 ms\n")
			c.wantOnce(load, guarded.replies)
			if guarded.rate() < plain/4 { // other tests may run beside this one
				t.Errorf("%.0f requests per second were answered; without a guard, %.0f", guarded.rate(), plain)
			}
		})
	})
}

// turns has the load of a second without a guard and with one, by turns, so that what
// else the machine does meanwhile slows both, and prints the difference. It returns
// the rate without.
func (c *chain) turns(rounds int) float64 {
	c.t.Helper()
	var rates []float64
	var median, p99 []time.Duration
	for round := range rounds {
		load := arrivals(fmt.Sprint("plain-", round), time.Second)
		plain := c.bear(load, "/plain")
		if got := endings(plain.replies); got[executed] != len(load) {
			c.t.Fatalf("%v: it is not the guard's fault", got)
		}
		load = arrivals(fmt.Sprint("turn-", round), time.Second)
		guarded := c.bear(load, "/orders")
		c.wantOnce(load, guarded.replies)
		if round == 0 {
			plain.print("unguarded")
			guarded.print("guarded")
		}
		rates = append(rates, plain.rate())
		median = append(median, guarded.share(0.5)-plain.share(0.5))
		p99 = append(p99, guarded.share(0.99)-plain.share(0.99))
	}
	slices.Sort(rates)
	slices.Sort(median)
	slices.Sort(p99)
	round := func(d []time.Duration, i int) time.Duration { return d[i].Round(10 * time.Microsecond) }
	fmt.Printf("P9: the guard adds %v to P50 and %v to P99, in the middle of %d turns; %v and %v in the worst (asked for: less than 10 ms)\n",
		round(median, rounds/2), round(p99, rounds/2), rounds, round(median, rounds-1), round(p99, rounds-1))
	return rates[rounds/2]
}

// wantOnce checks that each order of a load was executed once, by what the shops have
// written down and by what those were told who sent it: one that it was executed, and
// the others the same, byte for byte, or "in progress".
func (c *chain) wantOnce(load []arrival, replies []reply) {
	c.t.Helper()
	runs := tally{}
	for _, s := range c.sales(taken, "") {
		runs[s.Key]++
	}
	answers := make(map[string][]reply)
	for i, a := range load {
		answers[a.key] = append(answers[a.key], replies[i])
	}
	for key, all := range answers {
		var first reply
		for _, r := range all {
			if c.isAny(r, executed, replayed, inProgress) == executed {
				first = r
			}
		}
		counts := endings(all)
		if counts[executed] != 1 {
			c.t.Fatalf("order %s: %v, want one that was executed", key, counts)
		}
		if runs[key] != 1 {
			c.t.Fatalf("order %s was executed %d times", key, runs[key])
		}
		for _, r := range all {
			if r.ending() == replayed && (r.body != first.body || r.header.Get("Location") != first.header.Get("Location")) {
				c.t.Fatalf("order %s: a duplicate got %q, want %q", key, r.body, first.body)
			}
		}
	}
}
