package goredis_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// openCluster returns an engine on a cluster behind proxies.
func openCluster(t *testing.T, opts ...redisengine.Option) (*redisengine.Engine, *faultnet.Network) {
	t.Helper()
	c := redistest.StartCluster(t, "--cluster-node-timeout", "60000")
	n := faultnet.NewNetwork(t, c.Addrs()...)
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: c.Addrs(), Dialer: n.Dial, DialTimeout: testTimeout, ReadTimeout: testTimeout, WriteTimeout: testTimeout,
	})
	e := goredis.New(client, append([]redisengine.Option{redisengine.Timeout(testTimeout), redisengine.Publish(redisengine.Sharded)}, opts...)...)
	t.Cleanup(func() {
		_ = e.Close()
		_ = client.Close()
	})
	return e, n
}

// holdMany acquires n locks. In a cluster most of them are in different slots.
func holdMany(t *testing.T, e engine.Engine, n int) []engine.Request {
	t.Helper()
	holds := make([]engine.Request, n)
	var all sync.WaitGroup
	for i := range holds {
		r := request(t, "a")
		r.Key = fmt.Sprint(r.Key, i)
		holds[i] = r
		all.Go(func() {
			if _, err := e.Acquire(context.Background(), r); err != nil {
				t.Errorf("acquire %d: %v", i, err)
			}
		})
	}
	all.Wait()
	return holds
}

// renewEach renews every hold with its own call, as the watchdog does for locks in
// different slots.
func renewEach(e engine.Engine, holds []engine.Request, within time.Duration) (failed int, err error) {
	var all sync.WaitGroup
	errs := make([]error, len(holds))
	for i, r := range holds {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), within)
			defer cancel()
			errs[i] = e.Renew(ctx, []engine.Request{r})[0]
		})
	}
	all.Wait()
	for _, renewErr := range errs {
		if renewErr != nil {
			failed, err = failed+1, renewErr
		}
	}
	return failed, err
}

func TestRenewals(t *testing.T) {
	t.Parallel()

	t.Run("renewals in many slots of a cluster share a few round trips and connections", func(t *testing.T) {
		t.Parallel()
		const locks = 300
		e, n := openCluster(t)
		holds := holdMany(t, e, locks)
		// The delay makes the calls overlap on any machine.
		n.Each(func(p *faultnet.Proxy) {
			p.Delay(faultnet.Requests, 20*time.Millisecond)
			p.Delay(faultnet.Replies, 20*time.Millisecond)
		})
		chunks := func(p *faultnet.Proxy) int { return p.Chunks(faultnet.Requests) }
		sent, opened := n.Sum(chunks), n.Sum((*faultnet.Proxy).Connections)
		if failed, err := renewEach(e, holds, time.Minute); failed > 0 {
			t.Errorf("%d of %d renewals failed: %v", failed, locks, err)
		}
		if sent = n.Sum(chunks) - sent; sent > locks/2 {
			t.Errorf("the client sent data %d times for %d renewals, want at most %d", sent, locks, locks/2)
		}
		if opened = n.Sum((*faultnet.Proxy).Connections) - opened; opened > 3*4 {
			t.Errorf("the client opened %d connections to three primaries, want at most 12", opened)
		}
	})

	t.Run("silent connections cost no lock", func(t *testing.T) {
		t.Parallel()
		const within = 15 * time.Second // the silent connection is used for a third of it
		t.Run("on one server", func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			p := faultnet.New(t, s.Addr())
			e, _ := open(t, &redis.Options{Addr: p.Addr(), ReadTimeout: time.Minute})
			holds := holdMany(t, e, 50)
			for range 2 { // the connections for renewals are open after the first round
				if failed, err := renewEach(e, holds, within); failed > 0 {
					t.Errorf("%d of %d renewals failed: %v", failed, len(holds), err)
				}
				p.Silence()
			}
		})
		t.Run("in a cluster", func(t *testing.T) {
			t.Parallel()
			e, n := openCluster(t)
			holds := holdMany(t, e, 50)
			for range 2 {
				if failed, err := renewEach(e, holds, within); failed > 0 {
					t.Errorf("%d of %d renewals failed: %v", failed, len(holds), err)
				}
				n.Each((*faultnet.Proxy).Silence)
			}
		})
	})
}
