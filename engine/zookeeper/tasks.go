package zookeeper

import "sync"

// tasks are the goroutines that Close waits for.
type tasks struct {
	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

// start runs f in a goroutine, and reports whether it did: not after end.
func (t *tasks) start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return false
	}
	t.running.Go(f)
	return true
}

// end refuses further goroutines.
func (t *tasks) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}

// parallel is how many requests for one call are on their way at once.
const parallel = 64

// each runs f for each item, and returns the errors in order.
func each[T any](items []T, f func(*T) error) []error {
	return eachIndex(len(items), func(i int) error { return f(&items[i]) })
}

// eachIndex is each for the numbers below n.
func eachIndex(n int, f func(i int) error) []error {
	errs := make([]error, n)
	if n == 1 {
		errs[0] = f(0)
		return errs
	}
	var (
		all  sync.WaitGroup
		slot = make(chan struct{}, parallel)
	)
	for i := range n {
		slot <- struct{}{}
		all.Go(func() {
			defer func() { <-slot }()
			errs[i] = f(i)
		})
	}
	all.Wait()
	return errs
}
