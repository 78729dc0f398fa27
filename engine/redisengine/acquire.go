package redisengine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// What the arrays of acquire.lua and its like begin with.
const (
	isBusy = iota
	isGranted
	isLate
	isAbandoned
	isOtherKind
	isUpgrade
	isFull
)

// Acquire implements [engine.Engine].
func (e *Engine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	name, err := e.admit(ctx, &r)
	if err != nil {
		return engine.Grant{}, err
	}
	if r.Kind == engine.Permit && r.Limit <= 0 {
		return engine.Grant{}, fmt.Errorf("redis: %q: a semaphore with %d permits grants none: set a Limit above zero", r.Key, r.Limit)
	}
	late, trips := e.late(&r), e.sharing(&e.acquires, r.Kind)
	alone := trips != nil && trips.alone()
	if trips != nil && !alone && late != 0 && !r.Fenced {
		reply, err := trips.share(ctx, e.board(name, &r, late))
		if err != nil {
			return engine.Grant{}, e.explain(ctx, name, acquireManyScript, err)
		}
		if reply.Int > 0 {
			return granted(name, reply)
		}
	}
	reply, missing, err := e.tryAcquire(ctx, name, &r, late)
	if alone {
		trips.ended(silence(ctx, err))
	}
	if err == nil && isTooLate(reply) {
		reply, missing, err = e.tryAcquire(ctx, name, &r, 0)
	}
	if err != nil {
		return engine.Grant{}, e.explain(ctx, name, acquireScriptOf(r.Kind), err)
	}
	g, err := granted(name, reply)
	if err == nil && missing > 0 {
		return engine.Grant{}, short(name, missing, e.giveBack(ctx, r))
	}
	return g, err
}

// acquireScriptOf returns the script that takes a lock of that kind.
func acquireScriptOf(k engine.Kind) *Script {
	if k == engine.Exclusive {
		return acquireScript
	}
	return kinds[k].acquire
}

// late is when r comes too late, by the server's clock in µs; zero if the server
// is to look for a tombstone.
func (e *Engine) late(r *engine.Request) int64 {
	if r.Retry || e.cluster != nil { // whose nodes have a clock each
		return 0
	}
	return e.clock.in(e.timeout)
}

func isTooLate(reply Reply) bool { return reply.List != nil && reply.List[0].Int == isLate }

// tryAcquire sends the request. With late zero the server looks for a tombstone.
func (e *Engine) tryAcquire(ctx context.Context, name string, r *engine.Request, late int64) (reply Reply, missing int, err error) {
	if r.Kind != engine.Exclusive {
		return e.tryAcquireAs(ctx, name, r, late)
	}
	c := e.call(acquireScript)
	defer c.free()
	c.keys(name)
	c.args(r.Holder, r.Attempt, e.lease.text(r.Lease), e.clock.text(late))
	if r.Fenced {
		c.keys(counter(name))
		c.args(strconv.FormatUint(r.FenceReserve, 10), e.counterLife(r.Lease))
	}
	if late == 0 {
		c.keys(tombstone(name, r.Holder, r.Attempt))
	}
	return e.ask(ctx, c)
}

// tryAcquireAs is tryAcquire for the other kinds.
func (e *Engine) tryAcquireAs(ctx context.Context, name string, r *engine.Request, late int64) (reply Reply, missing int, err error) {
	k, life := kinds[r.Kind], "-"
	c := e.call(k.acquire)
	defer c.free()
	c.keys(name)
	c.keys(k.keys(name)...)
	if r.Fenced {
		c.keys(counter(name))
		life = e.counterLife(r.Lease)
	}
	if late == 0 {
		c.keys(tombstone(name, r.Holder, r.Attempt))
	}
	c.args(r.Holder, r.Attempt, e.lease.text(r.Lease), e.clock.text(late),
		e.place.text(min(r.QueueLease, longestPlace)), strconv.FormatUint(r.FenceReserve, 10), life)
	e.kindArgs(c, name, r)
	return e.ask(ctx, c)
}

// ask sends a call whose answer also tells the time, and how many replicas are
// missing that were to acknowledge it.
func (e *Engine) ask(ctx context.Context, c *Call) (reply Reply, missing int, err error) {
	reply, missing, err = e.acknowledged(ctx, c)
	if err != nil {
		return reply, 0, err
	}
	if reply.List != nil {
		e.clock.saw(reply.List[len(reply.List)-1].Int)
	} else {
		e.clock.saw(reply.Int)
	}
	return reply, missing, nil
}

// granted reads the answer of acquire.lua and its like.
func granted(name string, reply Reply) (engine.Grant, error) {
	if reply.List == nil {
		return engine.Grant{Fence: uint64(reply.Int), Count: 1}, nil
	}
	switch list := reply.List; list[0].Int {
	case isGranted:
		return engine.Grant{Fence: uint64(list[1].Int), Count: int(list[2].Int)}, nil
	case isAbandoned:
		return engine.Grant{}, abandonedError(name)
	case isOtherKind:
		return engine.Grant{}, kindError(name)
	case isUpgrade:
		return engine.Grant{}, upgradeError(name)
	case isFull:
		return engine.Grant{}, fullError(name)
	}
	return engine.Grant{}, busy(reply.List)
}

// busy reads a refusal. That of an exclusive lock does not tell who is ahead.
func busy(list []Item) *engine.BusyError {
	err := &engine.BusyError{Holder: list[2].Text, Left: left(list[1].Int)}
	if len(list) > 4 {
		err.Ahead = int(list[3].Int)
	}
	return err
}

// left is a time that the server tells in ms. Below zero there is no end to it.
func left(ms int64) time.Duration {
	if ms == 0 {
		return time.Millisecond // less than one is left; zero would mean that it is not known
	}
	return time.Duration(max(ms, 0)) * time.Millisecond
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
