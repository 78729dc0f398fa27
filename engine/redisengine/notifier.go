package redisengine

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// unsubscribeDelay is how long a subscription outlives its last subscriber: a
	// contended lock soon has another waiter.
	unsubscribeDelay = time.Second

	// The pause before reconnecting doubles from minRedial to maxRedial.
	minRedial = 50 * time.Millisecond
	maxRedial = time.Second
)

// A notifier subscribes on one connection to the channels of all locks that this
// process waits for.
//
// Its goroutine starts with the first subscriber and ends with close, which waits for
// it. It alone uses the connection; subscribers only change the fields below mu.
type notifier struct {
	client  Client
	mode    func() PublishMode
	running sync.WaitGroup
	changed chan struct{} // receives when added is not empty

	// mu guards the fields below. The goroutine does not hold it while it uses the
	// connection.
	mu            sync.Mutex
	cancel        context.CancelFunc // nil before the first subscriber
	closed        bool
	subscriptions map[string]*subscription
	added         []string // channels to subscribe to
}

// A subscription has the subscribers of one channel. It outlives the last one by
// unsubscribeDelay.
type subscription struct {
	subscribers map[chan struct{}]struct{}
	subscribed  bool      // confirmed by the server
	idleSince   time.Time // when the last subscriber left
}

// newNotifier starts nothing: an engine without waiters has no second connection.
func newNotifier(c Client, mode func() PublishMode) *notifier {
	return &notifier{client: c, mode: mode, changed: make(chan struct{}, 1), subscriptions: make(map[string]*subscription)}
}

// subscribe returns a Go channel that receives after messages on the given channels, until
// stop is called.
func (n *notifier) subscribe(channels ...string) (wake <-chan struct{}, stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	// Starting under mu makes sure that close cancels the goroutine, or prevents it.
	n.start()
	sub := make(chan struct{}, 1)
	subscriptions, active := make([]*subscription, len(channels)), true
	for i, ch := range channels {
		subscriptions[i] = n.subscription(ch)
		subscriptions[i].subscribers[sub] = struct{}{}
		active = active && subscriptions[i].subscribed
	}
	// A new subscription wakes its subscribers when the server confirms it. An active one is
	// not confirmed again, so wake this subscriber now: the lock may have become free before
	// this call.
	if active {
		wakeSubscriber(sub)
	}
	return sub, func() { n.unsubscribe(subscriptions, sub) }
}

// subscription returns the subscription to a channel, which it creates if necessary.
func (n *notifier) subscription(ch string) *subscription {
	t := n.subscriptions[ch]
	if t == nil {
		t = &subscription{subscribers: make(map[chan struct{}]struct{})}
		n.subscriptions[ch] = t
		n.added = append(n.added, ch)
		n.signal()
	}
	return t
}

// unsubscribe removes a subscriber. The goroutine leaves the channel later; see
// unsubscribeDelay.
func (n *notifier) unsubscribe(subscriptions []*subscription, sub chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range subscriptions {
		delete(t.subscribers, sub)
		if len(t.subscribers) == 0 {
			t.idleSince = time.Now()
		}
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

// idle reports whether ch has a subscription without subscribers.
func (n *notifier) idle(ch string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.subscriptions[ch]
	return t != nil && t.subscribed && len(t.subscribers) == 0
}

// signal makes the goroutine look at added.
func (n *notifier) signal() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// notify wakes the subscribers of ch: there is a message, or the subscription has begun
// and may have missed one before.
func (n *notifier) notify(ch string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.subscriptions[ch]
	if t == nil {
		return
	}
	t.subscribed = true
	for sub := range t.subscribers {
		wakeSubscriber(sub)
	}
}

// run opens a connection once there are subscribers, until close. The connection stays open
// without subscribers. After it is lost, run opens the next one once there are subscribers.
func (n *notifier) run(ctx context.Context) {
	pause := minRedial
	for n.awaitSubscribers(ctx) {
		began := time.Now()
		n.serve(ctx)
		// A connection that lasted was good, so the next loss is not a repeated failure.
		if time.Since(began) > maxRedial {
			pause = minRedial
		}
		// The pause is random: after a restart of the server, the processes must not all
		// connect at once.
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, maxRedial)
	}
}

// awaitSubscribers waits for subscribers, and reports false if ctx is done.
func (n *notifier) awaitSubscribers(ctx context.Context) bool {
	for ctx.Err() == nil {
		if n.reset() {
			return true
		}
		select {
		case <-n.changed:
		case <-ctx.Done():
		}
	}
	return false
}

// reset prepares for a new connection, which has no subscriptions yet, and reports
// whether there are subscribers.
func (n *notifier) reset() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.added = n.added[:0]
	for ch, t := range n.subscriptions {
		if len(t.subscribers) == 0 {
			delete(n.subscriptions, ch)
			continue
		}
		// The new connection wakes all subscribers when it confirms, since messages may
		// be lost.
		t.subscribed = false
		n.added = append(n.added, ch)
	}
	return len(n.subscriptions) > 0
}

// serve opens a connection and uses it until it is lost. It reports no error: messages are
// hints, and the waiters' own calls fail with an error.
func (n *notifier) serve(ctx context.Context) {
	l, err := openListener(ctx, n.client, n.mode, n.notify)
	if err != nil {
		return
	}
	// Close waits for the last message, so notify is not called for an old connection
	// after reset.
	defer func() { _ = l.Close() }()
	idle := time.NewTicker(unsubscribeDelay)
	defer idle.Stop()
	// Subscribing comes before waiting: channels were added while the connection was
	// opened.
	for n.sendSubscribe(ctx, l) == nil {
		select {
		case <-n.changed:
		case <-idle.C:
			if n.sendUnsubscribe(ctx, l) != nil {
				return
			}
		case <-l.Lost():
			return
		case <-ctx.Done():
			return
		}
	}
}

// sendSubscribe subscribes to the added channels.
func (n *notifier) sendSubscribe(ctx context.Context, l Listener) error {
	n.mu.Lock()
	added := n.added
	n.added = nil
	n.mu.Unlock()
	if len(added) == 0 {
		return nil
	}
	err := l.Subscribe(ctx, added)
	var partial *partialSubscribeError
	// In a cluster one node may be down. The others keep their subscriptions, and the
	// next tick of the serve loop tries this one again.
	if errors.As(err, &partial) {
		n.retryLater(partial.channels)
		return nil
	}
	return err
}

// retryLater leaves channels for the next sendSubscribe.
func (n *notifier) retryLater(channels []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, ch := range channels {
		// The last subscriber may have left meanwhile.
		if n.subscriptions[ch] != nil {
			n.added = append(n.added, ch)
		}
	}
}

// sendUnsubscribe unsubscribes from channels without subscribers.
func (n *notifier) sendUnsubscribe(ctx context.Context, l Listener) error {
	var unwanted []string
	n.mu.Lock()
	for ch, t := range n.subscriptions {
		if len(t.subscribers) == 0 && time.Since(t.idleSince) >= unsubscribeDelay {
			unwanted = append(unwanted, ch)
			// It is deleted before the command is sent, so that a new subscriber
			// subscribes again.
			delete(n.subscriptions, ch)
		}
	}
	n.mu.Unlock()
	if len(unwanted) == 0 {
		return nil
	}
	return l.Unsubscribe(ctx, unwanted)
}
