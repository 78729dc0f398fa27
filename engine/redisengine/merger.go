package redisengine

import (
	"context"
	"errors"
	"slices"
	"sync"
)

const (
	// maxDirect is how many calls of a merger may be on their way to the server
	// before further calls share a batch.
	maxDirect = 2

	// maxBatch is the size of a batch. A script for so many locks delays other
	// calls by about 0.1 ms.
	maxBatch = 32
)

// A merger lets concurrent calls share one call to the server. One script for many locks
// costs the server less than half as much as one script for each lock.
//
// The first maxDirect calls are sent directly, so without concurrency no call waits for
// another. Calls that arrive meanwhile form the next batch.
type merger struct {
	exec    func([]*batchItem) error // sends a batch and sets the answer of each item; an error reply changes nothing
	senders sync.WaitGroup           // goroutines that send batches

	mu          sync.Mutex
	inFlight    int            // direct calls and batches
	pending     []*batchItem   // calls that wait for the next batch
	freeBatches [][]*batchItem // slices to reuse
}

// A batchItem is a call in a batch.
type batchItem struct {
	name            string // the lock or record
	holder, attempt string
	lease           string // ms
	deadline        int64  // µs
	terms, result   string // only of claims and settlements

	late lateGrant // undoes a grant whose caller has given up

	answer Reply // empty if the caller must send the call directly
	err    error
	done   chan struct{} // receives when answer and err are set

	// Guarded by the merger's mutex.
	answered bool // done has received
	gaveUp   bool // the caller gave up after the call was sent
}

var batchItems = sync.Pool{New: func() any { return &batchItem{done: make(chan struct{}, 1)} }}

// startDirect reports whether the caller may send its call directly. If so, it must
// call endDirect afterwards. Otherwise the caller enqueues its call, which a direct call
// or a batch sends when it ends.
func (m *merger) startDirect() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inFlight >= maxDirect {
		return false
	}
	m.inFlight++
	return true
}

// endDirect ends a direct call and sends the pending ones.
func (m *merger) endDirect(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// Pending calls fail before the next batch is taken, so that it is empty after a
	// failure.
	m.failPending(err)
	m.flush(m.nextBatch())
}

// flush sends a batch. The goroutine ends when there are no pending calls; close
// waits for it.
func (m *merger) flush(batch []*batchItem) {
	if batch != nil {
		m.senders.Add(1)
		go m.sendBatches(batch)
	}
}

// enqueue adds the call to the next batch and waits for its answer.
func (m *merger) enqueue(ctx context.Context, item *batchItem) (Reply, error) {
	m.mu.Lock()
	m.pending = append(m.pending, item)
	if m.inFlight < maxDirect { // a call has ended since startDirect
		m.inFlight++
		m.flush(m.nextBatch())
	}
	m.mu.Unlock()
	select {
	case <-item.done:
	// A call that is still queued certainly has no effect; a sent call may have.
	case <-ctx.Done():
		switch m.cancel(item) {
		case itemQueued:
			return Reply{}, &NotSentError{Err: ctx.Err()}
		case itemSent:
			return Reply{}, ctx.Err() // the item is still in use, so it does not return to the pool
		case itemAnswered:
			<-item.done
		}
	}
	answer, err := item.answer, item.err
	*item = batchItem{done: item.done}
	batchItems.Put(item)
	return answer, err
}

// How far a call had come when its caller gave up.
const (
	itemQueued   = iota // the call will not be sent
	itemSent            // the answer goes to the item's lateGrant
	itemAnswered        // the answer can be read
)

// cancel removes a pending call, and returns how far the call has come.
func (m *merger) cancel(item *batchItem) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if item.answered {
		return itemAnswered
	}
	i := slices.Index(m.pending, item)
	if i < 0 {
		item.gaveUp = true
		return itemSent
	}
	m.pending = slices.Delete(m.pending, i, i+1)
	return itemQueued
}

// nextBatch takes the next batch from the pending calls. It returns nil, and frees
// the caller's slot, if there are none.
func (m *merger) nextBatch() []*batchItem {
	n := min(len(m.pending), maxBatch)
	if n == 0 {
		m.inFlight--
		return nil
	}
	var batch []*batchItem
	if last := len(m.freeBatches) - 1; last >= 0 {
		batch, m.freeBatches = m.freeBatches[last], m.freeBatches[:last]
	}
	batch = append(batch, m.pending[:n]...)
	m.pending = append(m.pending[:0], m.pending[n:]...)
	return batch
}

// sendBatches sends one batch after the other until there are no pending calls.
func (m *merger) sendBatches(batch []*batchItem) {
	defer m.senders.Done()
	for batch != nil {
		err := m.exec(batch)
		m.mu.Lock()
		for _, item := range batch {
			m.deliver(item, err)
		}
		clear(batch) // the items may be in the pool again
		// At most maxDirect batches exist at a time, so the list stays short.
		m.freeBatches = append(m.freeBatches, batch[:0])
		m.failPending(err)
		batch = m.nextBatch()
		m.mu.Unlock()
	}
}

// deliver wakes the caller. An error reply may be about another item of the batch, so
// it leaves the answer empty, and each caller sends its call directly.
func (m *merger) deliver(item *batchItem, err error) {
	if err != nil {
		item.answer, item.err = Reply{}, noAnswer(context.Background(), err)
	}
	if item.gaveUp {
		if late, answer := item.late, item.answer; late.engine != nil && err == nil {
			m.senders.Go(func() { late.undo(answer) }) // close waits for it
		}
		return
	}
	item.finish()
}

// finish wakes the caller of an item whose answer is set.
func (item *batchItem) finish() {
	item.answered = true
	// done has a capacity of 1 and receives once per use, so the sender never waits.
	item.done <- struct{}{}
}

// failPending fails the pending calls if err means that the server did not answer the call
// before them. Otherwise they would wait for one timeout after the other.
func (m *merger) failPending(err error) {
	if noAnswer(context.Background(), err) == nil {
		return
	}
	for _, item := range m.pending {
		item.answer, item.err = Reply{}, &NotSentError{Err: err}
		item.finish()
	}
	m.pending = m.pending[:0]
}

// noAnswer returns err if it means that the server does not answer, which concerns
// other calls, too. It returns nil for an error reply and if the caller's context has ended.
func noAnswer(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return nil
	}
	var reply ReplyError // declared after the fast path, since it escapes to the heap
	if errors.As(err, &reply) {
		return nil
	}
	return err
}

// close waits until all batches are delivered.
func (m *merger) close() { m.senders.Wait() }
