package mysql

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/keystate"
)

// notices wake subscribers when something about a topic has changed. MySQL cannot notify its
// clients, so while a caller subscribes a goroutine reads the counters of the rows that
// subscribers wait for.
type notices struct {
	e    *Engine
	kick chan struct{} // holds an element if a row is to be read at once

	mu      sync.Mutex // guards the fields below
	rows    map[rowID]*subscriptions
	running bool
}

// subscriptions are the subscribers of a row.
type subscriptions struct {
	class string // of the row
	known bool   // wakes was read after the first one subscribed
	wakes uint64 // the counter of the row
	parts map[string]map[chan struct{}]struct{}
}

const (
	maxPoll    = time.Second            // the longest pause between two readings while they fail
	clientPoll = 500 * time.Millisecond // the shortest while no caller waits: a client with locks looks as often whether one was revoked
)

// subscribe returns a channel that receives once the counter is known, and each time the
// topic is notified.
func (n *notices) subscribe(t keystate.Topic) (wake <-chan struct{}, stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.running && !n.e.tasks.Start(n.run) {
		return nil, func() {} // the engine is closed
	}
	n.running = true
	id, sub := rowOf(t.Class, t.Key), make(chan struct{}, 1)
	s := n.rows[id]
	if s == nil {
		s = &subscriptions{class: t.Class, parts: make(map[string]map[chan struct{}]struct{})}
		n.rows[id] = s
		select {
		case n.kick <- struct{}{}:
		default:
		}
	}
	if s.parts[t.Part] == nil {
		s.parts[t.Part] = make(map[chan struct{}]struct{})
	}
	s.parts[t.Part][sub] = struct{}{}
	if s.known { // a later change will be seen, and an earlier one may have been missed
		sub <- struct{}{}
	}
	return sub, func() { n.unsubscribe(id, s, t.Part, sub) }
}

func (n *notices) unsubscribe(id rowID, s *subscriptions, part string, sub chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(s.parts[part], sub)
	if len(s.parts[part]) == 0 {
		delete(s.parts, part)
	}
	if len(s.parts) == 0 && n.rows[id] == s {
		delete(n.rows, id)
	}
}

// subscribed reports whether this engine has a subscriber of a topic.
func (n *notices) subscribed(t keystate.Topic) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.rows[rowOf(t.Class, t.Key)]
	return s != nil && len(s.parts[t.Part]) > 0
}

// wake wakes the subscribers of a part, except those that have an unread notification.
func (s *subscriptions) wake(part string) {
	for sub := range s.parts[part] {
		select {
		case sub <- struct{}{}:
		default:
		}
	}
}

// notify wakes the subscribers of this process at once after a change of its own.
func (n *notices) notify(c *change, d *document) {
	if len(c.topics) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range c.topics {
		if s := n.rows[rowOf(t.Class, t.Key)]; s != nil {
			s.wake(t.Part)
		}
	}
	// The next reading need not wake them again, unless another process has notified them.
	if s := n.rows[d.id]; s != nil && s.known && s.wakes == d.wakes && c.wakes > d.wakes {
		s.wakes = c.wakes
	}
}

// run reads the counters until no caller subscribes.
func (n *notices) run() {
	backoff := time.Duration(0) // after failures
	for first := true; ; first = false {
		ids, pause, ok := n.wanted(first)
		if !ok {
			return
		}
		if n.read(ids) == nil {
			backoff = 0
		} else {
			n.forget()
			backoff = min(2*max(backoff, n.e.poll), maxPoll)
		}
		pause = max(pause, backoff)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-n.kick:
			timer.Stop()
		case <-n.e.closing:
			timer.Stop()
			return
		}
	}
}

// wanted returns the rows to read, and the pause after that. It reports false if there are
// none, and the goroutine ends.
func (n *notices) wanted(first bool) (ids []rowID, pause time.Duration, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.rows) == 0 && !first {
		n.running = false
		return nil, 0, false
	}
	pause = max(n.e.poll, clientPoll)
	for id, s := range n.rows {
		ids = append(ids, id)
		if s.class != keystate.Clients {
			pause = n.e.poll
		}
	}
	return ids, pause, true
}

// forget lets all subscribers be woken once the counters can be read again.
func (n *notices) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.rows {
		s.known = false
	}
}

// maxRows is how many rows are read at once.
const maxRows = 500

// read reads the counters of rows and wakes the subscribers.
func (n *notices) read(ids []rowID) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), n.e.timeout)
	defer cancel()
	if err := n.e.checkSchema(ctx, ctx); err != nil {
		return err
	}
	for some := range slices.Chunk(ids, maxRows) {
		var found map[rowID]counter
		err := n.e.observe(ctx, "poll", func() (err error) {
			found, err = n.e.counters(ctx, some)
			return err
		})
		if err != nil {
			return err
		}
		n.saw(some, found)
	}
	return nil
}

// A counter is how often a row has notified its subscribers, and which.
type counter struct {
	wakes uint64
	woken []byte
}

// counters reads counters. A row that does not exist has none.
func (e *Engine) counters(ctx context.Context, ids []rowID) (map[rowID]counter, error) {
	args := make([]any, len(ids))
	for i := range ids {
		args[i] = ids[i][:]
	}
	conn, err := e.conn(ctx)
	if err != nil {
		return nil, err
	}
	defer giveBack(conn, true)
	rows, err := conn.QueryContext(ctx, e.sql("SELECT id, wakes, woken FROM {p}document WHERE id IN (?"+strings.Repeat(", ?", len(ids)-1)+")"), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err has its error
	found := make(map[rowID]counter)
	for rows.Next() {
		var (
			id []byte
			c  counter
		)
		if err := rows.Scan(&id, &c.wakes, &c.woken); err != nil {
			return nil, err
		}
		if len(id) == len(rowID{}) {
			found[rowID(id)] = c
		}
	}
	return found, rows.Err()
}

// saw compares counters with those that are known.
func (n *notices) saw(ids []rowID, found map[rowID]counter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range ids {
		s, c := n.rows[id], found[id]
		if s == nil || s.known && s.wakes == c.wakes {
			continue
		}
		since := s.wakes
		for part := range s.parts {
			// A lower counter is that of a new row.
			if !s.known || c.wakes < since || wokenSince(c.woken, part, since) {
				s.wake(part)
			}
		}
		s.known, s.wakes = true, c.wakes
	}
}
