package goredis

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine/redisengine"
)

// errNoConn reports a client of another type, which has no dedicated connections.
var errNoConn = errors.New("acks need a client made by NewClient, NewFailoverClient or NewClusterClient")

// evalAcked runs a script and waits for replicas. It returns with the answers, or when ctx
// is done, which go-redis ignores while it reads. So a goroutine makes the call; it ends
// with go-redis's own timeout at the latest, and Close waits for it.
func (a *adapter) evalAcked(ctx context.Context, call *redisengine.Call) (redisengine.Reply, error) {
	type result struct {
		reply redisengine.Reply
		err   error
	}
	args := arguments("evalsha", call.Script.SHA, call) // the engine reuses the call after evalAcked returns
	script, acks, wait := call.Script, call.Acks, call.AckTimeout
	answered := make(chan result, 1)
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return redisengine.Reply{}, classify(redis.ErrClosed)
	}
	a.calls.Go(func() {
		reply, err := a.onConn(ctx, args, script, func(conn *redis.Conn) int {
			n, _ := conn.Wait(ctx, acks, wait).Result() // without an answer no replica has acknowledged
			return int(n)
		})
		answered <- result{reply, err}
	})
	a.mu.Unlock()
	select {
	case r := <-answered:
		return r.reply, r.err
	case <-ctx.Done():
		return redisengine.Reply{}, ctx.Err()
	}
}

// onConn runs a script and then wait on a dedicated connection: WAIT counts the writes of its
// connection. Go-redis does not follow moved slots there, so onConn does.
func (a *adapter) onConn(ctx context.Context, args []any, script *redisengine.Script, wait func(*redis.Conn) int) (redisengine.Reply, error) {
	client, err := a.clientFor(ctx, args)
	for hops := 0; ; hops++ {
		if err != nil {
			return redisengine.Reply{}, &redisengine.NotSentError{Err: err}
		}
		reply, fault := onConnOf(ctx, client, args, script, wait)
		addr := redisengine.Moved(fault)
		c, many := a.client.(*redis.ClusterClient)
		if addr == "" || !many || hops == c.Options().MaxRedirects {
			return reply, fault
		}
		client, err = nodeAt(ctx, c, addr)
	}
}

// onConnOf is onConn for one server.
func onConnOf(ctx context.Context, client *redis.Client, args []any, script *redisengine.Script, wait func(*redis.Conn) int) (redisengine.Reply, error) {
	conn := client.Conn()
	defer func() { _ = conn.Close() }()
	reply, err := sendOnce(ctx, conn, args)
	if redisengine.NoScript(err) {
		args = slices.Clone(args)
		args[0], args[1] = "eval", script.Text
		reply, err = sendOnce(ctx, conn, args)
	}
	if err != nil {
		return redisengine.Reply{}, err
	}
	reply.Acked = wait(conn)
	return reply, nil
}

// clientFor returns the client of the server that has the keys of a call.
func (a *adapter) clientFor(ctx context.Context, args []any) (*redis.Client, error) {
	switch c := a.client.(type) {
	case *redis.Client:
		return c, nil
	case *redis.ClusterClient:
		return c.MasterForKey(ctx, args[3].(string)) // after the command, the script and the number of keys
	}
	return nil, errNoConn
}

func sendOnce(ctx context.Context, conn *redis.Conn, args []any) (redisengine.Reply, error) {
	cmd := once{redis.NewCmd(ctx, args...)}
	if err := conn.Process(ctx, cmd); err != nil {
		return redisengine.Reply{}, classify(err)
	}
	return read(cmd.Val())
}
