package redisengine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

// A Cluster is a [Client] of several servers, each of which has a part of the
// keys. All keys of one call lie in the same slot.
type Cluster interface {
	Client

	// Home returns the address of the primary that has a key. It may be what was
	// so a moment ago, unless Forget was called since.
	PrimaryFor(ctx context.Context, key string) (addr string, err error)

	// Primaries returns the addresses of those that have keys, by their first
	// slots.
	Primaries(ctx context.Context) ([]Primary, error)

	// Forget lets the next question be asked anew: something has moved.
	Invalidate()

	// At returns a client of one node, which is not to be closed.
	Node(addr string) (Client, error)
}

// A Primary is a server that has a part of the keys.
type Primary struct {
	Addr  string
	First int // the first of its slots
}

// slots is how many there are in a cluster.
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

// crc16 is the table of CRC-16/XMODEM.
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

// shard tells which locks are renewed together: those of one slot, since no call
// can be about two.
func (e *Engine) shard(key string) int {
	name, err := e.name(key)
	if err != nil {
		return 0
	}
	return Slot(name)
}

// apart returns which of some keys may share a call, as indices: those of one
// slot in a cluster, and all of them on one server.
func (e *Engine) groupBySlot(keys []string) [][]int {
	if e.cluster == nil {
		all := make([]int, len(keys))
		for i := range all {
			all[i] = i
		}
		return [][]int{all}
	}
	var groups [][]int
	at := make(map[int]int)
	for i, key := range keys {
		slot := Slot(key)
		g, known := at[slot]
		if !known {
			g = len(groups)
			at[slot], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// scan makes a call that goes over keys on one server, or on one node of a
// cluster after the other. The reply begins with the cursor to go on with.
func (e *Engine) scan(ctx context.Context, cursor string, call func(cursor string) *Call) (reply Reply, next string, err error) {
	if e.cluster == nil {
		return scanOn(ctx, e.client, cursor, call)
	}
	primaries, err := e.cluster.Primaries(ctx)
	if err != nil {
		return Reply{}, "", &NotSentError{Err: err}
	}
	first, cursor, _ := strings.Cut(cursor, "/")
	slot, _ := strconv.Atoi(first)
	// The last that begins at the slot or before: it has it.
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

// somewhere returns a client of any node.
func anyNode(ctx context.Context, c Cluster) (Client, error) {
	primaries, err := c.Primaries(ctx)
	if err != nil {
		return nil, err
	}
	return c.Node(primaries[rand.N(len(primaries))].Addr)
}

// A chorus listens to several nodes of a cluster as if they were one. If one of
// them is lost, all is begun anew: the slots may have moved. One that cannot be
// reached keeps nobody from hearing the others.
type clusterSubscriber struct {
	cluster   Cluster
	onMessage func(string)
	nodes     map[string]Listener // by address
	byChannel map[string]Listener // by channel
	lost      chan error
	closed    chan struct{} // closed by Close

	watching sync.WaitGroup
}

// A partialSubscribeError says which channels are not listened to, while others are.
type partialSubscribeError struct {
	channels []string
	err      error
}

func (e *partialSubscribeError) Error() string {
	return fmt.Sprintf("%d channels cannot be listened to for now: %v", len(e.channels), e.err)
}

func (e *partialSubscribeError) Unwrap() error { return e.err }

// listen opens what hears messages that are published with m.
func openListener(ctx context.Context, client Client, m PublishMode, heard func(channel string)) (Listener, error) {
	c, many := client.(Cluster)
	if !many {
		return client.Listen(ctx, m, heard)
	}
	if m == Sharded {
		return &clusterSubscriber{
			cluster: c, onMessage: heard, nodes: make(map[string]Listener), byChannel: make(map[string]Listener),
			lost: make(chan error, 1), closed: make(chan struct{}),
		}, nil
	}
	node, err := anyNode(ctx, c) // nodes tell each other
	if err != nil {
		c.Invalidate()
		return nil, err
	}
	return node.Listen(ctx, m, heard)
}

// Subscribe implements [Listener]. It sends the channels of each slot to the node
// that has it. Nodes that are listened to already come first: to connect to one
// that is down takes its time.
func (c *clusterSubscriber) Subscribe(ctx context.Context, channels []string) error {
	bySlot := make(map[int][]string)
	for _, ch := range channels {
		bySlot[Slot(ch)] = append(bySlot[Slot(ch)], ch)
	}
	deaf, down := partialSubscribeError{}, make(map[string]error)
	for _, known := range []bool{true, false} {
		for slot, some := range bySlot {
			addr, err := c.cluster.PrimaryFor(ctx, some[0])
			if err == nil && known && c.nodes[addr] == nil {
				continue
			}
			if err == nil {
				err = down[addr] // it is not waited for twice
			}
			if err == nil {
				err = c.subscribe(ctx, addr, some)
			}
			if err != nil {
				deaf.channels, deaf.err = append(deaf.channels, some...), err
				if c.nodes[addr] == nil {
					down[addr] = err
				}
			}
			delete(bySlot, slot)
		}
	}
	if deaf.err == nil {
		return nil
	}
	c.cluster.Invalidate()
	if len(c.nodes) == 0 || ctx.Err() != nil {
		return deaf.err
	}
	return &deaf
}

// subscribe asks one node for channels of one slot.
func (c *clusterSubscriber) subscribe(ctx context.Context, addr string, channels []string) error {
	l, known := c.nodes[addr]
	if !known {
		node, err := c.cluster.Node(addr)
		if err != nil {
			return err
		}
		if l, err = node.Listen(ctx, Sharded, c.onMessage); err != nil {
			return err
		}
	}
	err := l.Subscribe(ctx, channels)
	switch {
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

// Unsubscribe implements [Listener]. It asks whoever was asked for the channels,
// wherever their slots are by now.
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
	for p, some := range parts {
		if err := p.l.Unsubscribe(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// watch passes on that one of the connections has ended.
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

// Close implements [Listener].
func (c *clusterSubscriber) Close() error {
	close(c.closed)
	for _, l := range c.nodes {
		_ = l.Close()
	}
	c.watching.Wait()
	return nil
}
