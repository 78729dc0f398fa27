package goredis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// openBehindSentinels returns an engine on a client behind sentinels.
func openBehindSentinels(t testing.TB, s *redistest.Sentinel) *redisengine.Engine {
	t.Helper()
	return openOn(t, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Main(), SentinelAddrs: s.Addrs()}))
}

// openOn returns an engine on a client. Both are closed with the test.
func openOn(t testing.TB, client *redis.Client) *redisengine.Engine {
	t.Helper()
	e := goredis.New(client)
	t.Cleanup(func() {
		_ = e.Close()
		_ = client.Close()
	})
	return e
}

const channel = "redisson_lock__channel:{k}"

// listen subscribes to k.
func listen(t testing.TB, e *redisengine.Engine) <-chan struct{} {
	t.Helper()
	wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: "k"})
	t.Cleanup(stop)
	awaitWake(t, wake)
	return wake
}

// succeeds waits up to 30 s until try returns no error.
func succeeds(t testing.TB, what string, try func() error) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not within 30s: %v", what, err)
		}
	}
}

// wantSubscriber waits until the primary has the subscriber, and checks that it receives
// messages. It asks for the primary each time: on a busy machine, the sentinels may fail over
// once more.
func wantSubscriber(t testing.TB, s *redistest.Sentinel, wake <-chan struct{}) {
	t.Helper()
	var primary *redistest.Server
	succeeds(t, "a subscriber of the new primary", func() error {
		primary = s.Primary()
		if n, err := primary.Do("PUBSUB", "NUMSUB", channel); err != nil || !strings.HasSuffix(n, "\n1") {
			return fmt.Errorf("%s, %w", n, err)
		}
		return nil
	})
	for len(wake) > 0 {
		<-wake
	}
	primary.Must("PUBLISH", channel, "0")
	awaitWake(t, wake)
}

func TestASubscriberFollowsTheSentinels(t *testing.T) {
	t.Parallel()

	t.Run("leaves a primary that became a replica", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t)
		wake := listen(t, openBehindSentinels(t, s))
		s.Failover()
		wantSubscriber(t, s, wake)
	})

	t.Run("leaves a primary that died and came back", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t)
		wake := listen(t, openBehindSentinels(t, s))
		old := s.Primary()
		old.Kill()
		s.Successor(old)
		old.Restart()
		wantSubscriber(t, s, wake)
	})

	t.Run("leaves a replica that an outdated sentinel named", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t)
		wake := listen(t, openBehindSentinels(t, s))
		old, _ := s.Overtake()
		s.Successor(old)
		wantSubscriber(t, s, wake)
	})
}

// The old primary does not know of the failover. The caller's connections leave it as soon
// as the sentinels name another.
func TestRenewalsFollowTheSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: s.Main(), SentinelAddrs: s.Addrs(), PoolSize: 1, MaxActiveConns: 1, PoolTimeout: 100 * time.Millisecond,
	})
	e := openOn(t, client)
	before, after := request(t, "a"), request(t, "b")
	granted(t, e, before)
	renewed(t, e, before)
	free := occupy(t, client)
	renewed(t, e, before) // opens the engine's connection
	free()
	s.InStep()
	s.Spare()
	next := s.Failover()

	succeeds(t, "a grant of the new primary", func() error {
		after.Key += "'" // a lock that the old primary does not know
		_, err := e.Acquire(context.Background(), after)
		if err == nil && next.Must("EXISTS", after.Key) != "1" {
			err = errors.New("the old primary granted the lock")
		}
		return err
	})
	renewed(t, e, after)
	renewed(t, e, before)
	defer occupy(t, client)()
	succeeds(t, "a renewal while the pool has no free connection", func() error { return renew(e, after) })
}

// A connection to the primary needs no sentinels.
func TestLocksOutliveTheSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	e, r := openBehindSentinels(t, s), request(t, "a")
	granted(t, e, r)
	for _, w := range s.Watchers {
		w.Kill()
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		renewed(t, e, r)
	}
	released(t, e, r)
}
