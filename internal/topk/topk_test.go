package topk

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestCountsAreRightWithinTheirError(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var c Counts[int]
	truth := make(map[string]uint64)
	const additions = 200_000
	for i := range additions {
		// A tenth of the additions are for ten hot keys, the others for keys that are new.
		key := fmt.Sprint("cold ", i)
		if random.IntN(10) == 0 {
			key = fmt.Sprint("hot ", random.IntN(10))
		}
		truth[key]++
		c.Add(start, key, i)
	}
	top := c.Top(start, 10)
	if len(top) != 10 || len(c.present.heap) != Capacity || len(c.present.index) != Capacity {
		t.Fatalf("%d counts, %d counters and %d keys, want 10, %d and %d", len(top), len(c.present.heap), len(c.present.index), Capacity, Capacity)
	}
	for i, x := range top {
		if n := truth[x.Key]; n == 1 || n > x.N || n < x.N-x.Error || x.Error > additions/Capacity {
			t.Errorf("%s was added %d times, and counted %d times with an error of at most %d", x.Key, n, x.N, x.Error)
		}
		if i > 0 && x.N > top[i-1].N {
			t.Errorf("count %d is larger than the one before", i)
		}
	}
}

func TestCountsOfTheLastHour(t *testing.T) {
	var c Counts[string]
	c.Add(start, "old", "")
	c.Add(start.Add(31*time.Minute), "new", "first")
	c.Add(start.Add(32*time.Minute), "new", "second")
	if top := c.Top(start.Add(33*time.Minute), 10); len(top) != 2 || top[0] != (Count[string]{Key: "new", N: 2, Last: "second"}) || top[1].Key != "old" {
		t.Errorf("after 33 minutes: %v, want new twice and old once", top)
	}
	if top := c.Top(start.Add(62*time.Minute), 10); len(top) != 1 || top[0].Key != "new" {
		t.Errorf("after 62 minutes: %v, want new only", top)
	}
	if top := c.Top(start.Add(5*time.Hour), 10); len(top) != 0 {
		t.Errorf("after 5 hours: %v, want nothing", top)
	}
}

func TestLongestIsExact(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var l Longest[int]
	var all []Duration[int]
	for i := range 100_000 {
		now := start.Add(time.Duration(i) * 50 * time.Millisecond) // 83 minutes in all
		d := Duration[int]{time.Duration(random.IntN(1_000_000_000)), now, i}
		all = append(all, d)
		l.Add(now, d.Took, func() int { return i })
	}
	now := all[len(all)-1].Ended
	want := slices.DeleteFunc(all, func(d Duration[int]) bool { return now.Sub(d.Ended) > time.Hour })
	slices.SortStableFunc(want, func(a, b Duration[int]) int { return cmp.Compare(b.Took, a.Took) })
	if got := l.Top(now); !slices.Equal(got, want[:Kept]) {
		t.Errorf("the longest are %v, want %v", got, want[:Kept])
	}
	if got := l.Top(now.Add(61 * time.Minute)); len(got) != 0 {
		t.Errorf("an hour later the longest are %v, want none", got)
	}
	l.Add(start, time.Hour, func() int { return 0 }) // the clock was set back by more than the window
	if got := l.Top(now); !slices.Equal(got, want[:Kept]) {
		t.Errorf("after an old duration the longest are %v, want %v", got, want[:Kept])
	}
}

func TestLongestOfConcurrentAdditions(t *testing.T) {
	var (
		l  Longest[int]
		wg sync.WaitGroup
	)
	for g := range 8 {
		wg.Go(func() {
			for i := range 1000 {
				n := i*8 + g
				l.Add(start.Add(time.Duration(i)*time.Second), time.Duration(n), func() int { return n })
			}
		})
	}
	wg.Wait()
	for i, d := range l.Top(start.Add(1000 * time.Second)) {
		if want := 7999 - i; d.Of != want {
			t.Errorf("the longest number %d is %d, want %d", i, d.Of, want)
		}
	}
}

func TestCountsOfTwoGenerationsAreNeverTooLow(t *testing.T) {
	var c Counts[int]
	truth := make(map[string]uint64)
	add := func(at time.Time, key string) {
		truth[key]++
		c.Add(at, key, 0)
	}
	later := start.Add(generation)
	for range 5 {
		add(start, "evicted")
	}
	for i := range 10 * Capacity { // evicts it
		add(start, fmt.Sprint("cold ", i))
	}
	for range 100 {
		add(later, "evicted")
		add(later, "new")
	}
	for _, x := range c.Top(later, 2) {
		if n := truth[x.Key]; n > x.N || n < x.N-x.Error {
			t.Errorf("%s was added %d times, and counted %d times with an error of at most %d", x.Key, n, x.N, x.Error)
		}
	}
	if top := c.Top(later, 2); len(top) != 2 || top[0].Key != "evicted" || top[1].Key != "new" {
		t.Errorf("the top is %v, want the two keys of the second generation", top)
	}
}
