package guard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/detach"
)

// outages remembers which nodes of the engine are down, so that calls which may run
// without the engine do not wait for it. Only the first calls wait, until their claims
// fail. Then a background task probes the node until it answers. Keys on other nodes stay
// guarded.
type outages struct {
	count atomic.Int32 // the size of byNode; while it is zero, calls need not lock mu

	mu     sync.Mutex
	byNode map[string]*outage
}

// An outage is the time during which a node is down. If an engine has only one node, the
// name of the node is "".
type outage struct{ err error }

// current returns why a node is down, or nil if it is up.
func (o *outages) current(node string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if down := o.byNode[node]; down != nil {
		return down.err
	}
	return nil
}

// begin records that a node is down. It returns nil if that is known already.
func (o *outages) begin(node string, err error) *outage {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.byNode[node]; known != nil {
		known.err = err
		return nil
	}
	if o.byNode == nil {
		o.byNode = make(map[string]*outage)
	}
	down := &outage{err}
	o.byNode[node] = down
	o.count.Store(int32(len(o.byNode)))
	return down
}

// end clears the outage of a node.
func (o *outages) end(node string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.byNode, node)
	o.count.Store(int32(len(o.byNode)))
}

// lasts reports whether an outage has not ended.
func (o *outages) lasts(node string, down *outage) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.byNode[node] == down
}

// runsWhileDown reports whether calls run without the engine while it is down.
func (c *core) runsWhileDown() bool { return c.policy.OnDown != Closed && !c.inProcess }

// knownDown returns why the node that keeps a key is down, or nil.
func (c *core) knownDown(key string) error {
	if c.outages.count.Load() == 0 {
		return nil
	}
	return c.outages.current(c.nodeOf(key))
}

// noteAnswer records whether the node that keeps a key answered a claim. If it is down, a
// background task probes it.
func (c *core) noteAnswer(key string, err error) {
	switch {
	case !c.runsWhileDown():
	case isDown(err):
		node := c.nodeOf(key)
		if down := c.outages.begin(node, err); down != nil {
			c.tasks.Go(func() { c.probe(node, key, down) })
		}
	case c.outages.count.Load() > 0: // a refusal is an answer as well
		c.outages.end(c.nodeOf(key))
	}
}

// probe looks the key up every half of [Policy.LocalCache]. It stops when the node answers, when a
// call has found the node up, or when the guard is closed.
func (c *core) probe(node, key string, down *outage) {
	tick := time.NewTicker(max(c.policy.LocalCache/2, time.Millisecond))
	defer tick.Stop()
	for c.outages.lasts(node, down) {
		select {
		case <-tick.C:
		case <-c.closing:
			return
		}
		if c.answers(key) {
			c.outages.end(node)
		}
	}
}

// answers reports whether the engine answers for a key.
func (c *core) answers(key string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), detach.Timeout)
	defer cancel()
	_, err := c.ledger.Lookup(ctx, key)
	return err == nil || !isDown(err) && ctx.Err() == nil
}

// nodeOf names the node of the engine that keeps a key.
func (c *core) nodeOf(key string) string {
	if c.node == nil {
		return ""
	}
	return c.node(key)
}
