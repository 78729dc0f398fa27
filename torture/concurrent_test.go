package torture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// A tally counts calls by outcome.
type tally map[string]int

func (t tally) add(other tally) {
	for name, n := range other {
		t[name] += n
	}
}

// A workerGroup is a group of processes that make concurrent calls on command.
type workerGroup struct {
	t       *testing.T
	journal string
	workers []*worker
	rounds  int
}

// newWorkerGroup starts processes and waits until they are ready.
func newWorkerGroup(t *testing.T, processes int, j job) *workerGroup {
	t.Helper()
	g := &workerGroup{t: t, journal: filepath.Join(t.TempDir(), "journal"), rounds: 1}
	for i := range processes {
		j.Process, j.Journal = fmt.Sprint(i), g.journal
		g.workers = append(g.workers, start(t, j))
	}
	g.waitForTallies(1)
	return g
}

// callAtOnce has each process make concurrent calls: calls[i] is the number for process i.
// It returns the sum of their outcomes.
func (g *workerGroup) callAtOnce(calls ...int) tally {
	g.t.Helper()
	for i, w := range g.workers {
		if _, err := fmt.Fprintln(w.stdin, calls[i]); err != nil {
			g.t.Fatal(err)
		}
	}
	g.rounds++
	return g.waitForTallies(g.rounds)
}

// waitForTallies waits for the tallies of all rounds, and returns the sum of the last round.
func (g *workerGroup) waitForTallies(rounds int) tally {
	g.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		tallies, err := readEntries[tally](g.journal)
		if err != nil {
			g.t.Fatal(err)
		}
		if n := rounds * len(g.workers); len(tallies) == n {
			sum := tally{}
			for _, t := range tallies[n-len(g.workers):] {
				sum.add(t)
			}
			return sum
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("got %d tallies after 1m, want %d from each of %d processes", len(tallies), rounds, len(g.workers))
		}
		time.Sleep(5 * time.Millisecond) // poll interval
	}
}

// callOnCommand makes concurrent calls. Each line of its input is a number of calls. Their
// outcomes are appended to the journal.
func (j job) callOnCommand(call func() string) error {
	if err := appendEntry(j.Journal, tally{}); err != nil {
		return err
	}
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		n, err := strconv.Atoi(input.Text())
		if err != nil {
			return err
		}
		if err := appendEntry(j.Journal, atOnce(n, call)); err != nil {
			return err
		}
	}
	return nil
}

// atOnce makes n concurrent calls and counts their outcomes.
func atOnce(n int, call func() string) tally {
	var wg sync.WaitGroup
	var mu sync.Mutex
	counts, start := tally{}, make(chan struct{})
	for range n {
		wg.Go(func() {
			<-start
			outcome := call()
			mu.Lock()
			defer mu.Unlock()
			counts[outcome]++
		})
	}
	close(start)
	wg.Wait()
	return counts
}

// submit is a process that submits a form many times at once.
func submit(j job, c *interlock.Client) error {
	g, err := guard.New[string](c, j.Policy)
	if err != nil {
		return err
	}
	if err := registerClient(c, j.Process); err != nil {
		return err
	}
	return j.callOnCommand(func() string { return submitForm(g) })
}

func submitForm(g *guard.Guard[string]) string {
	_, err := g.Do(context.Background(), order, func(context.Context) (string, error) { return "done", nil })
	switch {
	case err == nil:
		return "executed"
	case errors.Is(err, guard.ErrDuplicate):
		return "duplicate"
	}
	return err.Error()
}

// TestConcurrent makes 100 concurrent submissions of one form (requirement S3): first in
// one process, then in three. One is executed, 99 are duplicates, and none fails.
func TestConcurrent(t *testing.T) {
	want := tally{"executed": 1, "duplicate": 99}
	policy := guard.Click("concurrent")
	t.Run("S3 from one process", func(t *testing.T) {
		f := newGuardFixture(t, policy)
		for round := range 3 {
			start := time.Now()
			got := atOnce(100, func() string { return submitForm(f.guard) })
			fmt.Printf("S3: 100 submissions at once, 1 process: %v in %v\n", got, time.Since(start).Round(time.Millisecond))
			if !maps.Equal(got, want) {
				t.Fatalf("round %d: got %v, want %v", round, got, want)
			}
			f.waitForExpiry()
		}
	})
	t.Run("S3 from three processes", func(t *testing.T) {
		f := &guardFixture{fixture: newFixture(t), policy: policy}
		g := newWorkerGroup(t, 3, job{Do: "submit", Engine: f.server.URL(), Policy: policy})
		for round := range 3 {
			start := time.Now()
			got := g.callAtOnce(34, 33, 33)
			fmt.Printf("S3: 100 submissions at once, 3 processes: %v in %v\n", got, time.Since(start).Round(time.Millisecond))
			if !maps.Equal(got, want) {
				t.Fatalf("round %d: got %v, want %v", round, got, want)
			}
			f.waitForExpiry()
		}
	})
}

// waitForExpiry waits until the record of the submission has expired, on the server and in
// the local caches of the guards.
func (f *guardFixture) waitForExpiry() {
	f.t.Helper()
	f.eventually(5*time.Second, "the server has no record", func() bool { return len(f.records()) == 0 })
	time.Sleep(guard.DefaultLocalCache)
}
