package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

var errNotHeld = errors.New("the lock was not held when it was released")

// connect opens rueidis as redisengine.Open does, so that rows with and without the
// engine differ in nothing else.
func connect(addr string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{addr},
		MaxFlushDelay:     20 * time.Microsecond,
		PipelineMultiplex: -1,
		ForceSingleClient: true,
		DisableCache:      true,
		DisableRetry:      true,
		AlwaysPipelining:  true,
	})
}

// rawSet returns the lower bound for a lock with two commands: SET NX PX, and a script that
// deletes the key if it still has the caller's token.
func rawSet(name string) contender {
	const text = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	release := rueidis.NewLuaScript(text)
	const token = "0123456789abcdef"
	open := func(_ context.Context, addr string) (locks, error) {
		client, err := connect(addr)
		if err != nil {
			return locks{}, err
		}
		unlock := func(ctx context.Context, key string) error {
			n, err := release.Exec(ctx, client, []string{key}, []string{token}).ToInt64()
			if err == nil && n != 1 {
				err = errNotHeld
			}
			return err
		}
		lock := func(ctx context.Context, key string) error {
			return client.Do(ctx, client.B().Set().Key(key).Value(token).Nx().Px(lockLease).Build()).Error()
		}
		return locks{
			cycle: func(ctx context.Context, key string) error {
				if err := lock(ctx, key); err != nil {
					return err
				}
				return unlock(ctx, key)
			},
			try: func(ctx context.Context, key string) (func() error, error) {
				err := lock(ctx, key)
				switch {
				case rueidis.IsRedisNil(err):
					return nil, nil
				case err != nil:
					return nil, err
				}
				return func() error { return unlock(ctx, key) }, nil
			},
			close: client.Close,
		}, nil
	}
	return contender{name: name, sends: []string{"set", "evalsha", "eval"}, open: open}
}

// rawScripts returns a contender that sends the scripts of the Redis engine without the
// engine.
func rawScripts(name string, s *scripts) contender {
	open := func(ctx context.Context, addr string) (locks, error) {
		client, err := connect(addr)
		if err != nil {
			return locks{}, err
		}
		for _, call := range []capturedCall{s.acquire, s.release} {
			if err := client.Do(ctx, client.B().ScriptLoad().Script(call.text).Build()).Error(); err != nil {
				client.Close()
				return locks{}, err
			}
		}
		one, two := strconv.Itoa(len(s.acquire.keys)), strconv.Itoa(len(s.release.keys))
		channel := s.release.keys[1]
		return locks{
			cycle: func(ctx context.Context, key string) error {
				fence, err := client.Do(ctx, client.B().Arbitrary("EVALSHA", s.acquire.sha, one).
					Keys(key).Args(s.acquire.args...).Build()).ToInt64()
				if err != nil {
					return err
				}
				if fence <= 0 {
					return fmt.Errorf("%q was not granted", key)
				}
				n, err := client.Do(ctx, client.B().Arbitrary("EVALSHA", s.release.sha, two).
					Keys(key, channel).Args(s.release.args...).Build()).ToInt64()
				if err == nil && n != 1 {
					err = errNotHeld
				}
				return err
			},
			close: client.Close,
		}, nil
	}
	return contender{name: name, sends: []string{"evalsha"}, open: open}
}
