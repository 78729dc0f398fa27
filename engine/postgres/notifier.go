package postgres

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// unsubscribeDelay is how long a subscription outlives its last subscriber: a
	// contended lock soon has another waiter.
	unsubscribeDelay = time.Second

	// sessionLife is how long the server believes that a process listens. A third of it
	// is the time between two signs of life.
	sessionLife = time.Minute

	// The pause before reconnecting doubles from minRedial to maxRedial.
	minRedial = 50 * time.Millisecond
	maxRedial = time.Second
)

// A notifier receives the notices of the server on one connection, and tells the server
// which topics this process waits for: nothing is sent about the others.
//
// Its goroutine starts with the first subscriber and ends with close, which waits for it. It
// alone uses the connection; subscribers only change the fields below mu.
type notifier struct {
	config  *pgx.ConnConfig
	schema  schema
	timeout time.Duration
	running sync.WaitGroup

	// mu guards the fields below.
	mu            sync.Mutex
	cancel        context.CancelFunc // ends the goroutine; nil before the first subscriber
	interrupt     context.CancelFunc // ends the wait for a notice; nil if it does not wait
	pending       bool               // the topics have changed since the last wait
	closed        bool
	subscriptions map[string]*subscription
}

// A subscription has the subscribers of one topic.
type subscription struct {
	subscribers map[chan struct{}]struct{}
	active      bool      // the server knows
	idleSince   time.Time // when the last subscriber left
}

// newNotifier starts nothing: an engine without waiters has no connection for notices.
func newNotifier(config *pgx.ConnConfig, s schema, timeout time.Duration) *notifier {
	return &notifier{config: config, schema: s, timeout: timeout, subscriptions: make(map[string]*subscription)}
}

// subscribe returns a channel that receives after notices about a topic, until stop is
// called.
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

// start starts the goroutine, unless it runs or the notifier is closed.
func (n *notifier) start() {
	if n.cancel != nil || n.closed {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.running.Go(func() { n.run(ctx) })
}

// close ends the goroutine and waits for it.
func (n *notifier) close() {
	n.mu.Lock()
	n.closed = true
	if n.cancel != nil {
		n.cancel()
	}
	n.mu.Unlock()
	n.running.Wait()
}

// idle reports whether a topic has a subscription without subscribers.
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

// run keeps a connection open until close.
func (n *notifier) run(ctx context.Context) {
	pause := minRedial
	for ctx.Err() == nil {
		began := time.Now()
		n.serve(ctx)
		// A connection that lasted was good, so the next loss is not a repeated failure.
		if time.Since(began) > maxRedial {
			pause = minRedial
		}
		select {
		case <-ctx.Done():
		case <-time.After(jitter(pause)):
		}
		pause = min(2*pause, maxRedial)
	}
}

// serve opens a connection and uses it until it is lost. It reports no error: notices are
// hints, and the waiters' own calls fail with an error.
func (n *notifier) serve(ctx context.Context) {
	conn, err := n.connect(ctx)
	if err != nil {
		return
	}
	session := []byte(rand.Text())
	defer n.hangUp(conn, session)
	n.reset()
	for n.tell(ctx, conn, session) == nil {
		switch err := n.await(ctx, conn); {
		case ctx.Err() != nil:
			return
		case err != nil:
			return
		}
	}
}

// connect opens a connection that listens.
func (n *notifier) connect(ctx context.Context) (*pgx.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(limited, n.config.Copy())
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(limited, "LISTEN "+string(n.schema)); err != nil {
		_ = conn.Close(limited)
		return nil, err
	}
	return conn, nil
}

// hangUp ends the session and the connection.
func (n *notifier) hangUp(conn *pgx.Conn, session []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), n.timeout)
	defer cancel()
	if !conn.IsClosed() {
		_, _ = conn.Exec(ctx, n.schema.function("unlisten", 1), session) // otherwise it expires
	}
	_ = conn.Close(ctx)
}

// reset prepares for a new session, which has no topics yet.
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

// tell tells the server which topics were added and removed since the last time, and that
// the session is alive. It wakes the subscribers of the added ones: they may have missed a
// notice before.
func (n *notifier) tell(ctx context.Context, conn *pgx.Conn, session []byte) error {
	added, removed := n.changes()
	limited, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	if _, err := conn.Exec(limited, n.schema.function("listen", 4), session, sessionLife, added, removed); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, topic := range added {
		if t := n.subscriptions[topic]; t != nil {
			t.active = true
			for sub := range t.subscribers {
				wakeSubscriber(sub)
			}
		}
	}
	return nil
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

// await waits for one notice, for changed topics, or until the next sign of life is due. It
// returns an error if the connection is lost.
func (n *notifier) await(ctx context.Context, conn *pgx.Conn) error {
	for {
		limited, done := n.beginWait(ctx)
		if limited == nil {
			return nil
		}
		notice, err := conn.WaitForNotification(limited)
		ended := limited.Err() != nil
		done()
		switch {
		case err == nil:
			n.notify(notice.Payload)
		case ended && !conn.IsClosed():
			return nil
		default:
			return err
		}
	}
}

// beginWait returns a context that ends when the topics change or a sign of life is due, or
// nil if the topics have changed already.
func (n *notifier) beginWait(ctx context.Context) (context.Context, func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pending {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, n.nextChange())
	n.interrupt = cancel
	return limited, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.interrupt = nil
		cancel()
	}
}

// nextChange returns when to talk to the server again: soon, if a subscription has no
// subscribers.
func (n *notifier) nextChange() time.Duration {
	for _, t := range n.subscriptions {
		if len(t.subscribers) == 0 {
			return unsubscribeDelay
		}
	}
	return sessionLife / 3
}
