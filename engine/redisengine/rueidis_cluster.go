package redisengine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// A rueidisCluster is a [Cluster] on rueidis.
type rueidisCluster struct {
	rueidisClient
	refresh   time.Duration
	redirects int

	mu    sync.Mutex
	asked time.Time // when homes was read; zero if it is to be read anew
	homes []span
}

// A span is some slots and the primary that has them.
type span struct {
	from, to int
	addr     string
}

var _ Cluster = (*rueidisCluster)(nil)

// Eval implements [Client]. Rueidis follows slots that move by itself, but not on
// the connection on which replicas are waited for.
func (c *rueidisCluster) Eval(ctx context.Context, call *Call) (reply Reply, err error) {
	if call.Acks == 0 {
		reply, err = c.rueidisClient.Eval(ctx, call)
		return reply, unsettled(err)
	}
	for range c.redirects + 1 {
		var node Client
		if node, err = c.at(ctx, call.Keys[0]); err != nil {
			return Reply{}, &NotSentError{Err: err}
		}
		if reply, err = node.Eval(ctx, call); !redirected(err) {
			break
		}
		c.Forget()
	}
	return reply, unsettled(err)
}

// redirected reports whether the server has sent the call to another one.
func redirected(err error) bool {
	var reply ReplyError
	return errors.As(err, &reply) && (reply.Code() == "MOVED" || reply.Code() == "ASK")
}

// unsettled is the error about a call that was sent from one server to the next
// too often: where its slot is has yet to settle.
func unsettled(err error) error {
	if redirected(err) {
		return ReplyError("TRYAGAIN after as many redirects as are allowed: " + err.Error())
	}
	return err
}

// at returns a client of the primary that has a key.
func (c *rueidisCluster) at(ctx context.Context, key string) (Client, error) {
	addr, err := c.Home(ctx, key)
	if err != nil {
		return nil, err
	}
	return c.At(addr)
}

// At implements [Cluster].
func (c *rueidisCluster) At(addr string) (Client, error) {
	node := c.client.Nodes()[addr]
	if node == nil {
		c.Forget()
		return nil, fmt.Errorf("the cluster's node %s is not known yet", addr)
	}
	return &rueidisClient{client: node}, nil
}

// Forget implements [Cluster].
func (c *rueidisCluster) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = time.Time{}
}

// Home implements [Cluster].
func (c *rueidisCluster) Home(ctx context.Context, key string) (string, error) {
	spans, err := c.spans(ctx)
	if err != nil {
		return "", err
	}
	slot := Slot(key)
	for _, s := range spans {
		if s.from <= slot && slot <= s.to {
			return s.addr, nil
		}
	}
	c.Forget()
	return "", fmt.Errorf("no node of the cluster serves slot %d for now: see CLUSTER INFO", slot)
}

// Primaries implements [Cluster].
func (c *rueidisCluster) Primaries(ctx context.Context) ([]Primary, error) {
	spans, err := c.spans(ctx)
	if err != nil {
		return nil, err
	}
	first := make(map[string]int)
	for _, s := range spans {
		if f, known := first[s.addr]; !known || s.from < f {
			first[s.addr] = s.from
		}
	}
	primaries := make([]Primary, 0, len(first))
	for addr, slot := range first {
		primaries = append(primaries, Primary{Addr: addr, First: slot})
	}
	if len(primaries) == 0 {
		return nil, errors.New("the cluster serves no slot: see CLUSTER INFO")
	}
	return sorted(primaries), nil
}

// spans returns who has which slots, as it was a short while ago.
func (c *rueidisCluster) spans(ctx context.Context) ([]span, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.asked) < c.refresh {
		return c.homes, nil
	}
	err := errors.New("it has no nodes")
	for addr, node := range c.client.Nodes() {
		var spans []span
		if spans, err = askSlots(ctx, addr, node); err == nil {
			c.homes, c.asked = spans, time.Now()
			return spans, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("no node of the cluster tells where its slots are: %w", rueidisError(ctx, err))
}

// askSlots asks one node who has which slots.
func askSlots(ctx context.Context, addr string, node rueidis.Client) ([]span, error) {
	list, err := node.Do(ctx, node.B().ClusterSlots().Build()).ToArray()
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(addr)
	spans := make([]span, 0, len(list))
	for i := range list {
		s, err := readSpan(&list[i], host)
		if err != nil {
			return nil, err
		}
		spans = append(spans, s)
	}
	return spans, nil
}

// readSpan reads an item of CLUSTER SLOTS: from, to, the primary and its replicas.
// A node without a host is where the one is that was asked.
func readSpan(m *rueidis.RedisMessage, host string) (span, error) {
	item, err := m.ToArray()
	if err != nil || len(item) < 3 {
		return span{}, fmt.Errorf("CLUSTER SLOTS has an item of %d: %w", len(item), err)
	}
	from, errFrom := item[0].AsInt64()
	to, errTo := item[1].AsInt64()
	node, errNode := item[2].ToArray()
	if errFrom != nil || errTo != nil || errNode != nil || len(node) < 2 {
		return span{}, fmt.Errorf("CLUSTER SLOTS has an odd item: %w", errors.Join(errFrom, errTo, errNode))
	}
	if name, err := node[0].ToString(); err == nil && name != "" && name != "?" {
		host = name
	}
	port, err := node[1].AsInt64()
	return span{from: int(from), to: int(to), addr: net.JoinHostPort(host, strconv.FormatInt(port, 10))}, err
}
