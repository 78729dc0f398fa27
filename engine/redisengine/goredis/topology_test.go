package goredis_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// Requirements S8, T7: the health of servers through go-redis.
func TestProbe(t *testing.T) {
	t.Parallel()
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, "--appendonly", "yes")
		h := probe(t, redis.NewClient(&redis.Options{Addr: s.Addr()}))
		if h.Topology != engine.Standalone || len(h.Nodes) != 1 || h.Nodes[0].AppendOnly != "everysec" || h.Nodes[0].Latency == 0 {
			t.Errorf("health = %+v, want one standalone server", h)
		}
	})
	t.Run("a server that is silent has an error", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		client := redis.NewClient(&redis.Options{Addr: s.Addr()})
		e := goredis.New(client)
		s.Stop()
		h, err := e.Probe(t.Context())
		if err != nil || len(h.Nodes) != 1 || h.Nodes[0].Err == nil {
			t.Errorf("health = %+v, %v; want one node with an error", h, err)
		}
		s.Cont()
		_ = e.Close()
		_ = client.Close()
	})
	t.Run("behind sentinels", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t)
		h := probe(t, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Main(), SentinelAddrs: s.Addrs()}))
		if h.Topology != engine.Sentinel || len(h.Nodes) != 3 || h.Nodes[0].Addr != s.Primary().Addr() || len(h.Notices) != 1 {
			t.Errorf("health = %+v, want 3 servers and a notice about the sentinels", h)
		}
	})
	t.Run("a cluster", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartCluster(t)
		h := probe(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()[:1]}))
		if h.Topology != engine.Cluster || len(h.Nodes) != 6 || h.Slots != 16384 {
			t.Errorf("health = %+v, want 6 nodes and 16384 slots", h)
		}
	})
}

// probe checks that every node answers.
func probe(t *testing.T, client redis.UniversalClient) engine.Health {
	t.Helper()
	e := goredis.New(client)
	t.Cleanup(func() {
		_ = e.Close()
		_ = client.Close()
	})
	h, err := e.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range h.Nodes {
		if n.Err != nil || n.Version != redistest.Version(t) || len(n.Denied) > 0 {
			t.Errorf("node = %+v, want its version and nothing denied", n)
		}
	}
	return h
}
