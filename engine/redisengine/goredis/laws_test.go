package goredis_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestMain lets more tests run at a time than there are cores: most of what they
// do is to wait for a lease to run out.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("12")
	}
	os.Exit(m.Run())
}

// lease is that of the locks in the laws. A tombstone lasts for two timeouts, so
// it must be forgotten within two leases for the law that says so.
const lease, timeout = 1500 * time.Millisecond, 1400 * time.Millisecond

func TestLaws(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, enginetest.Harness{
		Name:  "Redis " + redistest.Version(t) + " (go-redis)",
		Lease: lease,
		Open: func(t testing.TB) engine.Engine {
			s := redistest.Start(t, redistest.SteppedClock)
			e, _ := open(t, &redis.Options{Addr: s.Addr()}, redisengine.Timeout(timeout))
			return clocked{e, s}
		},
	})
}

// T7: whatever is true of one server is true of a cluster, and behind sentinels.
func TestLawsOnTopologies(t *testing.T) {
	t.Parallel()
	c, s := redistest.StartCluster(t), redistest.StartSentinel(t)
	run := func(name string, client func() redis.UniversalClient) {
		enginetest.Run(t, enginetest.Harness{
			Name:  name + " " + redistest.Version(t) + " (go-redis)",
			Lease: lease,
			Open: func(t testing.TB) engine.Engine {
				prefix := t.Name() + time.Now().Format("150405.000000000") + ":"
				client := client()
				e := goredis.New(client, redisengine.Timeout(timeout), redisengine.Prefix(prefix), redisengine.Records(prefix))
				t.Cleanup(func() {
					_ = e.Close()
					_ = client.Close()
				})
				return e
			},
		})
	}
	run("Redis Cluster", func() redis.UniversalClient {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	})
	run("Redis Sentinel", func() redis.UniversalClient {
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Main(), SentinelAddrs: s.Addrs()})
	})
}

// clocked is an engine whose server has a clock that can be moved.
type clocked struct {
	*redisengine.Engine
	server *redistest.Server
}

func (c clocked) Step(d time.Duration) { c.server.Step(d) }

func open(t testing.TB, o *redis.Options, opts ...redisengine.Option) (*redisengine.Engine, *redis.Client) {
	t.Helper()
	client := redis.NewClient(o)
	e := goredis.New(client, opts...)
	t.Cleanup(func() {
		_ = e.Close()
		_ = client.Close()
	})
	return e, client
}
