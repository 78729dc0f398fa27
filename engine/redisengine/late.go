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

// latePause is how long it is left at that after an attempt to connect that failed.
const latePause = 500 * time.Millisecond

// A lateClient is a [Client] that has yet to connect.
type lateClient struct {
	connect func(ctx context.Context) (Client, error)

	mu     sync.Mutex // held while connecting: one does it for all
	client Client     // nil before it has
	err    error      // why it has not
	again  time.Time  // when it is tried again
	closed bool
}

// late returns a client that connects as soon as it can.
func late(t engine.Topology, connect func(ctx context.Context) (Client, error), why error) Client {
	l := &lateClient{connect: connect, err: why, again: time.Now().Add(latePause)}
	if t == engine.Cluster {
		return &lateCluster{l}
	}
	return l
}

// get returns the client, and connects if it has to.
func (l *lateClient) get(ctx context.Context) (Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, &NotSentError{Err: engine.ErrClosed}
	case l.client != nil:
		return l.client, nil
	case !time.Now().Before(l.again):
		l.client, l.err = l.connect(ctx)
		l.again = time.Now().Add(latePause)
	}
	if l.err != nil {
		return nil, &NotSentError{Err: l.err}
	}
	return l.client, nil
}

// now returns the client, or nil if it has not connected.
func (l *lateClient) now() Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.client
}

// Eval implements [Client].
func (l *lateClient) Eval(ctx context.Context, c *Call) (Reply, error) {
	client, err := l.get(ctx)
	if err != nil {
		return Reply{}, err
	}
	return client.Eval(ctx, c)
}

// Listen implements [Client].
func (l *lateClient) Listen(ctx context.Context, m PublishMode, heard func(channel string)) (Listener, error) {
	client, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return client.Listen(ctx, m, heard)
}

// Close implements [Client].
func (l *lateClient) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.client == nil {
		return nil
	}
	return l.client.Close()
}

// A lateCluster is a lateClient of many servers.
type lateCluster struct{ *lateClient }

var _ Cluster = (*lateCluster)(nil)

func (l *lateCluster) cluster(ctx context.Context) (Cluster, error) {
	client, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return client.(Cluster), nil
}

// Home implements [Cluster].
func (l *lateCluster) Home(ctx context.Context, key string) (string, error) {
	c, err := l.cluster(ctx)
	if err != nil {
		return "", err
	}
	return c.Home(ctx, key)
}

// Primaries implements [Cluster].
func (l *lateCluster) Primaries(ctx context.Context) ([]Primary, error) {
	c, err := l.cluster(ctx)
	if err != nil {
		return nil, err
	}
	return c.Primaries(ctx)
}

// Forget implements [Cluster].
func (l *lateCluster) Forget() {
	if c, ok := l.now().(Cluster); ok {
		c.Forget()
	}
}

// At implements [Cluster].
func (l *lateCluster) At(addr string) (Client, error) {
	c, err := l.cluster(context.Background())
	if err != nil {
		return nil, err
	}
	return c.At(addr)
}
