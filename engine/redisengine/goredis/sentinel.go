package goredis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine/redisengine"
)

// failoverAddr is the address that go-redis shows for a client behind sentinels.
const failoverAddr = "FailoverClient"

// maxConnAge is the lifetime of the engine's connections behind sentinels. A new connection
// asks the sentinels for the primary.
const maxConnAge = 500 * time.Millisecond

// followSentinels lets a go-redis client that the engine owns follow a failover. When the
// primary changes, go-redis closes the pooled connections of the caller's client, but not its
// subscriptions, and not the connections of the engine's clients.
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

// role returns the role that a server reports.
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

// pubsubClient returns the client for subscriptions. Behind sentinels that is the engine's
// own, which follows a failover.
func (a *adapter) pubsubClient() redis.UniversalClient {
	if a.pubsub != nil {
		return a.pubsub
	}
	return a.client
}
