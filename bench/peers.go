package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redsyncContender returns redsync on go-redis with its defaults, except that it never stops
// retrying. It polls every 50 to 250 ms, or at the given interval.
func redsyncContender(name string, every time.Duration) contender {
	opts := []redsync.Option{redsync.WithTries(math.MaxInt32)}
	if every > 0 {
		opts = append(opts, redsync.WithRetryDelay(every))
	}
	open := func(_ context.Context, addr string) (locks, error) {
		client := redis.NewClient(&redis.Options{Addr: addr})
		rs := redsync.New(goredis.NewPool(client))
		unlock := func(ctx context.Context, m *redsync.Mutex) error {
			_, err := m.UnlockContext(ctx)
			return err
		}
		return locks{
			cycle: func(ctx context.Context, key string) error {
				m := rs.NewMutex(key, opts...)
				if err := m.LockContext(ctx); err != nil {
					return err
				}
				return unlock(ctx, m)
			},
			lock: func(ctx context.Context, key string) (func() error, error) {
				m := rs.NewMutex(key, opts...)
				if err := m.LockContext(ctx); err != nil {
					return nil, err
				}
				return func() error { return unlock(context.WithoutCancel(ctx), m) }, nil
			},
			try: func(ctx context.Context, key string) (func() error, error) {
				m := rs.NewMutex(key)
				err := m.TryLockContext(ctx)
				var taken *redsync.ErrTaken
				switch {
				case errors.As(err, &taken):
					return nil, nil
				case err != nil:
					return nil, err
				}
				return func() error { return unlock(ctx, m) }, nil
			},
			close: func() { _ = client.Close() },
		}, nil
	}
	return contender{name: name, sends: []string{"set", "setnx", "evalsha", "eval"}, open: open}
}

// redislockContender returns bsm/redislock on go-redis. It tries once, or polls at the given
// interval; the library has no default interval.
func redislockContender(name string, every time.Duration) contender {
	var opts *redislock.Options
	if every > 0 {
		opts = &redislock.Options{RetryStrategy: redislock.LinearBackoff(every)}
	}
	open := func(_ context.Context, addr string) (locks, error) {
		client := redis.NewClient(&redis.Options{Addr: addr})
		rl := redislock.New(client)
		return locks{
			cycle: func(ctx context.Context, key string) error {
				l, err := rl.Obtain(ctx, key, lockLease, opts)
				if err != nil {
					return err
				}
				return l.Release(ctx)
			},
			lock: func(ctx context.Context, key string) (func() error, error) {
				l, err := rl.Obtain(ctx, key, lockLease, opts)
				if err != nil {
					return nil, err
				}
				return func() error { return l.Release(context.WithoutCancel(ctx)) }, nil
			},
			try: func(ctx context.Context, key string) (func() error, error) {
				l, err := rl.Obtain(ctx, key, lockLease, nil)
				switch {
				case errors.Is(err, redislock.ErrNotObtained):
					return nil, nil
				case err != nil:
					return nil, err
				}
				return func() error { return l.Release(ctx) }, nil
			},
			close: func() { _ = client.Close() },
		}, nil
	}
	return contender{name: name, sends: []string{"evalsha", "eval"}, open: open}
}
