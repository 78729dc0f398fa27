package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/engine/redisengine"
)

// farewell is how long it takes to give back what is held, at most.
const farewell = 3 * time.Second

// A remote is an engine that other processes use, too, and a client of it.
type remote struct {
	engine *redisengine.Engine
	client *interlock.Client
	name   string // which servers, without a password
	from   string // where its address is from
}

// redisFlag adds the flag that says which Redis.
func (p *program) redisFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "redis", "", p.say(i18n.FlagTheRedis))
}

// connect opens the Redis that a command is about. One in this process would be
// no use: nobody else could see its locks.
func (p *program) connect(c *cobra.Command, url string) (*remote, error) {
	from := "--redis"
	if !c.Flag("redis").Changed {
		url, from = p.getenv(redisVariable), redisVariable
	}
	if url == "" {
		return nil, p.misuse(c, p.say(i18n.RedisLacks, redisVariable), "")
	}
	e, err := p.open(c, url, from)
	if gone, away := errors.AsType[*unreachableError](err); away {
		return nil, &neededError{gone}
	}
	if err != nil {
		return nil, err
	}
	client := interlock.New(e, interlock.Name("interlock "+c.Name()))
	return &remote{engine: e, client: client, name: host(url), from: from}, nil
}

// close gives back what is held, whatever became of the context.
func (r *remote) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	_ = r.client.Close(ctx) // what it could not give back runs out
	_ = r.engine.Close()
}

// explain tells an engine that went away from everything else that goes wrong.
func (r *remote) explain(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && unreachable(err) {
		return &neededError{&unreachableError{r.from, err}}
	}
	return err
}

// A neededError is an engine that is away and that nothing can be done without.
type neededError struct{ *unreachableError }

// Unwrap returns what is known of it.
func (e *neededError) Unwrap() error { return e.unreachableError }
