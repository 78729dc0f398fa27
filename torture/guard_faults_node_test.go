package torture

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestGuardFaultsOfOneNode kills a node of a cluster. With guard.Form, work runs unguarded
// if the node of its key is down. Keys on the other nodes stay guarded. The node timeout keeps the
// cluster from replacing the dead node.
func TestGuardFaultsOfOneNode(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(*testing.T, *redistest.Cluster) *redisengine.Engine{
		"rueidis": func(t *testing.T, c *redistest.Cluster) *redisengine.Engine {
			e, err := redisengine.Open(t.Context(), c.URL())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = e.Close() })
			return e
		},
		"go-redis": func(t *testing.T, c *redistest.Cluster) *redisengine.Engine {
			client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
			e := goredis.New(client)
			t.Cleanup(func() { _ = e.Close(); _ = client.Close() })
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := redistest.StartCluster(t, "--cluster-node-timeout", "600000")
			e := connect(t, c)
			var last guard.Checked
			g, err := guard.New[string](interlock.New(e), guard.Form("form"),
				guard.WithTrace(&guard.Trace{Checked: func(c guard.Checked) { last = c }}))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = g.Close(context.Background()) }()
			submit := func(key string) guard.Checked {
				_, _ = g.Do(t.Context(), guard.Of("ann", key), func(context.Context) (string, error) { return "", nil })
				return last
			}
			if first := submit("first"); first.Err != nil {
				t.Fatalf("the first call of a healthy cluster failed: %v", first.Err)
			}
			dead := c.Servers[0]
			dead.Kill()
			unguarded, node := 0, e.Capabilities().Node
			for i := range 200 {
				got := submit(fmt.Sprint(i))
				down := node(got.Key) == dead.Addr()
				if down {
					unguarded++
				}
				if want := down; (got.Verdict == guard.Unguarded) != want {
					t.Errorf("call %d on node %s (%s is dead) ended as %q: %v; want it unguarded only if its node is dead", i, node(got.Key), dead.Addr(), got.Verdict, got.Err)
				}
			}
			if unguarded < 20 || unguarded > 180 {
				t.Errorf("%d of 200 keys are on the dead node, want about 70", unguarded)
			}
		})
	}
}
