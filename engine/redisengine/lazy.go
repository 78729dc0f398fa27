package redisengine

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Lazy lets [Open] succeed although nobody answers: the engine connects when it is
// first used, or when it can, and until then its calls fail with
// [engine.ErrUnavailable]. It is for an engine that is one of several, as in a
// quorum or with a standby, so that a process can start while that one is down.
func Lazy() Option {
	return func(e *Engine) { e.lazy = true }
}

// lazyRetry is how long it is left at that after an attempt to connect that failed.
const lazyRetry = 500 * time.Millisecond

// A lazyClient is a [Client] that has yet to connect.
type lazyClient struct {
	connect func(ctx context.Context) (Client, error)

	mu      sync.Mutex // held while connecting: one does it for all
	client  Client     // nil before it has
	err     error      // why it has not
	retryAt time.Time  // when it is tried again
	closed  bool
}

// late returns a client that connects as soon as it can.
func newLazyClient(t engine.Topology, connect func(ctx context.Context) (Client, error), why error) Client {
	l := &lazyClient{connect: connect, err: why, retryAt: time.Now().Add(lazyRetry)}
	if t == engine.Cluster {
		return &lazyCluster{l}
	}
	return l
}

// get returns the client, and connects if it has to.
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

// now returns the client, or nil if it has not connected.
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
func (l *lazyClient) Listen(ctx context.Context, m PublishMode, heard func(channel string)) (Listener, error) {
	client, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return client.Listen(ctx, m, heard)
}

// Close implements [Client].
func (l *lazyClient) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.client == nil {
		return nil
	}
	return l.client.Close()
}

// A lazyCluster is a lazyClient of many servers.
type lazyCluster struct{ *lazyClient }

var _ Cluster = (*lazyCluster)(nil)

func (l *lazyCluster) cluster(ctx context.Context) (Cluster, error) {
	client, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return client.(Cluster), nil
}

// Home implements [Cluster].
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

// Forget implements [Cluster].
func (l *lazyCluster) Invalidate() {
	if c, ok := l.connected().(Cluster); ok {
		c.Invalidate()
	}
}

// At implements [Cluster].
func (l *lazyCluster) Node(addr string) (Client, error) {
	c, err := l.cluster(context.Background())
	if err != nil {
		return nil, err
	}
	return c.Node(addr)
}
