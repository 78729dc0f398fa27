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

// TestGuardStorm makes a thousand concurrent duplicate calls in one process, and a
// thousand more when the work is done (requirement T10). The process sends at most four
// commands to Redis. If the first call is in another process, this process later sends
// one more command, to unsubscribe. If the process had no subscription before, both numbers
// are higher by one, because the server confirms two channels.
func TestGuardStorm(t *testing.T) {
	for _, on := range []guard.OnDuplicate{guard.Replay, guard.Refuse, guard.Wait} {
		for _, s := range []guardStorm{
			{name: "the first call is in this process", maxCommands: 4},
			{name: "the first call is in another process", remoteFirst: true, subscribed: true, maxCommands: 4, maxLater: 1},
			{name: "the first call is in another process, without subscribers", remoteFirst: true, maxCommands: 5, maxLater: 2},
		} {
			t.Run(fmt.Sprintf("T10 %s, %s", on, s.name), func(t *testing.T) { s.run(t, on) })
		}
	}
}

// A guardStorm is a case of TestGuardStorm.
type guardStorm struct {
	name        string
	remoteFirst bool // the first call is in another process
	subscribed  bool // this process already has a subscription
	maxCommands int  // commands until all calls have returned
	maxLater    int  // commands afterwards
}

func (s guardStorm) run(t *testing.T, on guard.OnDuplicate) {
	const callers = 1000
	policy := guard.Policy{Name: "storm", OnDuplicate: on}
	if on == guard.Wait {
		policy.Wait = 20 * time.Second
	}
	f := newGuardFixture(t, policy)
	f.warmUp(f.guard)
	f.warmUp(f.other)
	unsubscribe := f.subscribe()
	if !s.subscribed {
		unsubscribe()
		f.eventually(5*time.Second, "no client is subscribed", func() bool { return f.server.Must("PUBSUB", "CHANNELS") == "" })
	}
	first, otherSent := f.guard, 0 // otherSent counts the commands of the other process
	if s.remoteFirst {
		first, otherSent = f.other, 2 // its claim and its settlement
	}
	before, asked := f.commandsSent(), f.guard.Stats().Asked
	_, claim := f.begin(first)
	got := make(chan tally)
	go func() { got <- atOnce(callers, f.callAgain) }()
	f.waitForCallers(callers)
	f.complete(claim)
	counts := <-got
	if on != guard.Wait {
		f.eventually(time.Second, "this process knows that the work is done", func() bool { return f.callAgain() != "refused: running" })
		counts.add(atOnce(callers, f.callAgain)) // again, after the work is done
	}
	sent := f.commandsSentSince(before)
	fmt.Printf("guard storm: %-7s %s: %v, %d commands sent from here, %d of them claims\n",
		on, s.name, counts, sent.sum()-otherSent, f.guard.Stats().Asked-asked)
	if f.wantRuns(1); sent.sum()-otherSent > s.maxCommands {
		t.Errorf("%d commands were sent, want at most %d", sent.sum()-otherSent, s.maxCommands)
	}
	f.eventually(10*time.Second, "no client is subscribed", func() bool { return f.server.Must("PUBSUB", "CHANNELS", "*settled:{storm*") == "" })
	if sent = f.commandsSentSince(before); sent.sum()-otherSent > s.maxCommands+s.maxLater {
		t.Errorf("the commands %v were sent in total, want at most %d", sent, s.maxCommands+s.maxLater)
	}
}

// callAgain makes a duplicate call and returns its outcome.
func (f *guardFixture) callAgain() string {
	_, err := f.guard.Do(context.Background(), order, f.work)
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

// waitForCallers waits until this many calls were refused or wait.
func (f *guardFixture) waitForCallers(callers int) {
	f.t.Helper()
	f.eventually(30*time.Second, "all calls have started", func() bool {
		s := f.guard.Stats()
		return s.Waiting+int64(s.Verdicts[guard.Refused]) >= int64(callers) //nolint:gosec // a thousand
	})
}

// subscribe opens a subscription of the engine to another key, until unsubscribe is called.
func (f *guardFixture) subscribe() (unsubscribe func()) {
	f.t.Helper()
	_, stop := f.client.Engine().Capabilities().Ledger.Watch("something-else")
	f.t.Cleanup(stop)
	f.eventually(5*time.Second, "the engine is subscribed", func() bool { return f.server.Must("PUBSUB", "CHANNELS", "*something-else*") != "" })
	return stop
}

// notSent are commands that the server counts but guards do not send: commands inside of
// scripts, heartbeats of connections, and commands of the test.
var notSent = []string{"time", "exists", "mget", "get", "set", "append", "del", "pttl", "pexpire", "publish", "ping", "info", "pubsub|channels", "pubsub|numsub"}

// commandsSent counts the commands that guards have sent to the server so far: all commands
// except notSent.
func (f *guardFixture) commandsSent() tally {
	f.t.Helper()
	counts := tally{}
	for line := range strings.Lines(f.server.Must("INFO", "commandstats")) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		calls, _, _ := strings.Cut(rest, ",")
		if k, err := strconv.Atoi(calls); ok && err == nil && !slices.Contains(notSent, name) {
			counts[name] += k
		}
	}
	return counts
}

// commandsSentSince returns the commands sent since the given count.
func (f *guardFixture) commandsSentSince(before tally) tally {
	f.t.Helper()
	counts := f.commandsSent()
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

// TestGuardLoad runs two processes on the same keys. Each calls every key about five
// times. At least 90 % of the duplicates in a process must not reach Redis (requirement
// T10).
func TestGuardLoad(t *testing.T) {
	const processes, least = 2, 0.9
	server := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "journal")
	policy := guard.Policy{Name: "load"}
	var workers []*worker
	for i := range processes {
		workers = append(workers, start(t, job{
			Do: "load", Engine: server.URL(), Process: fmt.Sprint(i), Journal: file, Policy: policy, Goroutines: 8, For: 3 * time.Second,
		}))
	}
	for _, w := range workers {
		if err := w.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	tallies, err := readEntries[tally](file)
	if err != nil || len(tallies) != processes {
		t.Fatalf("%d processes wrote a tally, want %d: %v", len(tallies), processes, err)
	}
	sum := tally{}
	for _, counts := range tallies {
		sum.add(counts)
	}
	share := float64(sum["coalesced"]) / float64(sum["duplicates"])
	fmt.Printf("guard load: %d calls, %d of them duplicates in their process, %d answered in process (%.1f %%), %d claims sent, %d runs\n",
		sum["calls"], sum["duplicates"], sum["coalesced"], 100*share, sum["asked"], sum["runs"])
	if share < least {
		t.Errorf("%.1f %% of the duplicates did not reach Redis, want at least %.0f %%", 100*share, 100*least)
	}
	if sum["duplicates"] < 10_000 || float64(sum["duplicates"]) < 0.7*float64(sum["calls"]) {
		t.Errorf("%d of %d calls were duplicates, want at least 10,000 and 70 %%: %v", sum["duplicates"], sum["calls"], sum)
	}
	for name, n := range sum {
		if key, ok := strings.CutPrefix(name, "ran "); ok && n != 1 {
			t.Errorf("the work of %s ran %d times, want 1", key, n)
		}
	}
}

// load calls each of 200 keys about five times within 250 ms, then the next 200 keys.
func load(j job, c *interlock.Client) error {
	const keys, period, calls = 200, 250 * time.Millisecond, 1000
	g, err := guard.New[string](c, j.Policy)
	if err != nil {
		return err
	}
	if err := registerClient(c, j.Process); err != nil {
		return err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	sum, known := tally{}, map[string]bool{}
	interval := period * time.Duration(j.Goroutines) / calls
	start := time.Now()
	for range j.Goroutines {
		wg.Go(func() {
			for n := 0; time.Since(start) < j.For; n++ {
				time.Sleep(time.Until(start.Add(time.Duration(n) * interval)))
				key := fmt.Sprint(time.Now().UnixMilli()/period.Milliseconds(), "-", rand.N(keys)) // the same in all processes
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
	sum["coalesced"], sum["asked"] = int(s.Coalesced), int(s.Asked) //nolint:gosec // some thousands
	return appendEntry(j.Journal, sum)
}
