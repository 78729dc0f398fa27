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
	linger = time.Second

	// The pause before a lost connection is opened again doubles from the
	// first to the last of these.
	firstRedial = 50 * time.Millisecond
	lastRedial  = time.Second
)

// A notifier listens on one connection for the release of every lock that
// somebody in this process waits for.
//
// Its goroutine starts with the first waiter and ends with close, which waits
// for it. It alone uses the connection; waiters only leave a note in topics.
type notifier struct {
	client Client
	mode   PublishMode
	done   sync.WaitGroup
	news   chan struct{} // there is something in added

	mu     sync.Mutex
	end    context.CancelFunc // nil before the first waiter
	closed bool
	topics map[string]*topic
	added  []string // topics that the server has not been asked for
}

// A topic is a channel that somebody listens on, or did a moment ago.
type topic struct {
	ears       map[chan struct{}]struct{}
	subscribed bool      // the server has said yes
	idle       time.Time // since when nobody listens
}

func newNotifier(c Client, m PublishMode) *notifier {
	return &notifier{client: c, mode: m, news: make(chan struct{}, 1), topics: make(map[string]*topic)}
}

// listen returns a channel that receives after messages on some channels, until
// stop.
func (n *notifier) listen(channels ...string) (wake <-chan struct{}, stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.start()
	ear := make(chan struct{}, 1)
	topics, missed := make([]*topic, len(channels)), true
	for i, ch := range channels {
		topics[i] = n.topic(ch)
		topics[i].ears[ear] = struct{}{}
		missed = missed && topics[i].subscribed
	}
	if missed { // else the server has yet to say yes, which is heard
		wakeUp(ear) // the lock may have become free before
	}
	return ear, func() { n.leave(topics, ear) }
}

// topic returns the topic of a channel, which it makes if there is none.
func (n *notifier) topic(ch string) *topic {
	t := n.topics[ch]
	if t == nil {
		t = &topic{ears: make(map[chan struct{}]struct{})}
		n.topics[ch] = t
		n.added = append(n.added, ch)
		n.tell()
	}
	return t
}

func (n *notifier) leave(topics []*topic, ear chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range topics {
		delete(t.ears, ear)
		if len(t.ears) == 0 {
			t.idle = time.Now()
		}
	}
}

// wakeUp tells one who listens. Who has not taken the last notice yet needs no
// other.
func wakeUp(ear chan struct{}) {
	select {
	case ear <- struct{}{}:
	default:
	}
}

// start runs the goroutine, unless it runs or has been closed.
func (n *notifier) start() {
	if n.end != nil || n.closed {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.end = cancel
	n.done.Go(func() { n.run(ctx) })
}

// close ends the goroutine and waits for it.
func (n *notifier) close() {
	n.mu.Lock()
	n.closed = true
	if n.end != nil {
		n.end()
	}
	n.mu.Unlock()
	n.done.Wait()
}

// lingers reports whether ch is listened on although nobody here waits.
func (n *notifier) lingers(ch string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.topics[ch]
	return t != nil && t.subscribed && len(t.ears) == 0
}

// tell lets the goroutine have a look at what was added.
func (n *notifier) tell() {
	select {
	case n.news <- struct{}{}:
	default:
	}
}

// heard wakes who waits for ch: a message has come, or the server has begun to
// send them, and may have had one before.
func (n *notifier) heard(ch string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.topics[ch]
	if t == nil {
		return
	}
	t.subscribed = true
	for ear := range t.ears {
		wakeUp(ear)
	}
}

// run keeps a connection open, while it is wanted, until close.
func (n *notifier) run(ctx context.Context) {
	pause := firstRedial
	for n.wanted(ctx) {
		began := time.Now()
		n.attend(ctx)
		if time.Since(began) > lastRedial {
			pause = firstRedial
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, lastRedial)
	}
}

// wanted waits until somebody listens, and reports false if ctx is done.
func (n *notifier) wanted(ctx context.Context) bool {
	for ctx.Err() == nil {
		if n.startOver() {
			return true
		}
		select {
		case <-n.news:
		case <-ctx.Done():
		}
	}
	return false
}

// startOver makes ready for a connection that knows nothing of the topics, and
// reports whether there are any.
func (n *notifier) startOver() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.added = n.added[:0]
	for ch, t := range n.topics {
		if len(t.ears) == 0 {
			delete(n.topics, ch)
			continue
		}
		t.subscribed = false
		n.added = append(n.added, ch)
	}
	return len(n.topics) > 0
}

// attend opens a connection and serves the topics on it until it is lost.
func (n *notifier) attend(ctx context.Context) {
	l, err := listen(ctx, n.client, n.mode, n.heard)
	if err != nil {
		return
	}
	defer func() { _ = l.Close() }()
	sweep := time.NewTicker(linger)
	defer sweep.Stop()
	for n.subscribe(ctx, l) == nil {
		select {
		case <-n.news:
		case <-sweep.C:
			if n.sweep(ctx, l) != nil {
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
func (n *notifier) subscribe(ctx context.Context, l Listener) error {
	n.mu.Lock()
	added := n.added
	n.added = nil
	n.mu.Unlock()
	if len(added) == 0 {
		return nil
	}
	err := l.Subscribe(ctx, added)
	var deaf *deafError
	if errors.As(err, &deaf) {
		n.again(deaf.channels)
		return nil
	}
	return err
}

// again leaves channels to be asked for with the next ones, or with the next sweep.
func (n *notifier) again(channels []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, ch := range channels {
		if n.topics[ch] != nil {
			n.added = append(n.added, ch)
		}
	}
}

// sweep leaves off what nobody has listened to for a while.
func (n *notifier) sweep(ctx context.Context, l Listener) error {
	var unwanted []string
	n.mu.Lock()
	for ch, t := range n.topics {
		if len(t.ears) == 0 && time.Since(t.idle) >= linger {
			unwanted = append(unwanted, ch)
			delete(n.topics, ch)
		}
	}
	n.mu.Unlock()
	if len(unwanted) == 0 {
		return nil
	}
	return l.Unsubscribe(ctx, unwanted)
}
