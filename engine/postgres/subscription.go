package postgres

import "time"

// A subscription has the subscribers of one topic.
type subscription struct {
	subscribers map[chan struct{}]struct{}
	active      bool      // the server knows
	idleSince   time.Time // when the last subscriber left
}

// subscribe implements [notices]. The channel receives once the server knows of it.
func (n *notifier) subscribe(topic string) (wake <-chan struct{}, stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.start()
	t := n.subscriptions[topic]
	if t == nil {
		t = &subscription{subscribers: make(map[chan struct{}]struct{})}
		n.subscriptions[topic] = t
		n.signal()
	}
	sub := make(chan struct{}, 1)
	t.subscribers[sub] = struct{}{}
	// An active subscription is not confirmed again, and the lock may have become free
	// before this call.
	if t.active {
		wakeSubscriber(sub)
	}
	return sub, func() { n.unsubscribe(t, sub) }
}

// unsubscribe removes a subscriber. The server is told later; see unsubscribeDelay.
func (n *notifier) unsubscribe(t *subscription, sub chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(t.subscribers, sub)
	if len(t.subscribers) == 0 {
		t.idleSince = time.Now()
	}
}

// wakeSubscriber wakes a subscriber, unless a wake-up is waiting for it already.
func wakeSubscriber(sub chan struct{}) {
	select {
	case sub <- struct{}{}:
	default:
	}
}

// idle implements [notices].
func (n *notifier) idle(topic string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.subscriptions[topic]
	return t != nil && t.active && len(t.subscribers) == 0
}

// signal makes the goroutine look at the subscriptions.
func (n *notifier) signal() {
	n.pending = true
	if n.interrupt != nil {
		n.interrupt()
	}
}

// notify wakes the subscribers of a topic.
func (n *notifier) notify(topic string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if t := n.subscriptions[topic]; t != nil {
		for sub := range t.subscribers {
			wakeSubscriber(sub)
		}
	}
}

// reset prepares for a new session, which has no topics yet. It forgets those without
// subscribers, so that they do not accumulate while the server is down.
func (n *notifier) reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for topic, t := range n.subscriptions {
		t.active = false
		if len(t.subscribers) == 0 {
			delete(n.subscriptions, topic)
		}
	}
}

// changes returns the topics to add and to remove.
func (n *notifier) changes() (added, removed []string) {
	added, removed = []string{}, []string{}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending = false
	for topic, t := range n.subscriptions {
		switch {
		case len(t.subscribers) == 0 && time.Since(t.idleSince) >= unsubscribeDelay:
			delete(n.subscriptions, topic)
			removed = append(removed, topic)
		case !t.active:
			added = append(added, topic)
		}
	}
	return added, removed
}
