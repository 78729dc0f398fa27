package redisengine

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/interlock-go/interlock/engine"
)

// mergers merge either acquisitions or releases. Exclusive and fair locks have a merger
// each, because the scripts get one more key for each fair lock. Calls for locks of other
// kinds are not merged.
type mergers struct{ exclusive, fair merger }

// open sets the functions that send batches.
func (s *mergers) open(exec func(batch []*batchItem, fair bool) error) {
	s.exclusive.exec = func(batch []*batchItem) error { return exec(batch, false) }
	s.fair.exec = func(batch []*batchItem) error { return exec(batch, true) }
}

// mergerFor returns the merger for locks of kind k; nil if these are not merged.
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

// close waits for the batches, which end with their answer or the client's timeout.
func (s *mergers) close() {
	s.exclusive.close()
	s.fair.close()
}

// lockItem returns the item of a request.
func (e *Engine) lockItem(name string, r *engine.Request, deadline int64) *batchItem {
	item := batchItems.Get().(*batchItem)
	item.name, item.holder, item.attempt, item.lease, item.deadline = name, r.Holder, r.Attempt, e.lease.text(r.Lease), deadline
	return item
}

// acquireMany acquires the free locks of a batch. The answer of each item is its
// fence, or 0 if the lock is not free or the batch arrived after its deadline.
func (e *Engine) acquireMany(batch []*batchItem, fair bool) error {
	c := e.call(acquireManyScript)
	defer c.free()
	deadline := int64(math.MaxInt64)
	// The first argument is the deadline, which is known after the loop. The second is the
	// number of keys per lock.
	c.args("", "1")
	if fair {
		c.Args[1] = "2"
	}
	for _, item := range batch {
		deadline = min(deadline, item.deadline)
		c.keys(item.name)
		if fair {
			c.keys(fairQueue(item.name))
		}
		c.args(item.holder, item.attempt, item.lease)
	}
	// The batch has the earliest deadline of its calls: they are sent at about the same time,
	// and a late batch only costs each caller a second call.
	c.Args[0] = strconv.FormatInt(deadline, 10)
	// The batch outlives the context of each caller.
	reply, err := e.eval(context.Background(), c)
	if err != nil {
		return err
	}
	fence := reply.Int
	if reply.List != nil {
		fence = reply.List[0].Int
	}
	for _, item := range batch {
		// A late batch returns 0, so each caller sends its call alone.
		item.answer.Int = fence
	}
	if fence > 0 {
		e.clock.observe(fence)
	}
	for i := 1; i < len(reply.List); i++ {
		at := reply.List[i].Int
		if at < 1 || at > int64(len(batch)) {
			return fmt.Errorf("%s: the reply names request %d of %d", c.Script.Name, at, len(batch))
		}
		batch[at-1].answer.Int = 0
	}
	return nil
}

// releaseMany ends those holds of a batch that were entered once and have no queue. It sets
// the answer of each item to 1 plus the number of subscribers notified, or to 0 if that hold
// must be released in a call of its own.
func (e *Engine) releaseMany(batch []*batchItem, fair bool) error {
	c := e.call(releaseManyScript)
	defer c.free()
	c.args(string(e.mode()), "2") // the number of keys per lock
	if fair {
		c.Args[1] = "3"
	}
	for _, item := range batch {
		c.keys(item.name, lockChannel(item.name))
		if fair {
			c.keys(fairQueue(item.name))
		}
		c.args(item.holder, item.attempt)
	}
	reply, err := e.eval(context.Background(), c)
	if err != nil {
		return err
	}
	if reply.List != nil && len(reply.List) != len(batch) {
		return fmt.Errorf("%s: %d answers to %d requests", c.Script.Name, len(reply.List), len(batch))
	}
	for i, item := range batch {
		item.answer.Int = 1
		if reply.List != nil {
			item.answer.Int = reply.List[i].Int
		}
	}
	return nil
}
