package redisengine

import (
	"context"
	"errors"
	"sync"
)

const (
	// aloneAtMost is how many calls may be on their way by themselves. With
	// more callers than that, trips are shared.
	aloneAtMost = 2

	// mostMerged is how many share a trip: a script for so many keeps other
	// calls waiting for a tenth of a millisecond.
	mostMerged = 32
)

// A merger lets calls that are made at the same time share a trip to the
// server. A script that does something to many locks costs the server less than
// half of as many scripts for one.
//
// Few callers do not wait for each other: the first ones go alone, and only who
// comes while they are on their way is taken along by the next.
type merger struct {
	send    func([]*passenger) error // notes the answer of each; nothing has happened if the server refuses
	flights sync.WaitGroup           // goroutines of shared trips, one each

	mu      sync.Mutex
	flying  int            // trips on their way, alone or shared
	waiting []*passenger   // for the next
	unused  [][]*passenger // batches that have landed, to be filled again
}

// A passenger is a call that shares a trip.
type passenger struct {
	name            string // of the lock
	holder, attempt string
	lease           string // ms
	late            int64  // µs
	terms, result   string // of a claim

	answer Reply // what the script said; nothing if the call is to be made alone
	err    error
	landed chan struct{} // receives when both are set
	queued bool          // has not left yet; the merger's mutex guards it
}

var passengers = sync.Pool{New: func() any { return &passenger{landed: make(chan struct{}, 1)} }}

// alone reports whether the caller is to make its call by itself, and say ended
// afterwards.
func (m *merger) alone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.flying >= aloneAtMost {
		return false
	}
	m.flying++
	return true
}

// ended notes that a trip is over. The next one takes along who waits.
func (m *merger) ended(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.strand(err)
	m.depart(m.next())
}

// depart begins a shared trip. Its goroutine ends when nobody waits; close waits
// for it.
func (m *merger) depart(batch []*passenger) {
	if batch != nil {
		m.flights.Add(1)
		go m.fly(batch)
	}
}

// share makes the call together with others, and returns what the script said.
func (m *merger) share(ctx context.Context, p *passenger) (Reply, error) {
	m.mu.Lock()
	m.waiting, p.queued = append(m.waiting, p), true
	if m.flying < aloneAtMost { // those on their way have ended meanwhile
		m.flying++
		m.depart(m.next())
	}
	m.mu.Unlock()
	select {
	case <-p.landed:
	case <-ctx.Done():
		if m.leave(p) {
			return Reply{}, &NotSentError{Err: ctx.Err()}
		}
		return Reply{}, ctx.Err() // p is lost to the pool: its answer is still to come
	}
	answer, err := p.answer, p.err
	*p = passenger{landed: p.landed}
	passengers.Put(p)
	return answer, err
}

// leave takes back a call that was not sent yet. It reports whether it was not.
func (m *merger) leave(p *passenger) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !p.queued {
		return false
	}
	for i, w := range m.waiting {
		if w == p {
			m.waiting = append(m.waiting[:i], m.waiting[i+1:]...)
			break
		}
	}
	return true
}

// next returns who goes on the next trip. Without anybody there is none.
func (m *merger) next() []*passenger {
	n := min(len(m.waiting), mostMerged)
	if n == 0 {
		m.flying--
		return nil
	}
	var batch []*passenger
	if last := len(m.unused) - 1; last >= 0 {
		batch, m.unused = m.unused[last], m.unused[:last]
	}
	batch = append(batch, m.waiting[:n]...)
	m.waiting = append(m.waiting[:0], m.waiting[n:]...)
	for _, p := range batch {
		p.queued = false
	}
	return batch
}

// fly makes one shared trip after the other until nobody waits.
func (m *merger) fly(batch []*passenger) {
	defer m.flights.Done()
	for batch != nil {
		err := m.send(batch)
		for _, p := range batch {
			if err != nil {
				// What the server has against one of them is no news for the
				// others: each asks for itself.
				p.answer, p.err = Reply{}, silence(context.Background(), err)
			}
			p.landed <- struct{}{}
		}
		clear(batch) // they are others' by now
		m.mu.Lock()
		m.unused = append(m.unused, batch[:0])
		m.strand(err)
		batch = m.next()
		m.mu.Unlock()
	}
}

// strand turns away who waits if the server did not answer the trip before: one
// silence is enough to wait for.
func (m *merger) strand(err error) {
	if silence(context.Background(), err) == nil {
		return
	}
	for _, p := range m.waiting {
		p.answer, p.err, p.queued = Reply{}, &NotSentError{Err: err}, false
		p.landed <- struct{}{}
	}
	m.waiting = m.waiting[:0]
}

// silence returns err if it means that the server does not answer, which is news
// for others, too. That a caller has given up is not.
func silence(ctx context.Context, err error) error {
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
func (m *merger) close() { m.flights.Wait() }
