package redisengine

import (
	"context"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// What acquire.lua's arrays begin with.
const (
	isBusy = iota
	isGranted
	isLate
	isAbandoned
	isOtherKind
)

// Acquire implements [engine.Engine].
func (e *Engine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	name, err := e.admit(ctx, &r)
	if err != nil {
		return engine.Grant{}, err
	}
	var late int64
	if !r.Retry {
		late = e.clock.in(e.timeout)
	}
	alone := e.acquires.alone()
	if !alone && late != 0 && !r.Fenced {
		fence, err := e.acquires.share(ctx, e.board(name, &r, late))
		if err != nil {
			return engine.Grant{}, e.explain(ctx, name, acquireManyScript, err)
		}
		if fence > 0 {
			return engine.Grant{Fence: uint64(fence), Count: 1}, nil
		}
	}
	reply, err := e.tryAcquire(ctx, name, &r, late)
	if alone {
		e.acquires.ended(silence(ctx, err))
	}
	if err == nil && reply.List != nil && reply.List[0].Int == isLate {
		reply, err = e.tryAcquire(ctx, name, &r, 0)
	}
	if err != nil {
		return engine.Grant{}, e.explain(ctx, name, acquireScript, err)
	}
	if reply.List == nil {
		return engine.Grant{Fence: uint64(reply.Int), Count: 1}, nil
	}
	return granted(name, reply.List)
}

// tryAcquire sends the request. With late zero the server looks for a tombstone.
func (e *Engine) tryAcquire(ctx context.Context, name string, r *engine.Request, late int64) (Reply, error) {
	c := e.call(acquireScript)
	defer c.free()
	c.keys(name)
	c.args(r.Holder, r.Attempt, e.lease.text(r.Lease), e.clock.text(late))
	if r.Fenced {
		c.keys(counter(name))
		c.args(strconv.FormatUint(r.Room, 10), e.counterLife(r.Lease))
	}
	if late == 0 {
		c.keys(tombstone(name, r.Holder, r.Attempt))
	}
	reply, err := e.client.Eval(ctx, c)
	if err != nil {
		return reply, err
	}
	if reply.List != nil {
		e.clock.saw(reply.List[len(reply.List)-1].Int)
	} else {
		e.clock.saw(reply.Int)
	}
	return reply, nil
}

// granted reads an answer that is an array.
func granted(name string, list []Item) (engine.Grant, error) {
	switch list[0].Int {
	case isGranted:
		return engine.Grant{Fence: uint64(list[1].Int), Count: int(list[2].Int)}, nil
	case isAbandoned:
		return engine.Grant{}, abandonedError(name)
	case isOtherKind:
		return engine.Grant{}, kindError(name)
	}
	left := time.Duration(max(list[1].Int, 0)) * time.Millisecond
	if list[1].Int == 0 {
		left = time.Millisecond // less than one is left; zero would mean that it is not known
	}
	return engine.Grant{}, &engine.BusyError{Holder: list[2].Text, Left: left}
}

// counterLife is how long a fence counter is kept: long enough for every clock
// that could have gone backwards meanwhile to have caught up, or for ever if
// Redisson relies on it.
func (e *Engine) counterLife(lease time.Duration) string {
	if e.redisson {
		return "0"
	}
	return strconv.FormatInt(max(2*ceil(lease), 60_000), 10)
}
