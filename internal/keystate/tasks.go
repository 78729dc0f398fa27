package keystate

import "sync"

// Tasks are the goroutines of an engine that its Close waits for. The zero value is
// ready.
type Tasks struct {
	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

// Start runs f in a goroutine, and reports whether it did: not after End.
func (t *Tasks) Start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return false
	}
	t.running.Go(f)
	return true
}

// End refuses further goroutines.
func (t *Tasks) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}

// Wait waits for the goroutines.
func (t *Tasks) Wait() { t.running.Wait() }

// parallel is how many requests for one call are on their way at once.
const parallel = 64

// Each runs f for each item, and returns the errors in order.
func Each[T any](items []T, f func(*T) error) []error {
	return EachIndex(len(items), func(i int) error { return f(&items[i]) })
}

// EachIndex is Each for the numbers below n.
func EachIndex(n int, f func(i int) error) []error {
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
