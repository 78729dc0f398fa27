package goredis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// behind returns an engine on a client that asks sentinels.
func behind(t testing.TB, s *redistest.Sentinel) *redisengine.Engine {
	t.Helper()
	return on(t, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Main(), SentinelAddrs: s.Addrs()}))
}

// on returns an engine on a client that ends with the test.
func on(t testing.TB, client *redis.Client) *redisengine.Engine {
	t.Helper()
	e := goredis.New(client)
	t.Cleanup(func() {
		_ = e.Close()
		_ = client.Close()
	})
	return e
}

const channel = "redisson_lock__channel:{k}"

// listen begins to wait for k.
func listen(t testing.TB, e *redisengine.Engine) <-chan struct{} {
	t.Helper()
	wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: "k"})
	t.Cleanup(stop)
	told(t, wake)
	return wake
}

// within demands that there is no error any more before long.
func within(t testing.TB, what string, try func() error) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not within 30 s: %v", what, err)
		}
	}
}

// attended demands that a server has the subscriber before long, and that it hears
// what is said there.
func attended(t testing.TB, s *redistest.Server, wake <-chan struct{}) {
	t.Helper()
	within(t, "a subscriber of the new primary", func() error {
		if n := s.Must("PUBSUB", "NUMSUB", channel); !strings.HasSuffix(n, "\n1") {
			return errors.New(n)
		}
		return nil
	})
	for len(wake) > 0 {
		<-wake
	}
	s.Must("PUBLISH", channel, "0")
	told(t, wake)
}

func TestASubscriberFollowsTheSentinels(t *testing.T) {
	t.Parallel()

	t.Run("away from a primary that was made a replica", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t)
		wake := listen(t, behind(t, s))
		attended(t, s.Failover(), wake)
	})

	t.Run("away from a primary that died and comes back", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t)
		wake := listen(t, behind(t, s))
		old := s.Primary()
		old.Kill()
		next := s.Successor(old)
		old.Restart()
		attended(t, next, wake)
	})

	t.Run("away from a replica to which a sentinel that is behind the times has sent it", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t)
		wake := listen(t, behind(t, s))
		old, _ := s.Overtake()
		attended(t, s.Successor(old), wake)
	})
}

// A failover that the old primary has not heard of: the caller's connections leave it as
// soon as the sentinels name another.
func TestRenewalsFollowTheSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: s.Main(), SentinelAddrs: s.Addrs(), PoolSize: 1, MaxActiveConns: 1, PoolTimeout: 100 * time.Millisecond,
	})
	e := on(t, client)
	before, after := ask(t, "a"), ask(t, "b")
	granted(t, e, before)
	renewed(t, e, before)
	free := occupy(t, client)
	renewed(t, e, before) // there is a connection of ours
	free()
	s.InStep()
	s.Spare()
	next := s.Failover()

	within(t, "a grant of the new primary", func() error {
		after.Key += "'" // one that the old one has never heard of
		_, err := e.Acquire(context.Background(), after)
		if err == nil && next.Must("EXISTS", after.Key) != "1" {
			err = errors.New("it was the old one")
		}
		return err
	})
	renewed(t, e, after)
	renewed(t, e, before)
	defer occupy(t, client)()
	within(t, "a renewal beside a pool that is full", func() error { return renew(e, after) })
}

// Who has a connection to the primary needs no sentinel.
func TestLocksOutliveTheSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	e, r := behind(t, s), ask(t, "a")
	granted(t, e, r)
	for _, w := range s.Watchers {
		w.Kill()
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		renewed(t, e, r)
	}
	released(t, e, r)
}
