package main

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
)

var fenced = []interlock.Option{interlock.Fenced()}

// scriptCalls are the commands that the Redis engine sends.
var scriptCalls = []string{"evalsha", "eval", "subscribe", "unsubscribe"}

// interlocked is Interlock as a program uses it: an engine from Open, the default lease
// with renewal, and a new Mutex for each cycle.
func interlocked(name string, opts ...interlock.Option) contender {
	open := func(ctx context.Context, addr string) (locks, error) {
		e, err := redisengine.Open(ctx, "redis://"+addr)
		if err != nil {
			return locks{}, err
		}
		c := interlock.New(e, opts...)
		return locks{
			cycle: func(ctx context.Context, key string) error {
				_, hold, err := c.Mutex(key).Lock(ctx)
				if err != nil {
					return err
				}
				return hold.Unlock()
			},
			lock: func(ctx context.Context, key string) (func() error, error) {
				_, hold, err := c.Mutex(key).Lock(ctx)
				if err != nil {
					return nil, err
				}
				return hold.Unlock, nil
			},
			try: func(ctx context.Context, key string) (func() error, error) {
				_, hold, err := c.Mutex(key).TryLock(ctx)
				switch {
				case errors.Is(err, interlock.ErrContended):
					return nil, nil
				case err != nil:
					return nil, err
				}
				return hold.Unlock, nil
			},
			close: func() {
				_ = c.Close(context.Background())
				_ = e.Close()
			},
		}, nil
	}
	return contender{name: name, sends: scriptCalls, open: open}
}

// engineOnly is the Redis engine without the client above it.
func engineOnly(s *scripts) contender {
	open := func(ctx context.Context, addr string) (locks, error) {
		e, err := redisengine.Open(ctx, "redis://"+addr)
		if err != nil {
			return locks{}, err
		}
		return locks{
			cycle: func(ctx context.Context, key string) error {
				r := engine.Request{Key: key, Holder: s.holder, Attempt: s.attempt, Lease: interlock.DefaultLease}
				if _, err := e.Acquire(ctx, r); err != nil {
					return err
				}
				_, err := e.Release(ctx, r)
				return err
			},
			close: func() { _ = e.Close() },
		}, nil
	}
	return contender{name: "redisengine alone", sends: scriptCalls, open: open}
}

// scripts are the two script calls of a lock cycle, as the engine sends them.
type scripts struct {
	holder, attempt  string
	acquire, release sent
}

// A sent is one captured call.
type sent struct {
	text, sha  string
	keys, args []string
}

// patience is the deadline for late calls in the captured scripts. It is longer than
// the program runs.
const patience = 24 * time.Hour

// captureScripts returns the calls that the engine sends for a lock named key. It
// captures the second call: the first one differs, because the engine does not know the
// server's clock yet.
func captureScripts(key string, server time.Time) (*scripts, error) {
	s := &scripts{holder: "6f1d1f3e-8c3a-4d8c-9a0b-2f6c7d8e9f01:1", attempt: "1"}
	catch := &catcher{now: server.UnixMicro()}
	e := redisengine.On(catch, redisengine.Timeout(patience))
	r := engine.Request{Key: key, Holder: s.holder, Attempt: s.attempt, Lease: interlock.DefaultLease}
	for range 2 {
		if _, err := e.Acquire(context.Background(), r); err != nil {
			return nil, err
		}
	}
	s.acquire = catch.last
	if _, err := e.Release(context.Background(), r); err != nil {
		return nil, err
	}
	s.release = catch.last
	return s, e.Close()
}

// A catcher is a fake server that grants every request and stores the last call.
type catcher struct {
	now  int64
	last sent
}

func (c *catcher) Eval(_ context.Context, call *redisengine.Call) (redisengine.Reply, error) {
	c.last = sent{
		text: call.Script.Text, sha: call.Script.SHA,
		keys: append([]string(nil), call.Keys...), args: append([]string(nil), call.Args...),
	}
	return redisengine.Reply{Int: c.now}, nil
}

func (c *catcher) Listen(context.Context, redisengine.PublishMode, func(string)) (redisengine.Listener, error) {
	return nil, errors.ErrUnsupported
}

func (c *catcher) Close() error { return nil }
