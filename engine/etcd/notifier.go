package etcd

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/interlock-go/interlock/engine"
)

// watchPause is the pause before a watch that failed is opened again.
const watchPause = 200 * time.Millisecond

// A notifier shares the watches of an engine between its subscribers. All watches share one
// connection.
type notifier struct {
	engine *Engine
	stream atomic.Uint64 // the number of the stream for new watches; see streamContext

	mu      sync.Mutex
	watches map[watchID]*watch
	closed  bool
}

// A watchID identifies a watch by the prefix of the keys that it watches, and how.
type watchID struct {
	prefix string
	events eventFilter
}

// An eventFilter decides which changes matter to a watch, and to which subscribers. They
// are examined in the goroutine of the watch.
type eventFilter interface {
	options() []clientv3.OpOption
	examine(ctx context.Context, e *Engine, events []*clientv3.Event) (concerns func(*subscription) bool)
}

// A watch is one watch of etcd and its subscribers.
type watch struct {
	id          watchID
	cancel      context.CancelFunc
	live        bool // the cluster has confirmed the watch; guarded by the notifier's mutex
	subscribers map[*subscription]struct{}
}

// A subscription is one caller that wants to be notified.
type subscription struct {
	wake    chan struct{}
	request engine.Request
	client  string // the client whose revocations matter
}

// notify wakes the subscriber. Notifications that it has not read are merged.
func (s *subscription) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Notify implements [engine.Notifier].
func (e *Engine) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	id := watchID{e.keys.lock(r.Key), lockEvents{r.Key}}
	if r.Kind == engine.Latch {
		id = watchID{e.keys.latch(r.Key), latchEvents{}}
	}
	return e.notifier.subscribe(id, &subscription{request: r})
}

// subscribe adds a subscriber. The first one of an id opens the watch.
func (n *notifier) subscribe(id watchID, s *subscription) (wake <-chan struct{}, stop func()) {
	s.wake = make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return s.wake, func() {}
	}
	w := n.watches[id]
	if w == nil {
		ctx, cancel := context.WithCancel(n.engine.life)
		w = &watch{id: id, cancel: cancel, subscribers: make(map[*subscription]struct{})}
		n.watches[id] = w
		n.engine.tasks.Go(func() { n.run(ctx, w) }) // ends with cancel or Close, which waits
	}
	w.subscribers[s] = struct{}{}
	if w.live {
		s.notify()
	}
	return s.wake, func() { n.unsubscribe(w, s) }
}

// unsubscribe removes a subscriber. The last one ends the watch.
func (n *notifier) unsubscribe(w *watch, s *subscription) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(w.subscribers, s)
	if len(w.subscribers) == 0 && n.watches[w.id] == w {
		delete(n.watches, w.id)
		w.cancel()
	}
}

// close ends all watches.
func (n *notifier) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for id, w := range n.watches {
		delete(n.watches, id)
		w.cancel()
	}
}

// listeners returns 1 if this process waits for the lock, and otherwise 0. The engine does
// not know about other processes.
func (n *notifier) listeners(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.watches[watchID{n.engine.keys.lock(name), lockEvents{name}}] != nil {
		return 1
	}
	return 0
}

// run keeps a watch open until ctx ends.
//
// The client resumes a watch on another member after a cut, from the revision that it has
// seen, so nothing is missed. It gives up if the member has lost its leader, or if that
// revision was compacted; then run opens the watch again.
func (n *notifier) run(ctx context.Context, w *watch) {
	var from int64 // the first revision that has not been seen; zero means now
	for ctx.Err() == nil {
		stream := n.stream.Load()
		opts := append(w.id.events.options(), clientv3.WithCreatedNotify(), clientv3.WithRev(from))
		for resp := range n.engine.client.Watch(streamContext(ctx, stream), w.id.prefix, opts...) {
			if refusesSession(resp.Err()) {
				n.stream.CompareAndSwap(stream, stream+1) // one watch changes it for all
			}
			if errors.Is(resp.Err(), rpctypes.ErrCompacted) {
				from = 0
			} else if resp.Header.Revision >= from && resp.Err() == nil {
				from = resp.Header.Revision + 1
			}
			n.handle(ctx, w, &resp)
		}
		n.setLive(w, false)
		_ = pause(ctx, watchPause)
	}
}

// streamContext returns a context whose watches use a stream of their own number. Watches with the
// same metadata share a stream, and with it the session that the client had when it was opened.
func streamContext(ctx context.Context, number uint64) context.Context {
	if number > 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, "interlock-stream", strconv.FormatUint(number, 10))
	}
	return clientv3.WithRequireLeader(ctx)
}

// refusesSession reports whether a new watch was refused because the session of its stream has
// expired, or is older than a change of the users. Watches that were open before go on, and keep
// the stream open.
func refusesSession(err error) bool {
	return err != nil && slices.ContainsFunc([]error{rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision, rpctypes.ErrUserEmpty}, func(known error) bool {
		return strings.Contains(err.Error(), known.Error())
	})
}

// handle notifies the subscribers that one answer of etcd concerns.
func (n *notifier) handle(ctx context.Context, w *watch, resp *clientv3.WatchResponse) {
	concerns := func(*subscription) bool { return true }
	switch {
	case resp.Err() != nil:
		return
	case resp.Created: // releases before it were missed
		n.setLive(w, true)
	case len(resp.Events) == 0:
		return
	default:
		concerns = w.id.events.examine(ctx, n.engine, resp.Events)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for s := range w.subscribers {
		if concerns(s) {
			s.notify()
		}
	}
}

func (n *notifier) setLive(w *watch, live bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w.live = live
}

// lockEvents are the ends of holds and positions of a lock. Nothing else lets a waiter in.
type lockEvents struct{ name string }

func (lockEvents) options() []clientv3.OpOption {
	return []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithFilterPut()}
}

// examine reads the lock once for all subscribers, so that only those ask again that may
// be granted it.
func (l lockEvents) examine(ctx context.Context, e *Engine, _ []*clientv3.Event) func(*subscription) bool {
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		return func(*subscription) bool { return true }
	}
	defer cancel()
	s, err := e.readLock(ctx, l.name)
	return func(sub *subscription) bool { return err != nil || s.blocking(&sub.request) == nil }
}

// latchEvents is the opening of a latch.
type latchEvents struct{}

func (latchEvents) options() []clientv3.OpOption {
	return []clientv3.OpOption{clientv3.WithFilterDelete()}
}

func (latchEvents) examine(_ context.Context, _ *Engine, events []*clientv3.Event) func(*subscription) bool {
	open := false
	for _, event := range events {
		l, err := parseLatch(event.Kv)
		open = open || err != nil || l.Open
	}
	return func(*subscription) bool { return open }
}
