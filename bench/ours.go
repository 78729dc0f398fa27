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

// interlockContender returns Interlock as a program uses it: an engine from Open, the default lease
// with renewal, and a new Mutex for each cycle.
func interlockContender(name string, opts ...interlock.Option) contender {
	open := func(ctx context.Context, addr string) (locks, error) {
		e, err := redisengine.Open(ctx, "redis://"+addr)
		if err != nil {
			return locks{}, err
		}
		return clientLocks(e, e.Close, opts...), nil
	}
	return contender{name: name, sends: scriptCalls, open: open}
}

// clientLocks returns the locks of a client on an engine. end closes the engine.
func clientLocks(e engine.Engine, end func() error, opts ...interlock.Option) locks {
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
			_ = end()
		},
	}
}

// cycleOf returns a cycle that calls lock, and then the unlock function that lock returned.
func cycleOf(lock func(context.Context, string) (func() error, error)) func(context.Context, string) error {
	return func(ctx context.Context, key string) error {
		unlock, err := lock(ctx, key)
		if err != nil {
			return err
		}
		return unlock()
	}
}

// engineOnly returns the Redis engine without the client above it.
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
	acquire, release capturedCall
}

// A capturedCall is one call to a script.
type capturedCall struct {
	text, sha  string
	keys, args []string
}

// captureTimeout is the timeout of the engine whose calls are captured. It sets the deadline in
// the captured call, which must be later than the end of the program.
const captureTimeout = 24 * time.Hour

// captureScripts returns the calls that the engine sends for a lock named key. It
// captures the second acquisition. The first one differs, because the engine does not know
// the server's clock yet.
func captureScripts(key string, serverTime time.Time) (*scripts, error) {
	s := &scripts{holder: "6f1d1f3e-8c3a-4d8c-9a0b-2f6c7d8e9f01:1", attempt: "1"}
	catch := &capturingClient{now: serverTime.UnixMicro()}
	e := redisengine.On(catch, redisengine.Timeout(captureTimeout))
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

// A capturingClient is a fake client that grants every request and stores the last call.
type capturingClient struct {
	now  int64
	last capturedCall
}

func (c *capturingClient) Eval(_ context.Context, call *redisengine.Call) (redisengine.Reply, error) {
	c.last = capturedCall{
		text: call.Script.Text, sha: call.Script.SHA,
		keys: append([]string(nil), call.Keys...), args: append([]string(nil), call.Args...),
	}
	return redisengine.Reply{Int: c.now}, nil
}

func (c *capturingClient) Listen(context.Context, redisengine.PublishMode, func(string)) (redisengine.Listener, error) {
	return nil, errors.ErrUnsupported
}

func (c *capturingClient) Close() error { return nil }
