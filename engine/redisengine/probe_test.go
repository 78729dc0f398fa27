package redisengine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// Requirements S8, T7: the health of servers in every topology.

func probe(t *testing.T, url string) engine.Health {
	t.Helper()
	h, err := redisengine.Probe(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// at returns the node with an address.
func at(t *testing.T, h engine.Health, addr string) engine.Node {
	t.Helper()
	i := slices.IndexFunc(h.Nodes, func(n engine.Node) bool { return n.Addr == addr })
	if i < 0 {
		t.Fatalf("%s is not among the nodes: %+v", addr, h.Nodes)
	}
	return h.Nodes[i]
}

func TestProbe(t *testing.T) {
	t.Parallel()
	t.Run("a single server reports everything", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "64mb",
			"--maxmemory-policy", "noeviction", "--min-replicas-to-write", "0")
		s.Must("CONFIG", "SET", "save", "60 1") // Redis 6 ignores a second --save
		h := probe(t, s.URL()+"?acks=any&timeout=3s")
		n := at(t, h, s.Addr())
		if h.Topology != engine.Standalone || h.Acks != "any" || h.Timeout != 3*time.Second || len(h.Nodes) != 1 {
			t.Errorf("health = %+v, want one standalone server with the URL's acks and timeout", h)
		}
		if n.Err != nil || n.Role != engine.Primary || n.Version != redistest.Version(t) || len(n.ID) != 40 {
			t.Errorf("node = %+v, want a primary with its version and ID", n)
		}
		if n.AppendOnly != "always" || !n.Snapshots || n.Eviction != "noeviction" || n.MaxMemory != 64<<20 || n.UsedMemory == 0 || n.Exposed {
			t.Errorf("node = %+v, want its persistence, memory and eviction", n)
		}
		if len(n.Denied) > 0 || n.Latency <= 0 || n.Offset.Abs() > time.Second {
			t.Errorf("node = %+v, want nothing denied, a latency and a small offset", n)
		}
	})
	t.Run("a server without persistence is reported", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, redistest.SteppedClock, "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru")
		s.Step(-time.Minute)
		n := at(t, probe(t, s.URL()), s.Addr())
		if n.AppendOnly != "no" || n.Snapshots || n.Eviction != "allkeys-lru" {
			t.Errorf("node = %+v, want no persistence and allkeys-lru", n)
		}
		if offset := n.Offset + time.Minute; offset.Abs() > time.Second {
			t.Errorf("Offset = %v, want -1m", n.Offset)
		}
	})
	t.Run("a user without access to the channels interlock_client:* is reported", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Must("ACL", "SETUSER", "little", "on", ">secret", "~*", "+@all", "resetchannels", "&redisson_*")
		n := at(t, probe(t, "redis://little:secret@"+s.Addr()), s.Addr())
		if got := strings.Join(n.Denied, ","); got != "&interlock_client:*" {
			t.Errorf("Denied = %s, want &interlock_client:*", got)
		}
	})
	t.Run("a user with few permissions is reported", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, "--appendonly", "yes")
		s.Must("ACL", "SETUSER", "little", "on", ">secret", "~shop:*", "resetchannels", "+@all",
			"-evalsha", "-config", "-hset", "-publish")
		h := probe(t, "redis://little:secret@"+s.Addr())
		n := at(t, h, s.Addr())
		slices.Sort(n.Denied)
		if got := strings.Join(n.Denied, ","); got != "CONFIG GET,EVALSHA,HSET,PUBLISH" {
			t.Errorf("Denied = %s, want CONFIG GET,EVALSHA,HSET,PUBLISH", got)
		}
		if n.AppendOnly != "yes" || n.Err != nil || n.Eviction != "noeviction" {
			t.Errorf("node = %+v, want what INFO reports", n)
		}
		if keys := s.Must("KEYS", "*"); keys != "" {
			t.Errorf("the probe left the keys %q", keys)
		}
	})
	t.Run("a missing server and a silent one have an error each", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Stop()
		defer s.Cont()
		began := time.Now()
		for _, addr := range []string{"127.0.0.1:1", s.Addr()} {
			if n := at(t, probe(t, "redis://"+addr), addr); n.Err == nil {
				t.Errorf("node %s has no error: %+v", addr, n)
			}
		}
		if took := time.Since(began); took > 20*time.Second { // ten times probeTimeout
			t.Errorf("the probes took %v, want at most 20s", took)
		}
	})
	t.Run("a missing or wrong password is reported", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Must("CONFIG", "SET", "requirepass", "right")
		for _, url := range []string{s.URL(), "redis://:wrong@" + s.Addr()} {
			n := at(t, probe(t, url), s.Addr())
			if n.Err == nil || !strings.Contains(n.Err.Error(), "password") && !strings.Contains(n.Err.Error(), "WRONGPASS") {
				t.Errorf("the node's error is %v, want one about the password", n.Err)
			}
		}
	})
	t.Run("a canceled context fails a probe", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := redisengine.Probe(ctx, "redis://127.0.0.1:1"); err == nil {
			t.Error("Probe ignores a canceled context")
		}
	})
}

func TestProbeBehindSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t, "--min-replicas-to-write", "1")
	// The first sentinel names the other two.
	url := "redis+sentinel://" + s.Watchers[0].Addr() + "/" + s.Main()
	h := probe(t, url)
	if h.Topology != engine.Sentinel || h.Quorum != 2 || len(h.Nodes) != 6 {
		t.Errorf("health = %+v, want a quorum of 2 and 6 nodes", h)
	}
	primary, replica := s.Primary(), s.Replicas()[0]
	if n := at(t, h, primary.Addr()); n.Role != engine.Primary || n.Replicas != 2 || n.MinReplicas != 1 {
		t.Errorf("node = %+v, want a primary with 2 replicas", n)
	}
	if n := at(t, h, replica.Addr()); n.Role != engine.Replica || n.Primary != primary.Addr() || !n.Linked {
		t.Errorf("node = %+v, want a linked replica of the primary", n)
	}
	for _, w := range s.Watchers {
		if n := at(t, h, w.Addr()); n.Role != engine.Watcher || n.Primary != primary.Addr() || n.Err != nil {
			t.Errorf("node = %+v, want a sentinel of the primary", n)
		}
	}
	replica.Kill()
	s.Watchers[2].Kill()
	h = probe(t, url)
	for _, addr := range []string{replica.Addr(), s.Watchers[2].Addr()} {
		if n := at(t, h, addr); n.Err == nil || n.Role == "" {
			t.Errorf("node = %+v, want its role and an error", n)
		}
	}
}

func TestProbeOfACluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	// The first node names the others.
	url := "redis+cluster://" + c.Servers[0].Addr()
	h := probe(t, url)
	if h.Topology != engine.Cluster || h.Slots != 16384 || len(h.Nodes) != 6 {
		t.Errorf("health = %+v, want 16384 slots and 6 nodes", h)
	}
	sum := 0
	for i, s := range c.Servers {
		n := at(t, h, s.Addr())
		sum += n.Slots
		if i < 3 && (n.Role != engine.Primary || n.Replicas != 1) || i >= 3 && (n.Role != engine.Replica || !n.Linked) || n.Err != nil {
			t.Errorf("node %d = %+v, want a primary or a linked replica", i, n)
		}
	}
	if sum != 16384 {
		t.Errorf("the primaries have %d slots, want 16384", sum)
	}
	t.Run("an engine on a caller's client can be probed", func(t *testing.T) {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: c.Addrs(), DisableCache: true})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		e := redisengine.New(client)
		defer e.Close()
		h, err := e.Probe(t.Context())
		// On Valkey, rueidis knows replicas as well.
		if err != nil || h.Slots != 16384 || len(h.Nodes) < 3 || len(h.Nodes) == 3 && len(h.Notices) != 1 {
			t.Errorf("health = %+v, %v; want 16384 slots and at least the primaries", h, err)
		}
		for _, n := range h.Nodes {
			if n.Err != nil || n.Version == "" {
				t.Errorf("node = %+v, want its version and no error", n)
			}
		}
	})
}
