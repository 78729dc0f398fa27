package redisengine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// The first item of an array that an acquire script returns; see acquire_common.lua.
const (
	// codeBusy is followed by the remaining lease, the holder and the number of waiters
	// ahead.
	codeBusy = iota
	codeGranted
	codeLate
	codeAbandoned
	codeOtherKind
	codeUpgrade
	codeFull
)

// Acquire implements [engine.Engine].
//
// The first calls are sent directly. Calls that arrive before the answers share a batch. A
// batch grants only free locks. A request for a lock that is not free is sent again in a
// call of its own.
func (e *Engine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	name, err := e.checkRequest(ctx, &r)
	if err != nil {
		return engine.Grant{}, err
	}
	if r.Kind == engine.Permit && r.Limit <= 0 {
		return engine.Grant{}, fmt.Errorf("redis: %q: a semaphore with %d permits grants none: set a Limit above zero", r.Key, r.Limit)
	}
	// A batch reads neither tombstones nor fence counters. So a call without a deadline,
	// and one with Fenced, is sent alone.
	deadline, m := e.deadline(ctx, r.Retry), e.mergerFor(&e.acquires, r.Kind)
	direct := m != nil && m.startDirect()
	if m != nil && !direct && deadline != 0 && !r.Fenced {
		item := e.lockItem(name, &r, deadline)
		item.late = e.lateGrant(name, &r)
		reply, err := m.enqueue(ctx, item)
		if err != nil {
			return engine.Grant{}, e.explain(ctx, name, acquireManyScript, err)
		}
		if reply.Int > 0 {
			return parseGrant(name, reply)
		}
	}
	if r.QueueLease > 0 {
		// A late call of an abandoned attempt must not queue again, so it reads the
		// tombstone.
		r.QueueLease, deadline = reservation(ctx, r.QueueLease), 0
	}
	reply, missing, err := e.sendAcquire(ctx, name, &r, deadline)
	if direct {
		m.endDirect(noAnswer(ctx, err))
	}
	// The call arrived after its deadline, so its attempt may have been abandoned
	// meanwhile. The second call reads the tombstone.
	if err == nil && isLate(reply) {
		if err = ctx.Err(); err != nil {
			return engine.Grant{}, e.notSent(ctx, name, err)
		}
		reply, missing, err = e.sendAcquire(ctx, name, &r, 0)
	}
	if err != nil {
		return engine.Grant{}, e.explain(ctx, name, kinds[r.Kind].acquire, err)
	}
	g, err := parseGrant(name, reply)
	// A failover could lose the grant, so it must not count.
	if err == nil && missing > 0 {
		return engine.Grant{}, acksMissing(name, missing, e.undoGrant(ctx, r))
	}
	return g, err
}

// deadline returns the server time in µs until which the server may grant a first attempt
// without reading its tombstone. Until then the caller waits, so it has not abandoned the
// attempt. With a deadline of zero, the server reads the tombstone: for a repeated attempt,
// and in a cluster, whose nodes have different clocks.
func (e *Engine) deadline(ctx context.Context, retry bool) int64 {
	if retry || e.cluster != nil {
		return 0
	}
	timeout := e.timeout
	if end, ok := ctx.Deadline(); ok {
		timeout = min(timeout, max(time.Until(end), 0))
	}
	return e.clock.after(timeout)
}

const (
	// impatient is a limit on the caller's remaining time. Up to it, the queue position
	// expires when the caller gives up. With more time left, the position stays until the
	// caller's Abandon removes it.
	impatient = time.Second

	// maxReaction is the longest time by which such a position expires before its caller
	// gives up. It leaves time to react to a message.
	maxReaction = 10 * time.Millisecond
)

// reservation returns how long to keep the queue position of a caller. Without a limit for
// impatient callers, their queue would always be led by a caller that gives up before it
// can be granted the lock.
func reservation(ctx context.Context, requested time.Duration) time.Duration {
	end, ok := ctx.Deadline()
	left := time.Until(end)
	if !ok || left > impatient {
		return requested
	}
	return min(requested, max(left-min(left/4, maxReaction), time.Millisecond))
}

// isLate reports whether the call arrived after its deadline. Then it changed nothing.
func isLate(reply Reply) bool { return reply.List != nil && reply.List[0].Int == codeLate }

// sendAcquire runs the acquire script of r's kind. It also returns how many replicas
// have not acknowledged the grant.
func (e *Engine) sendAcquire(ctx context.Context, name string, r *engine.Request, deadline int64) (reply Reply, missing int, err error) {
	k, counterLife := kinds[r.Kind], "-"
	c := e.call(k.acquire)
	defer c.free()
	c.keys(name)
	c.keys(k.keys(name)...)
	// The order is fixed: the counter, then the tombstone as the last key; see
	// acquire_common.lua.
	if r.Fenced {
		c.keys(fenceCounter(name))
		counterLife = e.counterLife(r.Lease)
	}
	if deadline == 0 {
		c.keys(tombstone(name, r.Holder, r.Attempt))
	}
	c.args(r.Holder, r.Attempt, e.lease.text(r.Lease), e.clock.text(deadline),
		e.queueLease.text(min(r.QueueLease, maxQueueLease)), strconv.FormatUint(r.FenceReserve, 10), counterLife)
	e.kindArgs(c, name, r)
	if deadline != 0 {
		c.late = e.lateGrant(name, r)
	}
	reply, missing, err = e.evalAcked(ctx, c)
	if err != nil {
		return reply, 0, err
	}
	// Every reply ends with the server's time, or is that time.
	if reply.List != nil {
		e.clock.observe(reply.List[len(reply.List)-1].Int)
	} else {
		e.clock.observe(reply.Int)
	}
	return reply, missing, nil
}

// parseGrant reads the reply of an acquire script.
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
	// codeBusy and codeLate remain, and Acquire has handled codeLate.
	default:
		return engine.Grant{}, &engine.BusyError{Holder: list[2].Text, Left: left(list[1].Int), Ahead: int(list[3].Int)}
	}
}

// left converts a remaining time in ms. A negative one means no expiry, which is
// zero in package engine.
func left(ms int64) time.Duration {
	if ms == 0 {
		return time.Millisecond // less than 1 ms; zero would mean unknown
	}
	return time.Duration(max(ms, 0)) * time.Millisecond
}

// counterLife returns the lifetime of a fence counter in ms: long enough for a clock
// that was set back to catch up, or "0" for no expiry if Redisson relies on it.
func (e *Engine) counterLife(lease time.Duration) string {
	if e.redisson {
		return "0"
	}
	return strconv.FormatInt(max(2*ceil(lease), 60_000), 10)
}
