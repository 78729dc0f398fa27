package redisengine

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// linger is how long a channel is listened on after the last waiter has
	// gone: locks that are fought over are waited for again soon.
	unsubscribeDelay = time.Second

	// The pause before a lost connection is opened again doubles from the
	// first to the last of these.
	minRedial = 50 * time.Millisecond
	maxRedial = time.Second
)

// A notifier listens on one connection for the release of every lock that
// somebody in this process waits for.
//
// Its goroutine starts with the first waiter and ends with close, which waits
// for it. It alone uses the connection; waiters only leave a note in topics.
type notifier struct {
	client  Client
	mode    PublishMode
	running sync.WaitGroup
	changed chan struct{} // there is something in added

	mu            sync.Mutex
	cancel        context.CancelFunc // nil before the first waiter
	closed        bool
	subscriptions map[string]*subscription
	added         []string // topics that the server has not been asked for
}

// A topic is a channel that somebody listens on, or did a moment ago.
type subscription struct {
	subscribers map[chan struct{}]struct{}
	subscribed  bool      // the server has said yes
	idleSince   time.Time // since when nobody listens
}

func newNotifier(c Client, m PublishMode) *notifier {
	return &notifier{client: c, mode: m, changed: make(chan struct{}, 1), subscriptions: make(map[string]*subscription)}
}

// listen returns a channel that receives after messages on some channels, until
// stop.
func (n *notifier) subscribe(channels ...string) (wake <-chan struct{}, stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.start()
	ear := make(chan struct{}, 1)
	topics, missed := make([]*subscription, len(channels)), true
	for i, ch := range channels {
		topics[i] = n.subscription(ch)
		topics[i].subscribers[ear] = struct{}{}
		missed = missed && topics[i].subscribed
	}
	if missed { // else the server has yet to say yes, which is heard
		wakeSubscriber(ear) // the lock may have become free before
	}
	return ear, func() { n.unsubscribe(topics, ear) }
}

// topic returns the topic of a channel, which it makes if there is none.
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

func (n *notifier) unsubscribe(topics []*subscription, ear chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range topics {
		delete(t.subscribers, ear)
		if len(t.subscribers) == 0 {
			t.idleSince = time.Now()
		}
	}
}

// wakeSubscriber tells one who listens. Who has not taken the last notice yet needs no
// other.
func wakeSubscriber(ear chan struct{}) {
	select {
	case ear <- struct{}{}:
	default:
	}
}

// start runs the goroutine, unless it runs or has been closed.
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

// lingers reports whether ch is listened on although nobody here waits.
func (n *notifier) idle(ch string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.subscriptions[ch]
	return t != nil && t.subscribed && len(t.subscribers) == 0
}

// tell lets the goroutine have a look at what was added.
func (n *notifier) signal() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// heard wakes who waits for ch: a message has come, or the server has begun to
// send them, and may have had one before.
func (n *notifier) notify(ch string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.subscriptions[ch]
	if t == nil {
		return
	}
	t.subscribed = true
	for ear := range t.subscribers {
		wakeSubscriber(ear)
	}
}

// run keeps a connection open, while it is wanted, until close.
func (n *notifier) run(ctx context.Context) {
	pause := minRedial
	for n.awaitSubscribers(ctx) {
		began := time.Now()
		n.serve(ctx)
		if time.Since(began) > maxRedial {
			pause = minRedial
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, maxRedial)
	}
}

// wanted waits until somebody listens, and reports false if ctx is done.
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

// startOver makes ready for a connection that knows nothing of the topics, and
// reports whether there are any.
func (n *notifier) reset() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.added = n.added[:0]
	for ch, t := range n.subscriptions {
		if len(t.subscribers) == 0 {
			delete(n.subscriptions, ch)
			continue
		}
		t.subscribed = false
		n.added = append(n.added, ch)
	}
	return len(n.subscriptions) > 0
}

// attend opens a connection and serves the topics on it until it is lost.
func (n *notifier) serve(ctx context.Context) {
	l, err := openListener(ctx, n.client, n.mode, n.notify)
	if err != nil {
		return
	}
	defer func() { _ = l.Close() }()
	sweep := time.NewTicker(unsubscribeDelay)
	defer sweep.Stop()
	for n.sendSubscribe(ctx, l) == nil {
		select {
		case <-n.changed:
		case <-sweep.C:
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

// subscribe asks the server for what was added.
func (n *notifier) sendSubscribe(ctx context.Context, l Listener) error {
	n.mu.Lock()
	added := n.added
	n.added = nil
	n.mu.Unlock()
	if len(added) == 0 {
		return nil
	}
	err := l.Subscribe(ctx, added)
	var deaf *partialSubscribeError
	if errors.As(err, &deaf) {
		n.retryLater(deaf.channels)
		return nil
	}
	return err
}

// again leaves channels to be asked for with the next ones, or with the next sweep.
func (n *notifier) retryLater(channels []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, ch := range channels {
		if n.subscriptions[ch] != nil {
			n.added = append(n.added, ch)
		}
	}
}

// sweep leaves off what nobody has listened to for a while.
func (n *notifier) sendUnsubscribe(ctx context.Context, l Listener) error {
	var unwanted []string
	n.mu.Lock()
	for ch, t := range n.subscriptions {
		if len(t.subscribers) == 0 && time.Since(t.idleSince) >= unsubscribeDelay {
			unwanted = append(unwanted, ch)
			delete(n.subscriptions, ch)
		}
	}
	n.mu.Unlock()
	if len(unwanted) == 0 {
		return nil
	}
	return l.Unsubscribe(ctx, unwanted)
}
