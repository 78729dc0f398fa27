package redisengine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

// A Cluster is a [Client] of several servers, each with a part of the keys. All keys of
// one call are in the same slot.
type Cluster interface {
	Client

	// PrimaryFor returns the address of the primary that has a key. The answer may be
	// out of date, unless Invalidate was called before.
	PrimaryFor(ctx context.Context, key string) (addr string, err error)

	// Primaries returns the primaries that have slots, ordered by their first slot.
	Primaries(ctx context.Context) ([]Primary, error)

	// LastPrimary returns the address that PrimaryFor would have returned when the slots
	// were last read, or "" if they have never been. It does not ask the servers.
	LastPrimary(key string) (addr string)

	// Invalidate makes the next call read the slots again, because they may have moved.
	Invalidate()

	// Node returns a client of one node. The caller does not close it.
	Node(addr string) (Client, error)
}

// A Primary is a server with slots.
type Primary struct {
	Addr  string
	First int // its lowest slot
}

// slots is the number of slots in a cluster. The cluster specification of Redis fixes it.
const slots = 16384

// Slot returns the slot of a key, as Redis computes it.
func Slot(key string) int {
	if _, after, found := strings.Cut(key, "{"); found {
		if tag, _, found := strings.Cut(after, "}"); found && tag != "" {
			key = tag
		}
	}
	sum := uint16(0)
	for i := range len(key) {
		sum = sum<<8 ^ crc16[byte(sum>>8)^key[i]]
	}
	return int(sum % slots)
}

// crc16 is the table of CRC-16/XMODEM. The cluster specification names it, with the
// polynomial 0x1021.
var crc16 = func() (table [256]uint16) {
	for i := range table {
		sum := uint16(i) << 8
		for range 8 {
			if sum&0x8000 != 0 {
				sum = sum<<1 ^ 0x1021
			} else {
				sum <<= 1
			}
		}
		table[i] = sum
	}
	return table
}()

// shard returns the slot of a key: one call can renew only locks of the same slot.
func (e *Engine) shard(key string) int {
	name, err := e.name(key)
	if err != nil {
		return 0
	}
	return Slot(name)
}

// node names the node that keeps a key. The answer may be out of date until a call fails,
// which reads the slots again; see readSlots.
func (e *Engine) node(key string) string {
	name, err := e.name(key)
	if err != nil {
		return ""
	}
	return e.cluster.LastPrimary(name)
}

// readSlots reads the slots of a cluster after a call that failed, so that node knows
// which keys the same node keeps.
func (e *Engine) readSlots(ctx context.Context, name string) {
	if e.cluster != nil {
		_, _ = e.cluster.PrimaryFor(ctx, name)
	}
}

// groupBySlot returns the indices of keys that may share a call: those of one slot in a
// cluster, otherwise all.
func (e *Engine) groupBySlot(keys []string) [][]int {
	if e.cluster == nil {
		all := make([]int, len(keys))
		for i := range all {
			all[i] = i
		}
		return [][]int{all}
	}
	var groups [][]int
	groupOf := make(map[int]int)
	for i, key := range keys {
		slot := Slot(key)
		g, known := groupOf[slot]
		if !known {
			g = len(groups)
			groupOf[slot], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// scan makes a call that scans keys on one server, or on one node of a cluster after the
// other. The reply begins with the next cursor. A cursor in a cluster is the first slot
// of a node, a slash, and the node's cursor.
func (e *Engine) scan(ctx context.Context, cursor string, call func(cursor string) *Call) (reply Reply, next string, err error) {
	if e.cluster == nil {
		return scanOn(ctx, e.client, cursor, call)
	}
	// A cursor names a slot and not an address: after a failover another server
	// continues. SCAN then begins with a foreign cursor, and may list some keys twice or
	// not at all.
	primaries, err := e.cluster.Primaries(ctx)
	if err != nil {
		return Reply{}, "", &NotSentError{Err: err}
	}
	first, cursor, _ := strings.Cut(cursor, "/")
	slot, _ := strconv.Atoi(first)
	// The last primary that begins at the slot or before has it.
	at := 0
	for i, p := range primaries {
		if p.First <= slot {
			at = i
		}
	}
	node, err := e.cluster.Node(primaries[at].Addr)
	if err != nil {
		return Reply{}, "", &NotSentError{Err: err}
	}
	reply, next, err = scanOn(ctx, node, cursor, call)
	switch {
	case err != nil:
		// The node may be gone, and the next call must find its successor.
		e.cluster.Invalidate()
	case next != "":
		next = fmt.Sprintf("%d/%s", primaries[at].First, next)
	case at+1 < len(primaries):
		next = fmt.Sprintf("%d/", primaries[at+1].First)
	}
	return reply, next, err
}

// scanOn is scan on one server.
func scanOn(ctx context.Context, client Client, cursor string, call func(cursor string) *Call) (reply Reply, next string, err error) {
	if cursor == "" {
		cursor = "0"
	}
	c := call(cursor)
	defer c.free()
	if reply, err = client.Eval(ctx, c); err != nil {
		return Reply{}, "", err
	}
	if next = reply.List[0].Text; next == "0" {
		next = ""
	}
	return reply, next, nil
}

// anyNode returns a client of a random node.
func anyNode(ctx context.Context, c Cluster) (Client, error) {
	primaries, err := c.Primaries(ctx)
	if err != nil {
		return nil, err
	}
	return c.Node(primaries[rand.N(len(primaries))].Addr)
}

// A clusterSubscriber subscribes to several nodes of a cluster as if they were one. A lost
// connection ends all connections, because slots may have moved. A node that is down does
// not affect the others.
//
// Nodes forward PUBLISH to each other, so for [Plain] one node would do. But a node counts
// only its own subscribers, and each subscriber must be counted where its lock is.
type clusterSubscriber struct {
	cluster   Cluster
	mode      func() PublishMode
	onMessage func(string)
	nodes     map[string]Listener // by address
	byChannel map[string]Listener // by channel
	lost      chan error          // receives once; further losses are dropped
	closed    chan struct{}       // closed by Close

	// watching counts the goroutines of watch, one for each node.
	watching sync.WaitGroup
}

// A partialSubscribeError lists the channels whose node is down, while others work.
type partialSubscribeError struct {
	channels []string
	err      error
}

func (e *partialSubscribeError) Error() string {
	return fmt.Sprintf("subscribing to %d channels failed: %v", len(e.channels), e.err)
}

func (e *partialSubscribeError) Unwrap() error { return e.err }

// openListener opens the connections for messages that are published with the command
// that mode returns. A cluster client may have to connect before mode knows the command.
func openListener(ctx context.Context, client Client, mode func() PublishMode, onMessage func(channel string)) (Listener, error) {
	c, many := client.(Cluster)
	if !many {
		return client.Listen(ctx, mode(), onMessage)
	}
	return &clusterSubscriber{
		cluster: c, mode: mode, onMessage: onMessage, nodes: make(map[string]Listener), byChannel: make(map[string]Listener),
		lost: make(chan error, 1), closed: make(chan struct{}),
	}, nil
}

// Subscribe implements [Listener]. It sends the channels of each slot to its node, and
// begins with connected nodes: connecting to a node that is down takes a timeout.
func (c *clusterSubscriber) Subscribe(ctx context.Context, channels []string) error {
	bySlot := make(map[int][]string)
	for _, ch := range channels {
		bySlot[Slot(ch)] = append(bySlot[Slot(ch)], ch)
	}
	failed, down := partialSubscribeError{}, make(map[string]error)
	for _, connectedOnly := range []bool{true, false} {
		for slot, slotChannels := range bySlot {
			addr, err := c.cluster.PrimaryFor(ctx, slotChannels[0])
			if err == nil && connectedOnly && c.nodes[addr] == nil {
				continue
			}
			if err == nil {
				err = down[addr] // do not wait for it twice
			}
			if err == nil {
				err = c.subscribe(ctx, addr, slotChannels)
			}
			if err != nil {
				failed.channels, failed.err = append(failed.channels, slotChannels...), err
				if c.nodes[addr] == nil {
					down[addr] = err
				}
			}
			delete(bySlot, slot)
		}
	}
	if failed.err == nil {
		return nil
	}
	// A failed subscription may mean that the slot has moved.
	c.cluster.Invalidate()
	// Without any connection the whole subscriber has failed, and the notifier pauses
	// before the next try.
	if len(c.nodes) == 0 || ctx.Err() != nil {
		return failed.err
	}
	return &failed
}

// subscribe subscribes to channels of one slot on one node.
func (c *clusterSubscriber) subscribe(ctx context.Context, addr string, channels []string) error {
	l, known := c.nodes[addr]
	if !known {
		node, err := c.cluster.Node(addr)
		if err != nil {
			return err
		}
		if l, err = node.Listen(ctx, c.mode(), c.onMessage); err != nil {
			return err
		}
	}
	err := l.Subscribe(ctx, channels)
	switch {
	// A connection without a subscription would stay open unused.
	case err != nil && !known:
		_ = l.Close()
		return err
	case err != nil:
		return err
	case !known:
		c.nodes[addr] = l
		c.watching.Go(func() { c.watch(l) }) // ends with the listener, which Close closes
	}
	for _, ch := range channels {
		c.byChannel[ch] = l
	}
	return nil
}

// Unsubscribe implements [Listener]. It uses the connection of each subscription, even if
// the slot has moved.
func (c *clusterSubscriber) Unsubscribe(ctx context.Context, channels []string) error {
	type part struct {
		l    Listener
		slot int
	}
	parts := make(map[part][]string)
	for _, ch := range channels {
		if l := c.byChannel[ch]; l != nil {
			p := part{l, Slot(ch)}
			parts[p] = append(parts[p], ch)
			delete(c.byChannel, ch)
		}
	}
	// Redis refuses one SUNSUBSCRIBE for channels of several slots.
	for p, slotChannels := range parts {
		if err := p.l.Unsubscribe(ctx, slotChannels); err != nil {
			return err
		}
	}
	return nil
}

// watch reports the end of one connection.
func (c *clusterSubscriber) watch(l Listener) {
	select {
	case <-l.Lost():
		c.cluster.Invalidate()
		select {
		case c.lost <- nil:
		default:
		}
	case <-c.closed:
	}
}

// Lost implements [Listener].
func (c *clusterSubscriber) Lost() <-chan error { return c.lost }

// Close implements [Listener]. Each listener waits for its last message, and Close for
// the goroutines of watch.
func (c *clusterSubscriber) Close() error {
	close(c.closed)
	for _, l := range c.nodes {
		_ = l.Close()
	}
	c.watching.Wait()
	return nil
}
