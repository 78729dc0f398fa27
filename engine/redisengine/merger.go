package redisengine

import (
	"context"
	"errors"
	"sync"
)

const (
	// maxDirect is how many calls may be on their way by themselves. With
	// more callers than that, trips are shared.
	maxDirect = 2

	// maxBatch is how many share a trip: a script for so many keeps other
	// calls waiting for a tenth of a millisecond.
	maxBatch = 32
)

// A merger lets calls that are made at the same time share a trip to the
// server. A script that does something to many locks costs the server less than
// half of as many scripts for one.
//
// Few callers do not wait for each other: the first ones go alone, and only who
// comes while they are on their way is taken along by the next.
type merger struct {
	exec    func([]*batchItem) error // notes the answer of each; nothing has happened if the server refuses
	senders sync.WaitGroup           // goroutines of shared trips, one each

	mu          sync.Mutex
	inFlight    int            // trips on their way, alone or shared
	pending     []*batchItem   // for the next
	freeBatches [][]*batchItem // batches that have landed, to be filled again
}

// A passenger is a call that shares a trip.
type batchItem struct {
	name            string // of the lock
	holder, attempt string
	lease           string // ms
	deadline        int64  // µs
	terms, result   string // of a claim

	answer Reply // what the script said; nothing if the call is to be made alone
	err    error
	done   chan struct{} // receives when both are set
	queued bool          // has not left yet; the merger's mutex guards it
}

var batchItems = sync.Pool{New: func() any { return &batchItem{done: make(chan struct{}, 1)} }}

// alone reports whether the caller is to make its call by itself, and say ended
// afterwards.
func (m *merger) startDirect() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inFlight >= maxDirect {
		return false
	}
	m.inFlight++
	return true
}

// ended notes that a trip is over. The next one takes along who waits.
func (m *merger) endDirect(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failPending(err)
	m.flush(m.nextBatch())
}

// depart begins a shared trip. Its goroutine ends when nobody waits; close waits
// for it.
func (m *merger) flush(batch []*batchItem) {
	if batch != nil {
		m.senders.Add(1)
		go m.sendBatches(batch)
	}
}

// share makes the call together with others, and returns what the script said.
func (m *merger) enqueue(ctx context.Context, p *batchItem) (Reply, error) {
	m.mu.Lock()
	m.pending, p.queued = append(m.pending, p), true
	if m.inFlight < maxDirect { // those on their way have ended meanwhile
		m.inFlight++
		m.flush(m.nextBatch())
	}
	m.mu.Unlock()
	select {
	case <-p.done:
	case <-ctx.Done():
		if m.cancel(p) {
			return Reply{}, &NotSentError{Err: ctx.Err()}
		}
		return Reply{}, ctx.Err() // p is lost to the pool: its answer is still to come
	}
	answer, err := p.answer, p.err
	*p = batchItem{done: p.done}
	batchItems.Put(p)
	return answer, err
}

// leave takes back a call that was not sent yet. It reports whether it was not.
func (m *merger) cancel(p *batchItem) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !p.queued {
		return false
	}
	for i, w := range m.pending {
		if w == p {
			m.pending = append(m.pending[:i], m.pending[i+1:]...)
			break
		}
	}
	return true
}

// next returns who goes on the next trip. Without anybody there is none.
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
	for _, p := range batch {
		p.queued = false
	}
	return batch
}

// fly makes one shared trip after the other until nobody waits.
func (m *merger) sendBatches(batch []*batchItem) {
	defer m.senders.Done()
	for batch != nil {
		err := m.exec(batch)
		for _, p := range batch {
			if err != nil {
				// What the server has against one of them is no news for the
				// others: each asks for itself.
				p.answer, p.err = Reply{}, noAnswer(context.Background(), err)
			}
			p.done <- struct{}{}
		}
		clear(batch) // they are others' by now
		m.mu.Lock()
		m.freeBatches = append(m.freeBatches, batch[:0])
		m.failPending(err)
		batch = m.nextBatch()
		m.mu.Unlock()
	}
}

// strand turns away who waits if the server did not answer the trip before: one
// silence is enough to wait for.
func (m *merger) failPending(err error) {
	if noAnswer(context.Background(), err) == nil {
		return
	}
	for _, p := range m.pending {
		p.answer, p.err, p.queued = Reply{}, &NotSentError{Err: err}, false
		p.done <- struct{}{}
	}
	m.pending = m.pending[:0]
}

// silence returns err if it means that the server does not answer, which is news
// for others, too. That a caller has given up is not.
func noAnswer(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return nil
	}
	var reply ReplyError // declared here, since it costs an allocation
	if errors.As(err, &reply) {
		return nil
	}
	return err
}

// close waits for the trips on their way.
func (m *merger) close() { m.senders.Wait() }
