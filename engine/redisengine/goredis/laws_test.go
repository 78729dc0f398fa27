package goredis_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestMain runs more tests in parallel than there are cores: most of them wait for a
// lease to expire.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("12")
	}
	os.Exit(m.Run())
}

// testTimeout is the timeout of engines and clients in these tests, unless a test is about
// timeouts. It is long, so that a busy machine does not fail a call.
const testTimeout = 10 * time.Second

// lease is the lease of the locks in the laws.
const lease = 1500 * time.Millisecond

// timeout returns the timeout of the engine for a law. It is long, so that a busy
// machine does not fail a call. A tombstone lasts for two timeouts, so the laws about
// its expiry need a short one.
func timeout(t testing.TB) time.Duration {
	if strings.Contains(t.Name(), "tombstone") {
		return 1400 * time.Millisecond
	}
	return testTimeout
}

func TestLaws(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, enginetest.Harness{
		Name:  "Redis " + redistest.Version(t) + " (go-redis)",
		Lease: lease,
		Open: func(t testing.TB) engine.Engine {
			e, _ := open(t, &redis.Options{Addr: redistest.Start(t).Addr()}, redisengine.Timeout(timeout(t)))
			return e
		},
		Clocked: func(t testing.TB) engine.Engine {
			s := redistest.Start(t, redistest.SteppedClock)
			s.NeedsClock(t)
			e, _ := open(t, &redis.Options{Addr: s.Addr()}, redisengine.Timeout(timeout(t)))
			return clocked{e, s}
		},
	})
}

// Requirement T7: the laws hold on a cluster and behind sentinels.
func TestLawsOnTopologies(t *testing.T) {
	t.Parallel()
	// No server fails here, but a busy machine may stop one for seconds.
	c, s := redistest.StartCluster(t, "--cluster-node-timeout", "600000"), redistest.StartSentinel(t).Patient()
	run := func(name string, client func() redis.UniversalClient) {
		enginetest.Run(t, enginetest.Harness{
			Name:  name + " " + redistest.Version(t) + " (go-redis)",
			Lease: lease,
			Open: func(t testing.TB) engine.Engine {
				prefix := t.Name() + time.Now().Format("150405.000000000") + ":"
				client := client()
				e := goredis.New(client, redisengine.Timeout(timeout(t)), redisengine.Prefix(prefix), redisengine.Records(prefix))
				t.Cleanup(func() {
					_ = e.Close()
					_ = client.Close()
				})
				return e
			},
		})
	}
	run("Redis Cluster", func() redis.UniversalClient {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), DialTimeout: testTimeout, ReadTimeout: testTimeout})
	})
	run("Redis Sentinel", func() redis.UniversalClient {
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Main(), SentinelAddrs: s.Addrs(), DialTimeout: testTimeout, ReadTimeout: testTimeout})
	})
}

// clocked is an engine whose server's clock can be set.
type clocked struct {
	*redisengine.Engine
	server *redistest.Server
}

func (c clocked) Step(d time.Duration) { c.server.Step(d) }

func open(t testing.TB, o *redis.Options, opts ...redisengine.Option) (*redisengine.Engine, *redis.Client) {
	t.Helper()
	if o.ReadTimeout == 0 {
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = testTimeout, testTimeout, testTimeout
	}
	client := redis.NewClient(o)
	e := goredis.New(client, append([]redisengine.Option{redisengine.Timeout(testTimeout)}, opts...)...)
	t.Cleanup(func() {
		_ = e.Close()
		_ = client.Close()
	})
	return e, client
}
