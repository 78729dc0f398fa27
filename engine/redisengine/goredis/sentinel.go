package goredis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine/redisengine"
)

// failoverAddr is what go-redis writes where a client that asks sentinels would
// have the address of a server.
const failoverAddr = "FailoverClient"

// lifetime is how old a connection of ours may become behind sentinels. A new one
// begins with the question who is the primary.
const maxConnAge = 500 * time.Millisecond

// follow lets a client of ours go where the sentinels say. When they name another
// primary, go-redis drops the connections of the caller's pool, but neither his
// subscribers nor what is ours.
func followSentinels(opt *redis.Options) {
	opt.ConnMaxLifetime, opt.ConnMaxLifetimeJitter = maxConnAge, 0
	before := opt.OnConnect
	opt.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		if before != nil {
			if err := before(ctx, conn); err != nil {
				return err
			}
		}
		return redisengine.CheckPrimary(role(ctx, conn))
	}
}

// follows reports whether the client is one for a server behind sentinels.
func (a *adapter) behindSentinels() bool {
	c, ok := a.client.(*redis.Client)
	return ok && a.renewals != nil && c.Options().Addr == failoverAddr
}

// sendBoth sends a renewal on a connection of the caller's, and on ours if there is no
// answer soon. The old primary lives on for a while after a failover; what was granted
// on the caller's connections, which have left it, is not known there, and a connection
// of ours could still be one to it. To renew twice does no harm.
func (a *adapter) sendRenewal(ctx context.Context, command, script string, call *redisengine.Call) (redisengine.Reply, error) {
	soon, cancel := context.WithTimeout(ctx, call.Timeout/4)
	defer cancel()
	reply, err := a.sendOn(soon, command, script, call, false)
	var answer redisengine.ReplyError
	if err == nil || errors.As(err, &answer) || ctx.Err() != nil {
		return reply, err
	}
	return a.sendOn(ctx, command, script, call, true)
}

// role asks a server what it is.
func role(ctx context.Context, conn *redis.Conn) string {
	cmd := once{redis.NewCmd(ctx, "role")}
	if conn.Process(ctx, cmd) != nil {
		return ""
	}
	answer, _ := cmd.Slice()
	if len(answer) == 0 {
		return ""
	}
	name, _ := answer[0].(string)
	return name
}

// messages is the client whose connections messages come on: behind sentinels one of
// ours, which follows them.
func (a *adapter) pubsubClient() redis.UniversalClient {
	if a.behindSentinels() {
		return a.renewals
	}
	return a.client
}
