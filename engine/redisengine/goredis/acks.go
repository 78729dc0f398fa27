package goredis

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine/redisengine"
)

// errNoConn means that the client's type has no dedicated connections.
var errNoConn = errors.New("acks need dedicated connections: use a client made by NewClient, NewFailoverClient or NewClusterClient")

// evalAcked runs a script and waits for acknowledgements by replicas. It returns early if
// ctx is done. Because go-redis ignores ctx while it reads, a goroutine makes the call. The
// goroutine ends with go-redis's own timeout at the latest, and Close waits for it.
func (a *adapter) evalAcked(ctx context.Context, call *redisengine.Call) (redisengine.Reply, error) {
	type result struct {
		reply redisengine.Reply
		err   error
	}
	args := arguments("evalsha", call.Script.SHA, call) // copies: the engine reuses call after evalAcked returns
	script, acks, timeout := call.Script, call.Acks, call.AckTimeout
	answered := make(chan result, 1)
	if !a.spawn(func() {
		reply, err := a.evalOnConn(ctx, args, script, func(conn *redis.Conn) int {
			n, _ := conn.Wait(ctx, acks, timeout).Result() // a failed WAIT counts as no acknowledgement
			return int(n)
		})
		answered <- result{reply, err}
	}) {
		return redisengine.Reply{}, classify(redis.ErrClosed)
	}
	select {
	case r := <-answered:
		return r.reply, r.err
	case <-ctx.Done():
		return redisengine.Reply{}, ctx.Err()
	}
}

// evalOnConn runs a script and then calls wait, on one dedicated connection: WAIT covers
// only the writes of its own connection. On such a connection go-redis does not follow
// moved slots, so evalOnConn does.
func (a *adapter) evalOnConn(ctx context.Context, args []any, script *redisengine.Script, wait func(*redis.Conn) int) (redisengine.Reply, error) {
	client, err := a.clientFor(ctx, args[3].(string)) // the first key follows the command, the script and the number of keys
	for hops := 0; ; hops++ {
		if err != nil {
			return redisengine.Reply{}, &redisengine.NotSentError{Err: err}
		}
		reply, fault := evalOnServer(ctx, client, args, script, wait)
		addr := redisengine.Moved(fault)
		cluster, isCluster := a.client.(*redis.ClusterClient)
		// MOVED is an error reply, so nothing has happened and the next node may be
		// asked.
		if addr == "" || !isCluster || hops == cluster.Options().MaxRedirects {
			return reply, fault
		}
		client, err = nodeAt(ctx, cluster, addr)
	}
}

// evalOnServer is evalOnConn for one server. It follows no redirection.
func evalOnServer(ctx context.Context, client *redis.Client, args []any, script *redisengine.Script, wait func(*redis.Conn) int) (redisengine.Reply, error) {
	conn := client.Conn()
	defer func() { _ = conn.Close() }()
	reply, err := sendOnce(ctx, conn, args)
	if redisengine.NoScript(err) {
		// evalOnConn may still send the original to another node.
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

// clientFor returns the caller's client of the server that has a key.
func (a *adapter) clientFor(ctx context.Context, key string) (*redis.Client, error) {
	switch c := a.client.(type) {
	case *redis.Client:
		return c, nil
	case *redis.ClusterClient:
		return c.MasterForKey(ctx, key)
	}
	return nil, errNoConn
}

// sendOnce sends a command on a dedicated connection, without a retry.
func sendOnce(ctx context.Context, conn *redis.Conn, args []any) (redisengine.Reply, error) {
	cmd := once{redis.NewCmd(ctx, args...)}
	if err := conn.Process(ctx, cmd); err != nil {
		return redisengine.Reply{}, classify(err)
	}
	return read(cmd.Val())
}
