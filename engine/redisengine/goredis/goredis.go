// Package goredis runs the Redis engine on a go-redis client, for programs that
// already have one:
//
//	e := goredis.New(client)
//	defer e.Close()
//
// Calls use the client's connections and hooks. The engine opens more connections to each
// server: up to two for renewals, so that neither an exhausted pool nor a silent
// connection costs a lock, and one for messages once a caller waits. A renewal without an
// answer is sent again on a new connection. Behind sentinels, renewals first use the
// client's connections, which are the first to follow a failover.
//
// The client may be for a single server, for a server behind sentinels, or for a
// cluster.
package goredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
)

// New returns an engine on a client that the caller closes after the engine. Whatever the
// client's timeouts and retries are, a call is sent once and returns within the engine's
// timeout.
//
// On a cluster client, New asks a server for its version, unless [redisengine.Publish] is
// given. New panics for a ring, which loses locks when a server is added or removed, and for a
// cluster client with its own ClusterSlots, such as NewFailoverClusterClient's.
func New(client redis.UniversalClient, opts ...redisengine.Option) *redisengine.Engine {
	switch c := client.(type) {
	case *redis.ClusterClient:
		if c.Options().ClusterSlots != nil { // the servers would not have these slots
			panic("goredis: New: this client does not read the slots from the cluster: use NewClusterClient, or NewFailoverClient for a server behind sentinels")
		}
		return redisengine.On(newCluster(c), opts...)
	case *redis.Ring:
		panic("goredis: New: a ring loses locks when a server is added or removed: use a cluster, or package quorum")
	}
	return redisengine.On(newAdapter(client), opts...)
}

// An adapter is a [redisengine.Client] on go-redis.
type adapter struct {
	client   redis.UniversalClient
	renewals renewals
	pubsub   *redis.Client // the engine's own client for messages, behind sentinels; otherwise nil

	longest atomic.Int64 // the longest timeout of a call

	mu     sync.Mutex // guards closed, and orders calls.Go before Close waits
	closed bool
	calls  sync.WaitGroup // pending calls
}

// newAdapter returns a Client on the caller's client.
func newAdapter(client redis.UniversalClient) *adapter {
	a := &adapter{client: client}
	a.renewals.spawn = a.spawn
	if c, ok := client.(*redis.Client); ok && c.Options().Addr == failoverAddr {
		a.pubsub = renewalClient(c)
	}
	return a
}

// spawn runs f in a goroutine that Close waits for. It reports false after Close.
func (a *adapter) spawn(f func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.calls.Go(f)
	return true
}

// closeSlack is how much longer than a call Close waits.
const closeSlack = time.Second

// Close implements [redisengine.Client]. It waits for pending calls whose callers have given
// up. A client without a read timeout may never end them, so Close waits only as long as a
// call may take.
func (a *adapter) Close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	err := a.renewals.close()
	ended := make(chan struct{})
	go func() { // ends with the pending calls, or when the caller closes the client
		a.calls.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Duration(a.longest.Load()) + closeSlack):
		err = errors.Join(err, errPending)
	}
	if a.pubsub != nil {
		err = errors.Join(err, a.pubsub.Close())
	}
	return err
}

// errPending is the error of a Close that stopped waiting.
var errPending = errors.New("goredis: calls still wait for the server, since the client has no read timeout: close the client to end them")

// Eval implements [redisengine.Client].
func (a *adapter) Eval(ctx context.Context, call *redisengine.Call) (redisengine.Reply, error) {
	timeout := call.Timeout + call.AckTimeout
	if int64(timeout) > a.longest.Load() {
		a.longest.Store(int64(timeout)) // a lost update makes Close wait a little less
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	reply, err := a.eval(bounded, call)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%w after %v", os.ErrDeadlineExceeded, timeout) // the engine's timeout, not the caller's
	}
	return reply, err
}

// eval is Eval with a deadline.
func (a *adapter) eval(ctx context.Context, call *redisengine.Call) (redisengine.Reply, error) {
	if call.Acks > 0 {
		return a.evalAcked(ctx, call)
	}
	if call.Renewal {
		// If the server is not known, or redirects the call, the caller's client picks the
		// server.
		if caller, err := a.clientFor(ctx, call.Keys[0]); err == nil {
			if reply, err := a.renewals.send(ctx, caller, call); !redisengine.Redirected(err) {
				return reply, err
			}
		}
	}
	reply, err := a.send(ctx, "evalsha", call.Script.SHA, call)
	if redisengine.NoScript(err) {
		reply, err = a.send(ctx, "eval", call.Script.Text, call)
	}
	return reply, err
}

// send uses a connection of the caller's client. It returns with the answer, or when ctx is
// done. An answer after that goes to the call's OnLateReply function.
func (a *adapter) send(ctx context.Context, command, script string, call *redisengine.Call) (redisengine.Reply, error) {
	cmd := once{redis.NewCmd(ctx, arguments(command, script, call)...)}
	late := call.OnLateReply()
	err := a.process(ctx, cmd, func() {
		if reply, err := read(cmd.Val()); err == nil {
			late(reply)
		}
	})
	if err != nil {
		return redisengine.Reply{}, classify(err)
	}
	return read(cmd.Val())
}

// process runs cmd in a goroutine, because go-redis ignores ctx while it reads. If ctx ends
// before the answer, process returns, and the goroutine calls late after the answer. The
// goroutine ends with go-redis's own timeout at the latest, if there is one.
func (a *adapter) process(ctx context.Context, cmd redis.Cmder, late func()) error {
	answered, gaveUp := make(chan error), make(chan struct{})
	if !a.spawn(func() {
		err := a.client.Process(ctx, cmd)
		select {
		case answered <- err:
		case <-gaveUp:
			if err == nil {
				late()
			}
		}
	}) {
		return redis.ErrClosed
	}
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		close(gaveUp)
		return ctx.Err()
	}
}

// once is a command that go-redis does not retry: a repeated request must be marked as
// Retry.
type once struct{ *redis.Cmd }

// NoRetry implements [redis.Cmder].
func (once) NoRetry() bool { return true }

// arguments copies the strings of a call, because the goroutine of process may outlive
// it.
func arguments(command, script string, call *redisengine.Call) []any {
	args := make([]any, 0, 3+len(call.Keys)+len(call.Args))
	args = append(args, command, script, len(call.Keys))
	for _, k := range call.Keys {
		args = append(args, k)
	}
	for _, a := range call.Args {
		args = append(args, a)
	}
	return args
}

// read converts a reply: the scripts return an integer, or a list of integers and
// strings.
func read(value any) (redisengine.Reply, error) {
	if n, ok := value.(int64); ok {
		return redisengine.Reply{Int: n}, nil
	}
	list, ok := value.([]any)
	if !ok {
		return redisengine.Reply{}, fmt.Errorf("goredis: unexpected reply of type %T", value)
	}
	items := make([]redisengine.Item, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case int64:
			items[i].Int = v
		case string:
			items[i].Text = v
		}
	}
	return redisengine.Reply{List: items}, nil
}

// classify returns an error as [redisengine.Client] requires.
func classify(err error) error {
	var reply redis.Error
	var op *net.OpError
	switch {
	case errors.As(err, &reply):
		return redisengine.ReplyError(reply.Error())
	// No connection became free, so nothing was sent.
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return &redisengine.NotSentError{Err: fmt.Errorf("%w: %w", engine.ErrOverloaded, err)}
	case errors.Is(err, redis.ErrClosed):
		return &redisengine.NotSentError{Err: fmt.Errorf("%w: %w", engine.ErrClosed, err)}
	case errors.As(err, &op) && op.Op == "dial":
		return &redisengine.NotSentError{Err: err}
	}
	return err
}
