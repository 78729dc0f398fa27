package interlocktest

import (
	"sync"
	"testing"
)

// A Counter counts how often an operation ran, and how many runs overlapped.
type Counter struct {
	t    testing.TB
	what string

	mu     sync.Mutex
	n      int
	inside int
	peak   int // highest value of inside
}

// Count returns a Counter. what describes the operation, as in "placing an order".
func Count(t testing.TB, what string) *Counter { return &Counter{t: t, what: what} }

// Mark counts one run.
func (c *Counter) Mark() { c.Enter()() }

// Enter counts the start of a run. Call leave at its end.
func (c *Counter) Enter() (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	c.inside++
	c.peak = max(c.peak, c.inside)
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.inside--
	})
}

// N returns the number of runs so far.
func (c *Counter) N() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Once fails the test unless the operation ran exactly once.
func (c *Counter) Once() {
	c.t.Helper()
	c.Times(1)
}

// Never fails the test if the operation ran.
func (c *Counter) Never() {
	c.t.Helper()
	c.Times(0)
}

// Times fails the test unless the operation ran exactly n times.
func (c *Counter) Times(n int) {
	c.t.Helper()
	if got := c.N(); got != n {
		c.t.Errorf("%s ran %d times, want %d", c.what, got, n)
	}
}

// Alone fails the test if two runs ever overlapped.
func (c *Counter) Alone() {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peak > 1 {
		c.t.Errorf("%s ran %d times at once, want one at a time", c.what, c.peak)
	}
}

// Together calls fn n times concurrently, and waits for all calls.
func Together(n int, fn func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { fn(i) })
	}
	all.Wait()
}
