package interlock

import "time"

// A leader tells the local queue of its key what the engine answers. A nil
// leader has no queue.
type leader struct {
	shard *shard
	queue *waitQueue
}

// asks notes that a request is being sent again.
func (l *leader) asks(sent time.Time) {
	if l == nil {
		return
	}
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	q := l.queue
	q.pausing, q.polling = false, false
	if q.asked.IsZero() {
		q.asked = sent
	}
	select {
	case <-q.askNow: // this request is the one
	default:
	}
}

// refused notes the holder that keeps the leader from the lock. It reports
// whether a waiter behind a leader that polls wants to be notified, and the turn
// of the leader's next request.
func (l *leader) refused(r rival, once, polls, overtaken, first bool) (listen bool, next turn) {
	if l == nil {
		return false, turn{}
	}
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	q := l.queue
	q.answered, q.refused = true, time.Now()
	q.rival, q.asked, q.outage = r, time.Time{}, outage{}
	q.wasRefused(overtaken, first)
	q.resolve(result{rival: r})
	if once {
		return false, turn{}
	}
	listen = q.listeners > 0
	q.pausing, q.polling = true, polls && !listen
	if q.askNow == nil {
		q.askNow = make(chan struct{}, 1)
	}
	return listen, q.nextTurn()
}

// failed notes that the engine fails. If it is only too slow for the lease of
// this leader, callers with a longer lease do not wait for it.
func (l *leader) failed(o outage) {
	if l == nil {
		return
	}
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	q := l.queue
	q.outage = o
	if o.lease > 0 {
		q.resolve(result{ended: true})
		q.letPass()
	}
}

// wake receives when the leader should ask at once.
func (l *leader) wake() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.queue.askNow // only refused sets it, in the leader's goroutine
}
