// Package goredis runs the Redis engine on a go-redis client, for programs that
// have one already:
//
//	e := goredis.New(client)
//	defer e.Close()
//
// Calls use the client's own connections and pass its hooks. Two more are opened
// beside its pool: one for renewals, so that a pool with no connection left never
// costs a lock, and one for messages once somebody waits. Behind sentinels renewals
// take the client's own first, which are the first to follow a failover.
//
// The client may be one for a single server, for one behind sentinels, or for a
// cluster.
package goredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
)

// New returns an engine on a client of the caller's, who closes it after the
// engine. Whatever the client's own timeouts and retries are, a call is sent once
// and returns within the engine's timeout.
//
// With a client for a cluster, New asks a server for its version, unless it is
// told how to publish; see [redisengine.New]. Rings are not supported, since they
// forget locks whenever a server comes or goes; nor are clients for a cluster that have
// its slots from elsewhere, such as NewFailoverClusterClient's. With these New panics.
func New(client redis.UniversalClient, opts ...redisengine.Option) *redisengine.Engine {
	switch c := client.(type) {
	case *redis.ClusterClient:
		if c.Options().ClusterSlots != nil { // the servers would not know of them
			panic("goredis: New: this client does not ask the cluster for its slots: use NewClusterClient, or NewFailoverClient for a server behind sentinels")
		}
		return redisengine.On(newCluster(c), opts...)
	case *redis.Ring:
		panic("goredis: New: a ring forgets locks whenever a server comes or goes: use a cluster, or package quorum")
	}
	return redisengine.On(&adapter{client: client, renewals: renewalClient(client)}, opts...)
}

// An adapter is a [redisengine.Client] on go-redis.
type adapter struct {
	client   redis.UniversalClient
	renewals redis.UniversalClient // nil if client is of a kind that has no options to copy

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // those under way
}

// reserve returns a client with one connection of its own to the same server.
func renewalClient(client redis.UniversalClient) redis.UniversalClient {
	c, ok := client.(*redis.Client)
	if !ok {
		return nil
	}
	opt := *c.Options()
	opt.PoolSize, opt.MaxActiveConns, opt.MinIdleConns, opt.MaxIdleConns = 1, 1, 0, 1
	opt.PipelinePoolSize = -1
	opt.DialerRetries = 1
	opt.PushNotificationProcessor = nil // it belongs to the other client
	if opt.Addr == failoverAddr {
		followSentinels(&opt)
	}
	return redis.NewClient(&opt)
}

// Close implements [redisengine.Client]. It waits for calls that were given up
// on and have not ended yet.
func (a *adapter) Close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.calls.Wait()
	if a.renewals == nil {
		return nil
	}
	return a.renewals.Close()
}

// Eval implements [redisengine.Client].
func (a *adapter) Eval(ctx context.Context, call *redisengine.Call) (redisengine.Reply, error) {
	bounded, cancel := context.WithTimeout(ctx, call.Timeout+call.AckTimeout)
	defer cancel()
	reply, err := a.eval(bounded, call)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%w after %v", os.ErrDeadlineExceeded, call.Timeout) // ours, not the caller's
	}
	return reply, err
}

// eval is Eval with an end to it.
func (a *adapter) eval(ctx context.Context, call *redisengine.Call) (redisengine.Reply, error) {
	if call.Acks > 0 {
		return a.evalAcked(ctx, call)
	}
	reply, err := a.send(ctx, "evalsha", call.Script.SHA, call)
	if redisengine.NoScript(err) {
		reply, err = a.send(ctx, "eval", call.Script.Text, call)
	}
	return reply, err
}

// send sends a call to where it belongs.
func (a *adapter) send(ctx context.Context, command, script string, call *redisengine.Call) (redisengine.Reply, error) {
	if call.Renewal && a.behindSentinels() {
		return a.sendRenewal(ctx, command, script, call)
	}
	return a.sendOn(ctx, command, script, call, call.Renewal)
}

// sendOn returns when the answer is there or ctx is done.
func (a *adapter) sendOn(ctx context.Context, command, script string, call *redisengine.Call, aside bool) (redisengine.Reply, error) {
	cmd := once{redis.NewCmd(ctx, arguments(command, script, call)...)}
	select {
	case err := <-a.process(ctx, cmd, aside):
		if err != nil {
			return redisengine.Reply{}, classify(err)
		}
		return read(cmd.Val())
	case <-ctx.Done():
		return redisengine.Reply{}, ctx.Err()
	}
}

// process hands cmd to go-redis, which does not look at ctx while it reads. So it
// has a goroutine, which ends with go-redis's own timeout at the latest; Close
// waits for it.
func (a *adapter) process(ctx context.Context, cmd redis.Cmder, aside bool) <-chan error {
	answered := make(chan error, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		answered <- redis.ErrClosed
	case aside && a.renewals != nil:
		a.calls.Go(func() { answered <- a.renewals.Process(ctx, cmd) })
	default:
		a.calls.Go(func() { answered <- a.client.Process(ctx, cmd) })
	}
	return answered
}

// once is a command that go-redis does not repeat by itself: whoever repeats an
// acquisition must say so.
type once struct{ *redis.Cmd }

// NoRetry implements [redis.Cmder].
func (once) NoRetry() bool { return true }

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

func read(value any) (redisengine.Reply, error) {
	if n, ok := value.(int64); ok {
		return redisengine.Reply{Int: n}, nil
	}
	list, ok := value.([]any)
	if !ok {
		return redisengine.Reply{}, fmt.Errorf("goredis: %T is no reply of a script of ours", value)
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

// sorted says of an error what [redisengine.Client] asks for.
func classify(err error) error {
	var reply redis.Error
	var op *net.OpError
	switch {
	case errors.As(err, &reply):
		return redisengine.ReplyError(reply.Error())
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return &redisengine.NotSentError{Err: fmt.Errorf("%w: %w", engine.ErrOverloaded, err)}
	case errors.Is(err, redis.ErrClosed):
		return &redisengine.NotSentError{Err: fmt.Errorf("%w: %w", engine.ErrClosed, err)}
	case errors.As(err, &op) && op.Op == "dial":
		return &redisengine.NotSentError{Err: err}
	}
	return err
}
