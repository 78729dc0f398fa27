package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestGuardStorm has a thousand duplicates at once in one process on one key, and
// a thousand more when the work is done (T10): whatever they are told, Redis hears
// of it four times at most. If the first is in another process, one more follows
// later: that this one has unsubscribed; and a process without a subscription asks
// once more, since the server confirms two channels.
func TestGuardStorm(t *testing.T) {
	for _, on := range []guard.OnDuplicate{guard.Replay, guard.Refuse, guard.Wait} {
		for _, s := range []storm{
			{where: "the first is in this process", most: 4},
			{where: "the first is in another process", elsewhere: true, listens: true, most: 4, later: 1},
			{where: "the first is in another process, without subscribers", elsewhere: true, most: 5, later: 2},
		} {
			t.Run(fmt.Sprintf("T10 %s, %s", on, s.where), func(t *testing.T) { s.blow(t, on) })
		}
	}
}

// A storm is a thousand duplicates at once.
type storm struct {
	where     string
	elsewhere bool // another process was first
	listens   bool // this one hears of others already
	most      int  // commands until everybody has an answer
	later     int  // and afterwards
}

func (s storm) blow(t *testing.T, on guard.OnDuplicate) {
	const callers = 1000
	policy := guard.Policy{Name: "storm", OnDuplicate: on}
	if on == guard.Wait {
		policy.Wait = 20 * time.Second
	}
	p := newPost(t, policy)
	p.know(p.guard)
	p.know(p.other)
	silence := p.listen()
	if !s.listens {
		silence()
		p.soon(5*time.Second, "all have unsubscribed", func() bool { return p.server.Must("PUBSUB", "CHANNELS") == "" })
	}
	first, theirs := p.guard, 0
	if s.elsewhere {
		first, theirs = p.other, 2 // its claim and its settlement
	}
	before, asked := p.sent(), p.guard.Stats().Asked
	_, claim := p.begin(first)
	got := make(chan tally)
	go func() { got <- atOnce(callers, p.duplicate) }()
	p.stormed(callers)
	p.complete(claim)
	counts := <-got
	if on != guard.Wait {
		p.soon(time.Second, "the end is known here", func() bool { return p.duplicate() != "refused: running" })
		counts.add(atOnce(callers, p.duplicate)) // once more, after the end
	}
	sent := p.sentSince(before)
	fmt.Printf("guard storm: %-7s %s: %v, %d commands sent from here, %d of them claims\n",
		on, s.where, counts, sent.sum()-theirs, p.guard.Stats().Asked-asked)
	if p.wantRuns(1); sent.sum()-theirs > s.most {
		t.Errorf("%d commands were sent, want %d at most", sent.sum()-theirs, s.most)
	}
	p.soon(10*time.Second, "all have unsubscribed", func() bool { return p.server.Must("PUBSUB", "CHANNELS", "*settled:{storm*") == "" })
	if sent = p.sentSince(before); sent.sum()-theirs > s.most+s.later {
		t.Errorf("%v were sent in the end", sent)
	}
}

// duplicate makes a duplicate call and returns how it ended.
func (p *post) duplicate() string {
	_, err := p.guard.Do(context.Background(), order, p.work)
	var duplicate *guard.DuplicateError
	switch {
	case err == nil:
		return "replayed"
	case errors.As(err, &duplicate) && duplicate.Running:
		return "refused: running"
	case duplicate != nil:
		return "refused: done"
	}
	return err.Error()
}

// stormed waits until so many calls have been answered, or wait.
func (p *post) stormed(callers int) {
	p.t.Helper()
	p.soon(30*time.Second, "all have come", func() bool {
		s := p.guard.Stats()
		return s.Waiting+int64(s.Verdicts[guard.Refused]) >= int64(callers) //nolint:gosec // a thousand
	})
}

// listen has the engine listen for something else, until silence is called.
func (p *post) listen() (silence func()) {
	p.t.Helper()
	_, stop := p.client.Engine().Capabilities().Ledger.Watch("something-else")
	p.t.Cleanup(stop)
	p.soon(5*time.Second, "it listens", func() bool { return p.server.Must("PUBSUB", "CHANNELS", "*something-else*") != "" })
	return stop
}

// notSent are what the server counts and calls do not send: what our scripts call,
// which it counts beside them; heartbeats, which connections have by themselves;
// and what the test asks.
var notSent = []string{"time", "exists", "mget", "get", "set", "append", "del", "pttl", "pexpire", "publish", "ping", "info", "pubsub|channels", "pubsub|numsub"}

// sent returns the commands that calls have sent to the server so far: scripts and
// subscriptions, and whatever else it has counted but for notSent.
func (p *post) sent() tally {
	p.t.Helper()
	counts := tally{}
	for line := range strings.Lines(p.server.Must("INFO", "commandstats")) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		calls, _, _ := strings.Cut(rest, ",")
		if k, err := strconv.Atoi(calls); ok && err == nil && !slices.Contains(notSent, name) {
			counts[name] += k
		}
	}
	return counts
}

// sentSince returns how many there are more than before.
func (p *post) sentSince(before tally) tally {
	p.t.Helper()
	counts := p.sent()
	for name, n := range before {
		if counts[name] -= n; counts[name] == 0 {
			delete(counts, name)
		}
	}
	return counts
}

func (t tally) sum() (n int) {
	for _, k := range t {
		n += k
	}
	return n
}

// TestGuardLoad has two processes work at the same keys, and each repeat what it
// asks for about four times: nine out of ten of those who come second in their process are answered
// there (T10).
func TestGuardLoad(t *testing.T) {
	const processes, least = 2, 0.9
	server := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "journal")
	policy := guard.Policy{Name: "load"}
	var workers []*worker
	for i := range processes {
		workers = append(workers, start(t, job{
			Do: "load", Redis: server.URL(), Process: fmt.Sprint(i), Journal: file, Policy: policy, Goroutines: 8, For: 3 * time.Second,
		}))
	}
	for _, w := range workers {
		if err := w.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	tallies, err := entries[tally](file)
	if err != nil || len(tallies) != processes {
		t.Fatalf("%d processes, %v", len(tallies), err)
	}
	sum := tally{}
	for _, counts := range tallies {
		sum.add(counts)
	}
	share := float64(sum["in house"]) / float64(sum["duplicates"])
	fmt.Printf("guard load: %d calls, %d of them duplicates in their process, %d answered there (%.1f %%), %d claims sent, %d runs\n",
		sum["calls"], sum["duplicates"], sum["in house"], 100*share, sum["asked"], sum["runs"])
	if share < least {
		t.Errorf("%.1f %% of the duplicates never reached Redis, want %.0f %%", 100*share, 100*least)
	}
	if sum["duplicates"] < 10_000 || float64(sum["duplicates"]) < 0.7*float64(sum["calls"]) {
		t.Errorf("too few duplicates for a load: %v", sum)
	}
	for word, n := range sum {
		if key, ok := strings.CutPrefix(word, "ran "); ok && n != 1 {
			t.Errorf("the work of %s was done %d times", key, n)
		}
	}
}

// load calls for a quarter of a second about five times for each of 200 keys, and
// then for the next 200.
func load(j job, c *interlock.Client) error {
	const keys, era, calls = 200, 250 * time.Millisecond, 1000
	g, err := guard.New[string](c, j.Policy)
	if err != nil {
		return err
	}
	if err := introduce(c, j.Process); err != nil {
		return err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	sum, known := tally{}, map[string]bool{}
	pace := era * time.Duration(j.Goroutines) / calls
	start := time.Now()
	for range j.Goroutines {
		wg.Go(func() {
			for n := 0; time.Since(start) < j.For; n++ {
				time.Sleep(time.Until(start.Add(time.Duration(n) * pace)))
				key := fmt.Sprint(time.Now().UnixMilli()/era.Milliseconds(), "-", rand.N(keys)) // the same in all processes
				mu.Lock()
				sum["calls"]++
				if known[key] {
					sum["duplicates"]++
				}
				known[key] = true
				mu.Unlock()
				_, err := g.Do(context.Background(), guard.Of("ada", key), func(context.Context) (string, error) {
					mu.Lock()
					sum["runs"]++
					sum["ran "+key]++
					mu.Unlock()
					time.Sleep(time.Millisecond) // the work
					return "done", nil
				})
				if err != nil && !errors.Is(err, guard.ErrDuplicate) {
					mu.Lock()
					sum[err.Error()]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	s := g.Stats()
	sum["in house"], sum["asked"] = int(s.Coalesced), int(s.Asked) //nolint:gosec // some thousands
	return note(j.Journal, sum)
}
