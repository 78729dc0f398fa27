package redisengine

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// A ledger stores the engine's records. It is a type of its own because Engine has
// Renew and List for locks, and [engine.Ledger] has Renew and List for records.
type ledger struct{ *Engine }

var (
	_ engine.Ledger = ledger{}
	_ engine.Eraser = ledger{}
)

// Claim implements [engine.Ledger]. Concurrent claims share a batch; see
// [Engine.Acquire].
func (l ledger) Claim(ctx context.Context, c engine.Claim) (engine.Record, error) {
	name, err := l.checkClaim(ctx, &c)
	if err != nil {
		return engine.Record{}, err
	}
	deadline := l.deadline(ctx, c.Retry)
	direct := l.merges() && l.claims.startDirect()
	// Without a deadline the tombstones must be read, which a batch does not do.
	if !direct && deadline != 0 && l.merges() {
		item := l.claimItem(name, &c, deadline)
		item.late = l.lateClaim(name, &c)
		reply, err := l.claims.enqueue(ctx, item)
		if err != nil {
			return engine.Record{}, l.explain(ctx, name, claimScript, err)
		}
		if reply.Int != 0 || reply.List != nil {
			return parseClaim(name, &c, reply.Int, reply.List)
		}
	}
	reply, missing, err := l.sendClaim(ctx, name, &c, deadline)
	if direct {
		l.claims.endDirect(noAnswer(ctx, err))
	}
	// The attempt may have been abandoned since, so the second call reads its tombstone.
	if err == nil && isLateClaim(reply) {
		reply, missing, err = l.sendClaim(ctx, name, &c, 0)
	}
	if err != nil {
		l.readSlots(ctx, name)
		return engine.Record{}, l.explain(ctx, name, claimScript, err)
	}
	now := claimTime(reply)
	if reply.List != nil {
		reply.List = reply.List[2:] // skips the time and the index of the claim
	}
	r, err := parseClaim(name, &c, now, reply.List)
	if err == nil && r.Granted && missing > 0 {
		return engine.Record{}, acksMissing(name, missing, l.undoClaim(ctx, &c, r.TookOver))
	}
	return r, err
}

// undoClaim undoes a claim that too few replicas have acknowledged, even if ctx is done.
// It settles the claim as absent, which leaves no tombstone, so the caller may repeat
// the attempt. A claim that took over an unknown outcome is abandoned instead, because
// only that restores the outcome.
func (l ledger) undoClaim(ctx context.Context, c *engine.Claim, tookOver bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
	defer cancel()
	name, err := l.name(c.Key)
	if err != nil {
		return err
	}
	s := engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Absent, Lease: c.Lease}
	if tookOver {
		_, err = l.disclaim(ctx, name, &s)
	} else {
		call := l.settleCall(name, &s)
		defer call.free()
		_, err = l.eval(ctx, call)
	}
	return err
}

// Settle implements [engine.Ledger]. Concurrent settlements share a batch.
func (l ledger) Settle(ctx context.Context, s engine.Settlement) (engine.Outcome, error) {
	name, err := l.checkSettlement(ctx, &s)
	if err != nil {
		return 0, err
	}
	if s.Abandon {
		reply, err := l.disclaim(ctx, name, &s)
		return l.parseOutcome(ctx, name, disclaimScript, reply, err)
	}
	// A settlement needs no deadline: it changes only its own claim, however late it
	// arrives.
	merged := len(s.Result) <= maxSharedResult && l.merges()
	direct := merged && l.settlements.startDirect()
	if merged && !direct {
		reply, err := l.settlements.enqueue(ctx, l.settleItem(name, &s))
		if err != nil {
			return 0, l.explain(ctx, name, settleScript, err)
		}
		if reply.Int != 0 {
			return l.parseOutcome(ctx, name, settleScript, reply, nil)
		}
	}
	reply, missing, err := l.sendSettle(ctx, name, &s)
	if direct {
		l.settlements.endDirect(noAnswer(ctx, err))
	}
	o, err := l.parseOutcome(ctx, name, settleScript, reply, err)
	// The outcome stays: the work is done, and without its record it would be repeated.
	if err == nil && o == engine.Released && missing > 0 {
		return 0, fail(name, fmt.Sprintf("the outcome is stored, but %d of the required replicas did not acknowledge it in time: "+
			"a failover may lose it", missing), engine.ErrUnknown)
	}
	return o, err
}

// Lookup implements [engine.Ledger].
func (l ledger) Lookup(ctx context.Context, key string) (engine.Record, error) {
	return l.lookup(ctx, key, lookupScript)
}

// Erase implements [engine.Eraser].
func (l ledger) Erase(ctx context.Context, key string) (engine.Record, error) {
	r, err := l.lookup(ctx, key, eraseScript)
	r.Result = nil
	return r, err
}

// lookup runs lookup.lua or erase.lua. Their replies have the same format.
func (l ledger) lookup(ctx context.Context, key string, s *Script) (engine.Record, error) {
	if err := l.usable(ctx); err != nil {
		return engine.Record{}, err
	}
	name, err := l.name(key)
	if err != nil {
		return engine.Record{}, err
	}
	c := l.call(s)
	defer c.free()
	c.keys(l.lockEntry(name), l.resultEntry(name))
	// Erasing wakes the waiters, and so needs the channel.
	if s == eraseScript {
		c.keys(l.recordChannel(name))
		c.args(string(l.mode()))
	}
	reply, err := l.eval(ctx, c)
	if err != nil {
		return engine.Record{}, l.explain(ctx, name, s, err)
	}
	if reply.List[0].Int == codeNotRecord {
		return engine.Record{}, notRecord(name)
	}
	return parseRecord(key, reply.List[recordItems].Int, reply.List), nil
}

// Watch implements [engine.Ledger].
func (l ledger) Watch(key string) (wake <-chan struct{}, stop func()) {
	name, err := l.name(key)
	if err != nil {
		return nil, func() {} // the key is invalid, so it is never settled
	}
	if l.cluster != nil {
		// A subscription to the settle channel only tells settle.lua that a subscriber
		// exists. A cluster node does not know the subscribers of other nodes.
		return l.notifier.subscribe(l.recordChannel(name))
	}
	return l.notifier.subscribe(l.settleChannel, l.recordChannel(name))
}

// checkClaim refuses an invalid claim, and returns the name of its record.
func (e *Engine) checkClaim(ctx context.Context, c *engine.Claim) (string, error) {
	if err := e.usable(ctx); err != nil {
		return "", err
	}
	if c.Attempt == "" || c.Lease <= 0 || c.Retain < 0 {
		return "", fmt.Errorf("redis: the claim of %q is incomplete: set an Attempt, a Lease above zero, and a Retain of zero or more", c.Key)
	}
	return e.name(c.Key)
}

// checkSettlement refuses an invalid settlement, and returns the name of its record.
func (e *Engine) checkSettlement(ctx context.Context, s *engine.Settlement) (string, error) {
	if err := e.usable(ctx); err != nil {
		return "", err
	}
	why := ""
	switch {
	case s.Attempt == "":
		why = "has no attempt: set Attempt"
	case s.Outcome == engine.Running || s.Outcome > engine.Unknown:
		why = "is not possible: set Outcome to Done, Failed, Unknown or Absent"
	case s.Outcome != engine.Absent && s.Retain <= 0:
		why = "has no retention: set Retain above zero"
	case s.Abandon && s.Outcome != engine.Absent:
		why = "abandons the claim, but has an outcome: set Outcome to Absent"
	case s.Abandon && s.Lease <= 0:
		why = "has no lease: set Lease above zero"
	}
	if why != "" {
		return "", fmt.Errorf("redis: the settlement of %q as %s %s", s.Key, s.Outcome, why)
	}
	return e.name(s.Key)
}
