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
	codeBusy = iota
	codeGranted
	codeLate
	codeAbandoned
	codeOtherKind
	codeUpgrade
	codeFull
)

// Acquire implements [engine.Engine].
func (e *Engine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	name, err := e.checkRequest(ctx, &r)
	if err != nil {
		return engine.Grant{}, err
	}
	if r.Kind == engine.Permit && r.Limit <= 0 {
		return engine.Grant{}, fmt.Errorf("redis: %q: a semaphore with %d permits grants none: set a Limit above zero", r.Key, r.Limit)
	}
	late, trips := e.deadline(&r), e.mergerFor(&e.acquires, r.Kind)
	alone := trips != nil && trips.startDirect()
	if trips != nil && !alone && late != 0 && !r.Fenced {
		reply, err := trips.enqueue(ctx, e.lockItem(name, &r, late))
		if err != nil {
			return engine.Grant{}, e.explain(ctx, name, acquireManyScript, err)
		}
		if reply.Int > 0 {
			return parseGrant(name, reply)
		}
	}
	reply, missing, err := e.sendAcquire(ctx, name, &r, late)
	if alone {
		trips.endDirect(noAnswer(ctx, err))
	}
	if err == nil && isLate(reply) {
		reply, missing, err = e.sendAcquire(ctx, name, &r, 0)
	}
	if err != nil {
		return engine.Grant{}, e.explain(ctx, name, acquireScriptOf(r.Kind), err)
	}
	g, err := parseGrant(name, reply)
	if err == nil && missing > 0 {
		return engine.Grant{}, acksMissing(name, missing, e.undoGrant(ctx, r))
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
func (e *Engine) deadline(r *engine.Request) int64 {
	if r.Retry || e.cluster != nil { // whose nodes have a clock each
		return 0
	}
	return e.clock.after(e.timeout)
}

func isLate(reply Reply) bool { return reply.List != nil && reply.List[0].Int == codeLate }

// tryAcquire sends the request. With late zero the server looks for a tombstone.
func (e *Engine) sendAcquire(ctx context.Context, name string, r *engine.Request, late int64) (reply Reply, missing int, err error) {
	if r.Kind != engine.Exclusive {
		return e.sendAcquireKind(ctx, name, r, late)
	}
	c := e.call(acquireScript)
	defer c.free()
	c.keys(name)
	c.args(r.Holder, r.Attempt, e.lease.text(r.Lease), e.clock.text(late))
	if r.Fenced {
		c.keys(fenceCounter(name))
		c.args(strconv.FormatUint(r.FenceReserve, 10), e.counterLife(r.Lease))
	}
	if late == 0 {
		c.keys(tombstone(name, r.Holder, r.Attempt))
	}
	return e.evalTimed(ctx, c)
}

// tryAcquireAs is tryAcquire for the other kinds.
func (e *Engine) sendAcquireKind(ctx context.Context, name string, r *engine.Request, late int64) (reply Reply, missing int, err error) {
	k, life := kinds[r.Kind], "-"
	c := e.call(k.acquire)
	defer c.free()
	c.keys(name)
	c.keys(k.keys(name)...)
	if r.Fenced {
		c.keys(fenceCounter(name))
		life = e.counterLife(r.Lease)
	}
	if late == 0 {
		c.keys(tombstone(name, r.Holder, r.Attempt))
	}
	c.args(r.Holder, r.Attempt, e.lease.text(r.Lease), e.clock.text(late),
		e.queueLease.text(min(r.QueueLease, maxQueueLease)), strconv.FormatUint(r.FenceReserve, 10), life)
	e.kindArgs(c, name, r)
	return e.evalTimed(ctx, c)
}

// ask sends a call whose answer also tells the time, and how many replicas are
// missing that were to acknowledge it.
func (e *Engine) evalTimed(ctx context.Context, c *Call) (reply Reply, missing int, err error) {
	reply, missing, err = e.evalAcked(ctx, c)
	if err != nil {
		return reply, 0, err
	}
	if reply.List != nil {
		e.clock.observe(reply.List[len(reply.List)-1].Int)
	} else {
		e.clock.observe(reply.Int)
	}
	return reply, missing, nil
}

// granted reads the answer of acquire.lua and its like.
func parseGrant(name string, reply Reply) (engine.Grant, error) {
	if reply.List == nil {
		return engine.Grant{Fence: uint64(reply.Int), Count: 1}, nil
	}
	switch list := reply.List; list[0].Int {
	case codeGranted:
		return engine.Grant{Fence: uint64(list[1].Int), Count: int(list[2].Int)}, nil
	case codeAbandoned:
		return engine.Grant{}, abandonedError(name)
	case codeOtherKind:
		return engine.Grant{}, kindError(name)
	case codeUpgrade:
		return engine.Grant{}, upgradeError(name)
	case codeFull:
		return engine.Grant{}, fullError(name)
	}
	return engine.Grant{}, parseBusy(reply.List)
}

// busy reads a refusal. That of an exclusive lock does not tell who is ahead.
func parseBusy(list []Item) *engine.BusyError {
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
