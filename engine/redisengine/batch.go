package redisengine

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/interlock-go/interlock/engine"
)

// sharing is for calls of one sort: those about exclusive locks share trips, and
// those about fair ones. Locks of other kinds travel alone.
type mergers struct{ exclusive, fair merger }

func (s *mergers) open(send func(batch []*batchItem, fair bool) error) {
	s.exclusive.exec = func(batch []*batchItem) error { return send(batch, false) }
	s.fair.exec = func(batch []*batchItem) error { return send(batch, true) }
}

// sharing returns what calls about locks of that kind share; nil if they do not.
func (e *Engine) mergerFor(s *mergers, k engine.Kind) *merger {
	switch {
	case !e.merges():
		return nil
	case k == engine.Exclusive:
		return &s.exclusive
	case k == engine.Fair:
		return &s.fair
	}
	return nil
}

func (s *mergers) close() {
	s.exclusive.close()
	s.fair.close()
}

// board makes a passenger of a request.
func (e *Engine) lockItem(name string, r *engine.Request, late int64) *batchItem {
	p := batchItems.Get().(*batchItem)
	p.name, p.holder, p.attempt, p.lease, p.deadline = name, r.Holder, r.Attempt, e.lease.text(r.Lease), late
	return p
}

// acquireMany takes the locks of a batch that are free. The answer of each is
// its fence, or 0 if the lock is not free or the call came too late.
func (e *Engine) acquireMany(batch []*batchItem, fair bool) error {
	c := e.call(acquireManyScript)
	defer c.free()
	if fair {
		c.Script = acquireFairManyScript
	}
	late := int64(math.MaxInt64)
	c.args("")
	for _, p := range batch {
		late = min(late, p.deadline)
		c.keys(p.name)
		if fair {
			c.keys(fairQueue(p.name))
		}
		c.args(p.holder, p.attempt, p.lease)
	}
	c.Args[0] = strconv.FormatInt(late, 10)
	reply, err := e.client.Eval(context.Background(), c)
	if err != nil {
		return err
	}
	fence := reply.Int
	if reply.List != nil {
		fence = reply.List[0].Int
	}
	for _, p := range batch {
		p.answer.Int = fence
	}
	if fence > 0 {
		e.clock.observe(fence)
	}
	for i := 1; i < len(reply.List); i++ {
		at := reply.List[i].Int
		if at < 1 || at > int64(len(batch)) {
			return fmt.Errorf("%s: there is no request number %d", c.Script.Name, at)
		}
		batch[at-1].answer.Int = 0
	}
	return nil
}

// releaseMany ends the holds of a batch that are simple. The answer of each is 1
// and how many listeners were told, or 0 if the hold is not a simple one.
func (e *Engine) releaseMany(batch []*batchItem, fair bool) error {
	c := e.call(releaseManyScript)
	defer c.free()
	if fair {
		c.Script = releaseFairManyScript
	}
	c.args(string(e.publish))
	for _, p := range batch {
		c.keys(p.name, lockChannel(p.name))
		if fair {
			c.keys(fairQueue(p.name))
		}
		c.args(p.holder, p.attempt)
	}
	reply, err := e.client.Eval(context.Background(), c)
	if err != nil {
		return err
	}
	if reply.List != nil && len(reply.List) != len(batch) {
		return fmt.Errorf("%s: %d answers to %d requests", c.Script.Name, len(reply.List), len(batch))
	}
	for i, p := range batch {
		p.answer.Int = 1
		if reply.List != nil {
			p.answer.Int = reply.List[i].Int
		}
	}
	return nil
}
