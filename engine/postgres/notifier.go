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

	// sessionLife is how long the server believes that a process listens, after its last
	// sign of life.
	sessionLife = 30 * time.Second

	// heartbeat is the time between two signs of life. They also show that the connection
	// still works.
	heartbeat = 5 * time.Second

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

// newNotifier starts nothing: an engine without waiters has no connection for notices.
func newNotifier(config *pgx.ConnConfig, s schema, timeout time.Duration) *notifier {
	return &notifier{config: config, schema: s, timeout: timeout, subscriptions: make(map[string]*subscription)}
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
	n.reset()
	conn, err := n.connect(ctx)
	if err != nil {
		return
	}
	session := []byte(rand.Text())
	defer n.hangUp(conn, session)
	for told := (time.Time{}); ; {
		added, removed := n.changes()
		if len(added)+len(removed) > 0 || time.Since(told) >= heartbeat {
			began, err := n.tell(ctx, conn, session, added, removed)
			if err != nil || began && !told.IsZero() { // this process was paused, and its session expired
				return
			}
			told = time.Now()
		}
		if n.await(ctx, conn) != nil || ctx.Err() != nil {
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
	if _, err := conn.Exec(limited, "LISTEN "+n.schema.String()); err != nil {
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

// tell tells the server which topics were added and removed, and that the session is alive.
// It wakes the subscribers of the added ones: they may have missed a notice before. It
// reports whether the session began.
func (n *notifier) tell(ctx context.Context, conn *pgx.Conn, session []byte, added, removed []string) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	var began int64
	if err := conn.QueryRow(limited, n.schema.function("listen", 4), session, sessionLife, added, removed).Scan(&began); err != nil {
		return false, err
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
	return began != 0, nil
}

// await waits for notices until the topics change, for at most unsubscribeDelay. It returns
// an error if the connection is lost.
func (n *notifier) await(ctx context.Context, conn *pgx.Conn) error {
	limited, done := n.beginWait(ctx)
	defer done()
	for limited.Err() == nil {
		notice, err := conn.WaitForNotification(limited)
		switch {
		case err == nil:
			n.notify(notice.Payload)
		case limited.Err() == nil || conn.IsClosed():
			return err
		}
	}
	return nil
}

// beginWait returns a context that ends when the topics change, or after unsubscribeDelay. It
// has ended already if they have changed since changes.
func (n *notifier) beginWait(ctx context.Context) (limited context.Context, done func()) {
	limited, cancel := context.WithTimeout(ctx, unsubscribeDelay)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.interrupt = cancel
	if n.pending {
		cancel()
	}
	return limited, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.interrupt = nil
		cancel()
	}
}
