package interlocktest

import (
	"sync"
	"testing"
)

// A Counter counts how often something happened, and whether twice at a time.
type Counter struct {
	t    testing.TB
	what string

	mu     sync.Mutex
	n      int
	inside int
	most   int
}

// Count returns a Counter of what, which is a phrase such as "placing an order".
func Count(t testing.TB, what string) *Counter { return &Counter{t: t, what: what} }

// Mark counts that it happened.
func (c *Counter) Mark() { c.Enter()() }

// Enter counts that it begins, and returns what says that it ends.
func (c *Counter) Enter() (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	c.inside++
	c.most = max(c.most, c.inside)
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.inside--
	})
}

// N returns how often it happened so far.
func (c *Counter) N() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Once fails the test unless it happened exactly once.
func (c *Counter) Once() {
	c.t.Helper()
	c.Times(1)
}

// Never fails the test if it happened.
func (c *Counter) Never() {
	c.t.Helper()
	c.Times(0)
}

// Times fails the test unless it happened exactly n times.
func (c *Counter) Times(n int) {
	c.t.Helper()
	if got := c.N(); got != n {
		c.t.Errorf("%s happened %d times, want %d", c.what, got, n)
	}
}

// Alone fails the test if it ever happened twice at a time.
func (c *Counter) Alone() {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.most > 1 {
		c.t.Errorf("%s happened %d times at once, want one at a time", c.what, c.most)
	}
}

// Together calls fn n times at once, and waits.
func Together(n int, fn func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { fn(i) })
	}
	all.Wait()
}
