package memory

import "github.com/interlock-go/interlock/engine"

// subscribers are the channels of waiters, by topic. The mutex of their shard guards
// them.
type subscribers map[topic]map[chan struct{}]struct{}

// A topic is an event that waiters subscribe to: the release of a lock, the arrival of a
// waiter at the head of its queue, the opening of a latch, the revocation of a client's
// lock, or the settlement of a claim.
type topic struct {
	key    string  // the key of a lock or record, or a client's ID
	hold   holdKey // for a lock, only its family; for a waiter in a queue, all fields
	client bool    // the revocation of a client's lock
	record bool    // the settlement of a claim
}

// topicOf returns the topic of r. Waiting readers and writers share one, because
// readers are granted together.
func topicOf(r engine.Request) topic {
	if r.Kind == engine.Fair || r.Kind == engine.Permit {
		return topic{key: r.Key, hold: holdKeyOf(r)}
	}
	return topic{key: r.Key, hold: holdKey{kind: family(r.Kind)}}
}

// Notify implements [engine.Notifier].
func (e *Engine) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	return e.subscribe(topicOf(r))
}

// subscribe adds a channel to a topic. The channel holds one notification, so wake never
// blocks under the shard's mutex.
func (e *Engine) subscribe(t topic) (wake <-chan struct{}, stop func()) {
	s, _ := e.lockShard(t.key)
	defer s.mu.Unlock()

	ch := make(chan struct{}, 1)
	ch <- struct{}{} // the event may have happened before
	if s.subscribers[t] == nil {
		s.subscribers[t] = make(map[chan struct{}]struct{})
	}
	s.subscribers[t][ch] = struct{}{}
	return ch, func() { e.unsubscribe(t, ch) }
}

// unsubscribe removes the channel, and the topic with its last one, so that keys without
// waiters use no memory. It does not close the channel: a waiter may still receive.
func (e *Engine) unsubscribe(t topic, ch chan struct{}) {
	s, _ := e.lockShard(t.key)
	defer s.mu.Unlock()
	delete(s.subscribers[t], ch)
	if len(s.subscribers[t]) == 0 {
		delete(s.subscribers, t)
	}
}

// wake notifies all subscribers of t and returns their number. A subscriber with an
// unread notification needs no other.
func (x subscribers) wake(t topic) int {
	if len(x) == 0 { // the common case, without hashing the topic
		return 0
	}
	for ch := range x[t] {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	return len(x[t])
}

// notifyNext notifies the waiters that may be granted the lock now: those that do not
// queue, and the first waiter in the queue. It also notifies waiters before that one whose
// positions have expired, because they may still be alive. It returns how many subscribers
// were notified.
func (s *shard) notifyNext(key string, kind engine.Kind, now int64) (notified int) {
	notified = s.subscribers.wake(topic{key: key, hold: holdKey{kind: kind}})
	q := s.store.queues[queueID{key, kind}]
	if q == nil {
		return notified
	}
	for _, w := range q.waiters {
		notified += s.subscribers.wake(topic{key: key, hold: w.holdKey()})
		if !w.expired(now) {
			break
		}
	}
	return notified
}
