package keystate

import (
	"slices"
	"sync"
)

// Queues hold the calls of an engine by document. One goroutine at a time works on a
// document, and takes all calls that wait for it into one transaction, so that calls of
// one process do not conflict with each other. The zero value is ready.
type Queues struct {
	mu      sync.Mutex
	waiting map[string][]*Call // by document; an entry without calls has a goroutine at work
}

// maxBatch is how many calls share a transaction.
const maxBatch = 100

// Add adds a call to the queue of a document. If no goroutine works on the document, it
// starts one with start, which runs the calls in batches until none waits. Add reports
// false if start does.
func (q *Queues) Add(document string, x *Call, start func(func()) bool, run func(calls []*Call)) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, busy := q.waiting[document]
	if !busy && !start(func() { q.work(document, run) }) {
		return false
	}
	if q.waiting == nil {
		q.waiting = make(map[string][]*Call)
	}
	q.waiting[document] = append(waiting, x)
	return true
}

// work executes the calls of one document until none waits.
func (q *Queues) work(document string, run func(calls []*Call)) {
	for {
		q.mu.Lock()
		batch := q.waiting[document]
		if len(batch) == 0 {
			delete(q.waiting, document)
			q.mu.Unlock()
			return
		}
		n := min(len(batch), maxBatch)
		batch, q.waiting[document] = batch[:n:n], slices.Clone(batch[n:])
		q.mu.Unlock()
		run(batch)
	}
}
