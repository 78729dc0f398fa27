package goredis

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine/redisengine"
)

// A cluster is a [redisengine.Cluster] on go-redis, which follows moved slots by itself.
type cluster struct {
	*adapter
	*redisengine.SlotMap
	client *redis.ClusterClient
}

var _ redisengine.Cluster = (*cluster)(nil)

// newCluster returns a Cluster on the caller's client.
func newCluster(client *redis.ClusterClient) *cluster {
	c := &cluster{client: client, adapter: newAdapter(client)}
	c.SlotMap = &redisengine.SlotMap{Fetch: c.fetchSlots}
	return c
}

// Eval implements [redisengine.Client].
func (c *cluster) Eval(ctx context.Context, call *redisengine.Call) (redisengine.Reply, error) {
	reply, err := c.adapter.Eval(ctx, call)
	// Renewals, and calls that wait for acks, use a connection to one node. On it go-redis
	// follows neither moved slots nor a new primary, so reload the slots after an error.
	if err != nil && (call.Acks > 0 || call.Renewal) {
		c.client.ReloadState(ctx)
	}
	return reply, err
}

// fetchSlots asks the cluster for its slots.
func (c *cluster) fetchSlots(ctx context.Context) ([]redisengine.Span, error) {
	// CLUSTER SHARDS needs 7.0, and is wrong in some versions.
	slots, err := c.client.ClusterSlots(ctx).Result() //nolint:staticcheck // see above
	if err != nil {
		return nil, err
	}
	spans := make([]redisengine.Span, 0, len(slots))
	for _, s := range slots {
		// The primary comes first; its replicas follow.
		if len(s.Nodes) > 0 {
			spans = append(spans, redisengine.Span{From: s.Start, To: s.End, Addr: s.Nodes[0].Addr})
		}
	}
	return spans, nil
}

// Node implements [redisengine.Cluster].
func (c *cluster) Node(addr string) (redisengine.Client, error) {
	// Node has no context; the client's own timeouts bound the call.
	found, err := nodeAt(context.Background(), c.client, addr)
	if err != nil {
		c.Invalidate()
		return nil, err
	}
	return newAdapter(found), nil
}

// nodeAt returns the client of one node.
func nodeAt(ctx context.Context, client *redis.ClusterClient, addr string) (*redis.Client, error) {
	var mu sync.Mutex // ForEachShard runs concurrently
	var found *redis.Client
	err := client.ForEachShard(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		if node.Options().Addr == addr {
			found = node
		}
		return nil
	})
	if found == nil {
		return nil, errors.Join(fmt.Errorf("the cluster's node %s is not known yet", addr), err)
	}
	return found, nil
}
