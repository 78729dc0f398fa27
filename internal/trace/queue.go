package trace

import (
	"log/slog"
	"sync"
)

// A Queue calls functions one after another in a goroutine of its own, which ends when no
// call is left. Goroutines that many locks share, such as those that renew leases, use it
// for trace functions: a slow one then delays other trace functions only.
type Queue struct {
	Go func(func()) // starts the goroutine

	mu      sync.Mutex
	waiting []func()
	running bool
	dropped sync.Once
}

// maxQueued bounds the calls that wait for a slow trace function.
const maxQueued = 10_000

// Add calls f after the functions added before. While too many calls wait, it drops f.
func (q *Queue) Add(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxQueued {
		go q.dropped.Do(func() { // the default logger may be the slow one
			slog.Default().Error("interlock: a trace function is too slow; events of renewals and losses are dropped", "waiting", maxQueued)
		})
		return
	}
	q.waiting = append(q.waiting, f)
	if !q.running {
		q.running = true
		q.Go(q.run)
	}
}

// run calls the functions until none is left.
func (q *Queue) run() {
	for {
		q.mu.Lock()
		next := q.waiting
		q.waiting = nil
		q.running = len(next) > 0
		q.mu.Unlock()
		if len(next) == 0 {
			return
		}
		for _, f := range next {
			f()
		}
	}
}
