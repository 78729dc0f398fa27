package redisengine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// A rueidisCluster is a [Cluster] on rueidis.
type rueidisCluster struct {
	rueidisClient
	*SlotMap
	redirects int
}

var _ Cluster = (*rueidisCluster)(nil)

func newRueidisCluster(single rueidisClient, refresh time.Duration, redirects int) *rueidisCluster {
	c := &rueidisCluster{rueidisClient: single, redirects: redirects}
	c.SlotMap = &SlotMap{Fetch: c.askAny, Refresh: refresh}
	return c
}

// Eval implements [Client]. Rueidis follows moved slots by itself, but not on the
// connection of a call that waits for replicas.
func (c *rueidisCluster) Eval(ctx context.Context, call *Call) (reply Reply, err error) {
	if call.Acks == 0 {
		return c.rueidisClient.Eval(ctx, call)
	}
	for range c.redirects + 1 {
		var node Client
		if node, err = c.nodeFor(ctx, call.Keys[0]); err != nil {
			return Reply{}, &NotSentError{Err: err}
		}
		if reply, err = node.Eval(ctx, call); Moved(err) == "" {
			break
		}
		// The next round asks the cluster again. MOVED is an error reply, so nothing has
		// happened.
		c.Invalidate()
	}
	return reply, err
}

// nodeFor returns a client of the primary that has a key.
func (c *rueidisCluster) nodeFor(ctx context.Context, key string) (Client, error) {
	addr, err := c.PrimaryFor(ctx, key)
	if err != nil {
		return nil, err
	}
	return c.Node(addr)
}

// Node implements [Cluster].
func (c *rueidisCluster) Node(addr string) (Client, error) {
	// rueidis learns of new nodes by its own refresh, which may come after the SlotMap's.
	node := c.client.Nodes()[addr]
	if node == nil {
		c.Invalidate()
		return nil, fmt.Errorf("the cluster's node %s is not known yet", addr)
	}
	return &rueidisClient{client: node}, nil
}

// hedge is how long to wait for one node before the next is asked as well: a node that
// hangs must not delay calls to the others.
const hedge = 50 * time.Millisecond

// askAny asks one node after the other for the slots, until one answers.
func (c *rueidisCluster) askAny(ctx context.Context) ([]Span, error) {
	type answer struct {
		spans []Span
		err   error
	}
	nodes := c.client.Nodes()
	answers, open, err := make(chan answer, len(nodes)), 0, errors.New("the client knows no node")
	// wait returns nil if there is no good answer within d.
	wait := func(d <-chan time.Time) []Span {
		select {
		case a := <-answers:
			open, err = open-1, a.err
			return a.spans
		case <-d:
		case <-ctx.Done():
			err = ctx.Err()
		}
		return nil
	}
	for addr, node := range nodes {
		open++
		// The goroutine ends with the answer, or when rueidis closes the connection. A
		// cancelled context would cancel the dialing that other calls wait for.
		go func() {
			spans, err := askSlots(context.WithoutCancel(ctx), addr, node)
			answers <- answer{spans, err}
		}()
		if spans := wait(time.After(hedge)); spans != nil || ctx.Err() != nil {
			return spans, err
		}
	}
	for open > 0 {
		if spans := wait(nil); spans != nil || ctx.Err() != nil {
			return spans, err
		}
	}
	return nil, rueidisError(ctx, err)
}

// askSlots asks one node. CLUSTER SLOTS exists in all supported versions; CLUSTER SHARDS
// needs 7.0.
func askSlots(ctx context.Context, addr string, node rueidis.Client) ([]Span, error) {
	list, err := node.Do(ctx, node.B().ClusterSlots().Build()).ToArray()
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(addr)
	spans := make([]Span, 0, len(list))
	for i := range list {
		s, err := readSpan(&list[i], host)
		if err != nil {
			return nil, err
		}
		spans = append(spans, s)
	}
	return spans, nil
}

// readSpan reads an item of CLUSTER SLOTS: from, to, the primary and its replicas. A node
// without a host has the host of the node that answered.
func readSpan(m *rueidis.RedisMessage, host string) (Span, error) {
	item, err := m.ToArray()
	if err != nil {
		return Span{}, fmt.Errorf("CLUSTER SLOTS returned an item that is not a list: %w", err)
	}
	if len(item) < 3 {
		return Span{}, fmt.Errorf("CLUSTER SLOTS returned an item with %d parts, want 3 or more", len(item))
	}
	from, errFrom := item[0].AsInt64()
	to, errTo := item[1].AsInt64()
	node, errNode := item[2].ToArray()
	if errFrom != nil || errTo != nil || errNode != nil || len(node) < 2 {
		return Span{}, fmt.Errorf("CLUSTER SLOTS returned an invalid item: %w", errors.Join(errFrom, errTo, errNode))
	}
	if name, err := node[0].ToString(); err == nil && name != "" && name != "?" {
		host = name
	}
	port, err := node[1].AsInt64()
	return Span{From: int(from), To: int(to), Addr: net.JoinHostPort(host, strconv.FormatInt(port, 10))}, err
}
