package redisengine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestRedissonFormat checks the keys, fields, channels and messages that Redisson reads and
// writes, byte for byte.
func TestRedissonFormat(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	for _, name := range []struct{ key, channel, counter string }{
		{"order:42", "redisson_lock__channel:{order:42}", "redisson_lock_token:{order:42}"},
		{"order:{43}", "redisson_lock__channel:order:{43}", "redisson_lock_token:order:{43}"},
		{"{44}:order", "redisson_lock__channel:{44}:order", "redisson_lock_token:{44}:order"},
		{"订单 45", "redisson_lock__channel:{订单 45}", "redisson_lock_token:{订单 45}"},
	} {
		t.Run(name.key+" has Redisson's keys, and a release publishes 0", func(t *testing.T) {
			t.Parallel()
			next := s.Subscribe("SUBSCRIBE", name.channel)
			r := engine.Request{Key: name.key, Holder: ann, Attempt: "a", Lease: 30 * time.Second, Fenced: true}
			granted(t, e, r)
			if s.Must("TYPE", name.key) != "hash" || s.Must("HGET", name.key, ann) != "1" {
				t.Errorf("%s holds %q, want a hash with the holder's count", name.key, s.Must("HGETALL", name.key))
			}
			if s.Must("TYPE", name.counter) != "string" {
				t.Errorf("the counter %s is missing", name.counter)
			}
			released(t, e, r, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
			if got := next(); got != "0" {
				t.Errorf("the message is %q, want 0", got)
			}
		})
	}

	t.Run("a named owner has its count in its field (T2)", func(t *testing.T) {
		t.Parallel()
		granted(t, e, request(t, ann, "a"))
		granted(t, e, request(t, ann, "b"))
		if got := s.Must("HGET", key(t), ann); got != "2" {
			t.Errorf("the count is %s, want 2", got)
		}
	})

	t.Run("Redisson finds a Go lock held, and acquires it when it is free", func(t *testing.T) {
		t.Parallel()
		r := request(t, ann, "a")
		granted(t, e, r)
		if got := number(t, s, "EVAL", redissonLock, "1", r.Key, "30000", java); got <= 0 {
			t.Errorf("lock by Java while we hold it: %d, want the time left", got)
		}
		if got := s.Must("EVAL", redissonUnlock, "2", r.Key, channelOf(r.Key), "0", "30000", java, "publish"); got != "(nil)" {
			t.Errorf("unlock by Java while we hold it: %s, want (nil)", got)
		}
		released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
		if got := s.Must("EVAL", redissonLock, "1", r.Key, "30000", java); got != "(nil)" {
			t.Errorf("lock by Java: %s, want (nil)", got)
		}
		if b := busy(t, e, r); b.Holder != java || b.Left < 15*time.Second {
			t.Errorf("refusal = %v, want Java as the holder", b)
		}
		renewed(t, e, r, engine.ErrNotHolder)
		released(t, e, r, engine.ReleaseResult{Outcome: engine.NotYours})
	})

	t.Run("a release by Java wakes Go", func(t *testing.T) {
		t.Parallel()
		s.Must("EVAL", redissonLock, "1", key(t), "30000", java)
		wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: key(t)})
		defer stop()
		awaitWake(t, wake)
		if got := s.Must("EVAL", redissonUnlock, "2", key(t), channelOf(key(t)), "0", "30000", java, "publish"); got != "1" {
			t.Errorf("unlock by Java: %s, want 1", got)
		}
		awaitWake(t, wake)
		granted(t, e, request(t, ann, "a"))
	})

	t.Run("fences rise from Go to Redisson and back", func(t *testing.T) {
		t.Parallel()
		r := fenced(request(t, ann, "a"), 8)
		shared := open(t, s, redisengine.Redisson())
		first := granted(t, shared, r)
		released(t, shared, r, engine.ReleaseResult{Outcome: engine.Released})
		counter := "redisson_lock_token:{" + r.Key + "}"
		got := s.Must("EVAL", redissonFenced, "2", r.Key, counter, "30000", java)
		token, err := parseToken(got)
		if err != nil || token <= first.Fence+r.FenceReserve {
			t.Errorf("Java's token is %q, want one above %d, our fence with its reserve", got, first.Fence+r.FenceReserve)
		}
		s.Must("DEL", r.Key)
		if second := granted(t, shared, r); second.Fence <= token {
			t.Errorf("our next fence is %d, want one above Java's token, %d", second.Fence, token)
		}
	})
}

func TestPublishMode(t *testing.T) {
	t.Parallel()
	redistest.Needs7(t)
	s := redistest.Start(t)
	e := open(t, s, redisengine.Publish(redisengine.Sharded))
	r := request(t, ann, "a")
	wake, stop := e.Capabilities().Notifier.Notify(r)
	defer stop()
	awaitWake(t, wake)
	next := s.Subscribe("SSUBSCRIBE", channelOf(r.Key))
	granted(t, e, r)
	released(t, e, r, engine.ReleaseResult{Outcome: engine.Released, Listeners: 2})
	awaitWake(t, wake)
	if got := next(); got != "0" {
		t.Errorf("the message is %q, want 0", got)
	}
	granted(t, e, r)
	abandoned(t, e, r, engine.ReleaseResult{Outcome: engine.Released, Listeners: 2})
	awaitWake(t, wake)
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := openURL(t, s.URL()+"?prefix=url:", redisengine.Prefix("shop:"))
	r := engine.Request{Key: "order", Holder: ann, Attempt: "a", Lease: time.Minute, Fenced: true}
	wake, stop := e.Capabilities().Notifier.Notify(r)
	defer stop()
	awaitWake(t, wake)
	granted(t, e, r)
	for _, k := range []string{"shop:order", "redisson_lock_token:{shop:order}"} {
		if s.Must("EXISTS", k) != "1" {
			t.Errorf("the key %s is missing in %q", k, s.Must("KEYS", "*"))
		}
	}
	released(t, e, r, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
	awaitWake(t, wake)
}

func TestKeysThatBreakSlots(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	for _, k := range []string{"a{b", "a}b", "{}", "{}x", "x{}y{z}", "}{"} {
		r := engine.Request{Key: k, Holder: ann, Attempt: "a", Lease: time.Minute}
		_, err := e.Acquire(context.Background(), r)
		if err == nil || !strings.Contains(err.Error(), "{42}") {
			t.Errorf("acquire %q: %v, want an error with an example", k, err)
		}
		wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: k})
		stop()
		if wake != nil {
			t.Errorf("Notify subscribes to the invalid key %q", k)
		}
	}
	if n := s.Must("DBSIZE"); n != "0" {
		t.Errorf("invalid names created %s keys, want none", n)
	}
}

func channelOf(name string) string { return "redisson_lock__channel:{" + name + "}" }

func TestHoldersThatBreakTheFormat(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	for _, holder := range []string{"mode", "fence:a"} {
		_, err := e.Acquire(context.Background(), request(t, holder, "a"))
		wantError(t, err, nil, "uuid:number")
	}
}
