package redisengine

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Lazy lets [Open] succeed while the server is down: the engine connects on a later
// call, and until then its calls fail with [engine.ErrUnavailable]. Use it for the engines
// of a quorum or a standby, so that a process can start while one of them is down.
func Lazy() Option {
	return func(e *Engine) { e.lazy = true }
}

// lazyRetry is the pause after a failed attempt to connect. Until then calls fail at once
// with the last error, instead of waiting for a timeout each.
const lazyRetry = 500 * time.Millisecond

// A lazyClient is a [Client] that connects on demand.
type lazyClient struct {
	connect func(ctx context.Context) (Client, error)

	mu      sync.Mutex // held while connecting, so that one caller connects for all
	client  Client     // nil until connected
	err     error      // why the last attempt to connect failed
	retryAt time.Time  // when to connect again
	closed  bool
}

// newLazyClient returns a client that connects on demand. err is the error of the first
// attempt.
func newLazyClient(t engine.Topology, connect func(ctx context.Context) (Client, error), err error) Client {
	l := &lazyClient{connect: connect, err: err, retryAt: time.Now().Add(lazyRetry)}
	if t == engine.Cluster {
		return &lazyCluster{l}
	}
	return l
}

// get returns the client, and connects if necessary.
func (l *lazyClient) get(ctx context.Context) (Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, &NotSentError{Err: engine.ErrClosed}
	case l.client != nil:
		return l.client, nil
	case !time.Now().Before(l.retryAt):
		l.client, l.err = l.connect(ctx)
		l.retryAt = time.Now().Add(lazyRetry)
	}
	if l.err != nil {
		return nil, &NotSentError{Err: l.err}
	}
	return l.client, nil
}

// connected returns the client, or nil if there is no connection yet.
func (l *lazyClient) connected() Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.client
}

// Eval implements [Client].
func (l *lazyClient) Eval(ctx context.Context, c *Call) (Reply, error) {
	client, err := l.get(ctx)
	if err != nil {
		return Reply{}, err
	}
	return client.Eval(ctx, c)
}

// Listen implements [Client].
func (l *lazyClient) Listen(ctx context.Context, m PublishMode, onMessage func(channel string)) (Listener, error) {
	client, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return client.Listen(ctx, m, onMessage)
}

// Close implements [Client].
func (l *lazyClient) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A later get fails, so no connection is opened after Close.
	l.closed = true
	if l.client == nil {
		return nil
	}
	return l.client.Close()
}

// A lazyCluster is a lazyClient of a cluster.
type lazyCluster struct{ *lazyClient }

var _ Cluster = (*lazyCluster)(nil)

// cluster is get for the methods that [Cluster] adds to [Client].
func (l *lazyCluster) cluster(ctx context.Context) (Cluster, error) {
	client, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return client.(Cluster), nil // connect returned it for a cluster URL
}

// PrimaryFor implements [Cluster].
func (l *lazyCluster) PrimaryFor(ctx context.Context, key string) (string, error) {
	c, err := l.cluster(ctx)
	if err != nil {
		return "", err
	}
	return c.PrimaryFor(ctx, key)
}

// Primaries implements [Cluster].
func (l *lazyCluster) Primaries(ctx context.Context) ([]Primary, error) {
	c, err := l.cluster(ctx)
	if err != nil {
		return nil, err
	}
	return c.Primaries(ctx)
}

// LastPrimary implements [Cluster].
func (l *lazyCluster) LastPrimary(key string) string {
	if c, ok := l.connected().(Cluster); ok {
		return c.LastPrimary(key)
	}
	return ""
}

// Invalidate implements [Cluster]. Without a connection there is nothing to forget, so it
// does not connect.
func (l *lazyCluster) Invalidate() {
	if c, ok := l.connected().(Cluster); ok {
		c.Invalidate()
	}
}

// Node implements [Cluster].
func (l *lazyCluster) Node(addr string) (Client, error) {
	// Node has no context. Its callers have just asked for the primaries, which connects.
	c, err := l.cluster(context.Background())
	if err != nil {
		return nil, err
	}
	return c.Node(addr)
}
