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

// A tally counts how calls ended, by a word for each way.
type tally map[string]int

func (t tally) add(other tally) {
	for word, n := range other {
		t[word] += n
	}
}

// A sea is processes that make many calls at once when they are told to.
type sea struct {
	t       *testing.T
	journal string
	workers []*worker
	waves   int
}

// newSea starts processes that do a job, and waits until they are ready.
func newSea(t *testing.T, processes int, j job) *sea {
	t.Helper()
	s := &sea{t: t, journal: filepath.Join(t.TempDir(), "journal"), waves: 1}
	for i := range processes {
		j.Process, j.Journal = fmt.Sprint(i), s.journal
		s.workers = append(s.workers, start(t, j))
	}
	s.counted(1)
	return s
}

// wave has every process make as many calls at once as it is told, and returns how
// they ended.
func (s *sea) wave(calls ...int) tally {
	s.t.Helper()
	for i, w := range s.workers {
		if _, err := fmt.Fprintln(w.orders, calls[i]); err != nil {
			s.t.Fatal(err)
		}
	}
	s.waves++
	return s.counted(s.waves)
}

// counted waits for the tallies of so many waves, and returns the sum of the last.
func (s *sea) counted(waves int) tally {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		tallies, err := entries[tally](s.journal)
		if err != nil {
			s.t.Fatal(err)
		}
		if n := waves * len(s.workers); len(tallies) == n {
			sum := tally{}
			for _, t := range tallies[n-len(s.workers):] {
				sum.add(t)
			}
			return sum
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d tallies after a minute, want %d of each of %d processes", len(tallies), waves, len(s.workers))
		}
		time.Sleep(5 * time.Millisecond) // between two looks, not in hope
	}
}

// ride makes calls at once, as many as each line of the orders says, and writes
// down how they ended.
func (j job) ride(call func() string) error {
	if err := note(j.Journal, tally{}); err != nil {
		return err
	}
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		n, err := strconv.Atoi(orders.Text())
		if err != nil {
			return err
		}
		if err := note(j.Journal, atOnce(n, call)); err != nil {
			return err
		}
	}
	return nil
}

// atOnce makes n calls at the same time, and counts how they ended.
func atOnce(n int, call func() string) tally {
	var wg sync.WaitGroup
	var mu sync.Mutex
	counts, gun := tally{}, make(chan struct{})
	for range n {
		wg.Go(func() {
			<-gun
			word := call()
			mu.Lock()
			defer mu.Unlock()
			counts[word]++
		})
	}
	close(gun)
	wg.Wait()
	return counts
}

// submit is a process in which a form is submitted many times at once.
func submit(j job, c *interlock.Client) error {
	g, err := guard.New[string](c, j.Policy)
	if err != nil {
		return err
	}
	if err := introduce(c, j.Process); err != nil {
		return err
	}
	return j.ride(func() string { return submitted(g) })
}

func submitted(g *guard.Guard[string]) string {
	_, err := g.Do(context.Background(), order, func(context.Context) (string, error) { return "done", nil })
	switch {
	case err == nil:
		return "executed"
	case errors.Is(err, guard.ErrDuplicate):
		return "duplicate"
	}
	return err.Error()
}

// TestConcurrent has 100 submissions of one form at once (S3): one is executed, 99
// are duplicates, and there is no error; from one process and from three.
func TestConcurrent(t *testing.T) {
	want := tally{"executed": 1, "duplicate": 99}
	policy := guard.Click("concurrent")
	t.Run("S3 from one process", func(t *testing.T) {
		p := newPost(t, policy)
		for round := range 3 {
			start := time.Now()
			got := atOnce(100, func() string { return submitted(p.guard) })
			fmt.Printf("S3: 100 submissions at once, 1 process: %v in %v\n", got, time.Since(start).Round(time.Millisecond))
			if !maps.Equal(got, want) {
				t.Fatalf("round %d: %v, want %v", round, got, want)
			}
			p.intervalOver()
		}
	})
	t.Run("S3 from three processes", func(t *testing.T) {
		p := &post{place: newPlace(t), policy: policy}
		s := newSea(t, 3, job{Do: "submit", Redis: p.server.URL(), Policy: policy})
		for round := range 3 {
			start := time.Now()
			got := s.wave(34, 33, 33)
			fmt.Printf("S3: 100 submissions at once, 3 processes: %v in %v\n", got, time.Since(start).Round(time.Millisecond))
			if !maps.Equal(got, want) {
				t.Fatalf("round %d: %v, want %v", round, got, want)
			}
			p.intervalOver()
		}
	})
}

// intervalOver waits until the server has forgotten the submission.
func (p *post) intervalOver() {
	p.t.Helper()
	p.soon(5*time.Second, "the interval is over", func() bool { return len(p.records()) == 0 })
	p.wantHeld(context.Background(), guard.DefaultLocalCache)
}
