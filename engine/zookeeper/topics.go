package zookeeper

import (
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// topics are the subscriptions of this engine. Each topic has one watch at the server,
// which a notification fires, and which is then set again.
type topics struct {
	e       *Engine
	mu      sync.Mutex
	byName  map[string]*topic
	orphans map[string]struct{} // topics with a watch and without a subscriber
}

// A topic has at least one subscriber.
type topic struct {
	name    string
	watched bool // the watch is set, so no notification is missed from now on
	subs    map[chan struct{}]struct{}
	stopped chan struct{} // closed when the last subscriber has left
}

// subscribe returns a channel that receives when the topic is notified, and each time
// the watch is set, because a notification may have been missed before.
func (t *topics) subscribe(name string) (wake <-chan struct{}, stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ch := make(chan struct{}, 1)
	p := t.byName[name]
	if p == nil {
		p = &topic{name: name, subs: make(map[chan struct{}]struct{}), stopped: make(chan struct{})}
		if !t.e.tasks.Start(func() { t.listen(p) }) {
			return nil, func() {} // the engine is closed
		}
		t.byName[name] = p
		delete(t.orphans, name)
	}
	p.subs[ch] = struct{}{}
	if p.watched {
		ch <- struct{}{}
	}
	return ch, func() { t.unsubscribe(p, ch) }
}

// unsubscribe removes a subscriber, and the topic with its last one.
func (t *topics) unsubscribe(p *topic, ch chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := p.subs[ch]; !ok {
		return
	}
	delete(p.subs, ch)
	if len(p.subs) == 0 {
		delete(t.byName, p.name)
		close(p.stopped)
	}
}

// subscribed reports whether this engine listens to a topic.
func (t *topics) subscribed(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byName[name] != nil
}

// listen sets the watch of a topic, and sets it again after each notification and each
// new connection, until the last subscriber has left.
func (t *topics) listen(p *topic) {
	for {
		up, connects, changed := t.e.session.state()
		var fired <-chan zk.Event
		if up {
			fired = t.watch(p)
		}
		if fired == nil { // no session, or it was lost just now
			if !t.pause(p, changed) {
				return
			}
			continue
		}
		t.wake(p)
		if !t.await(p, fired, connects) {
			return
		}
	}
}

// watch sets the watch, and returns nil if it cannot.
func (t *topics) watch(p *topic) <-chan zk.Event {
	path := t.e.topicPath(p.name)
	fired, err := request(t.e, "watch", func(conn *zk.Conn) (<-chan zk.Event, error) {
		_, _, fired, err := conn.ExistsW(path)
		return fired, err
	})
	if err != nil {
		return nil
	}
	return fired
}

// rewatch is the pause before a failed watch is set again.
const rewatch = 100 * time.Millisecond

// pause waits before the next try. It reports false when the topic has ended.
func (t *topics) pause(p *topic, changed <-chan struct{}) bool {
	timer := time.NewTimer(rewatch)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-p.stopped:
		return false
	case <-t.e.closing:
		return false
	}
	return true
}

// await waits until the watch must be set again. It reports false when the topic has
// ended.
func (t *topics) await(p *topic, fired <-chan zk.Event, connects uint64) bool {
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		p.watched = false
	}()
	for {
		_, now, changed := t.e.session.state()
		if now != connects {
			return true // a notification may have been lost with the connection
		}
		select {
		case <-fired:
			return true
		case <-changed:
		case <-p.stopped:
			t.orphan(p.name)
			return false
		case <-t.e.closing:
			return false
		}
	}
}

// wake notifies all subscribers. One with an unread notification needs no other.
func (t *topics) wake(p *topic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.watched = true
	for ch := range p.subs {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// orphan notes that a topic has a watch and no subscriber. The client library cannot
// remove a watch, but notifying the topic does.
func (t *topics) orphan(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName[name] == nil {
		t.orphans[name] = struct{}{}
	}
}

// takeOrphans returns the orphans, and forgets them.
func (t *topics) takeOrphans() (names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.orphans {
		names = append(names, name)
	}
	clear(t.orphans)
	return names
}
