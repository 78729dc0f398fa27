package redisengine

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// A ledger is the engine as one that keeps what became of work. It is a type of
// its own since claims are renewed and listed as locks are.
type ledger struct{ *Engine }

var _ engine.Ledger = ledger{}

// Claim implements [engine.Ledger].
func (l ledger) Claim(ctx context.Context, c engine.Claim) (engine.Record, error) {
	name, err := l.checkClaim(ctx, &c)
	if err != nil {
		return engine.Record{}, err
	}
	late := l.claimDeadline(&c)
	alone := l.merges() && l.claims.startDirect()
	if !alone && late != 0 && l.merges() {
		reply, err := l.claims.enqueue(ctx, l.claimItem(name, &c, late))
		if err != nil {
			return engine.Record{}, l.explain(ctx, name, claimScript, err)
		}
		if reply.Int != 0 || reply.List != nil {
			return parseClaim(name, &c, reply.Int, reply.List)
		}
	}
	reply, missing, err := l.sendClaim(ctx, name, &c, late)
	if alone {
		l.claims.endDirect(noAnswer(ctx, err))
	}
	if err == nil && isLateClaim(reply) {
		reply, missing, err = l.sendClaim(ctx, name, &c, 0)
	}
	if err != nil {
		return engine.Record{}, l.explain(ctx, name, claimScript, err)
	}
	now := claimTime(reply)
	if reply.List != nil {
		reply.List = reply.List[2:] // behind the time, and that it is the first
	}
	r, err := parseClaim(name, &c, now, reply.List)
	if err == nil && r.Granted && missing > 0 {
		return engine.Record{}, acksMissing(name, missing, l.undoClaim(ctx, &c, r.TookOver))
	}
	return r, err
}

// giveBackClaim undoes a claim that does not count. Its caller may have given up,
// or may ask again with the same attempt; but one that took over an unknown outcome
// must leave that behind, which only an abandoned one does.
func (l ledger) undoClaim(ctx context.Context, c *engine.Claim, took bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
	defer cancel()
	name, err := l.name(c.Key)
	if err != nil {
		return err
	}
	s := engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Absent, Lease: c.Lease}
	if took {
		_, err = l.disclaim(ctx, name, &s)
	} else {
		call := l.settleCall(name, &s)
		defer call.free()
		_, err = l.client.Eval(ctx, call)
	}
	return err
}

// Settle implements [engine.Ledger].
func (l ledger) Settle(ctx context.Context, s engine.Settlement) (engine.Outcome, error) {
	name, err := l.checkSettlement(ctx, &s)
	if err != nil {
		return 0, err
	}
	if s.Abandon {
		reply, err := l.disclaim(ctx, name, &s)
		return l.parseOutcome(ctx, name, disclaimScript, reply, err)
	}
	shared := len(s.Result) <= maxSharedResult && l.merges()
	alone := shared && l.settlements.startDirect()
	if shared && !alone {
		reply, err := l.settlements.enqueue(ctx, l.settleItem(name, &s))
		if err != nil {
			return 0, l.explain(ctx, name, settleScript, err)
		}
		if reply.Int != 0 {
			return l.parseOutcome(ctx, name, settleScript, reply, nil)
		}
	}
	reply, missing, err := l.sendSettle(ctx, name, &s)
	if alone {
		l.settlements.endDirect(noAnswer(ctx, err))
	}
	o, err := l.parseOutcome(ctx, name, settleScript, reply, err)
	if err == nil && o == engine.Released && missing > 0 {
		return 0, fail(name, fmt.Sprintf("%d replicas too few have acknowledged in time what became of the work: "+
			"it is kept, but a failover may forget it", missing), engine.ErrUnknown)
	}
	return o, err
}

// Lookup implements [engine.Ledger].
func (l ledger) Lookup(ctx context.Context, key string) (engine.Record, error) {
	if err := l.usable(ctx); err != nil {
		return engine.Record{}, err
	}
	name, err := l.name(key)
	if err != nil {
		return engine.Record{}, err
	}
	c := l.call(lookupScript)
	defer c.free()
	c.keys(l.lockEntry(name), l.resultEntry(name))
	reply, err := l.client.Eval(ctx, c)
	if err != nil {
		return engine.Record{}, l.explain(ctx, name, lookupScript, err)
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
		return nil, func() {} // nobody can claim such a key
	}
	if l.cluster != nil {
		return l.notifier.subscribe(l.settledChannel(name)) // no server knows of all who are in the lobby
	}
	return l.notifier.subscribe(l.settleChannel, l.settledChannel(name))
}

// checkClaim tells why a claim is not to be sent, if it is not, and otherwise the
// name of the record.
func (e *Engine) checkClaim(ctx context.Context, c *engine.Claim) (string, error) {
	if err := e.usable(ctx); err != nil {
		return "", err
	}
	if c.Attempt == "" || c.Lease <= 0 || c.Retain < 0 {
		return "", fmt.Errorf("redis: claim of %q lacks something: set its Key, Attempt, a Lease above zero, and a Retain not below it", c.Key)
	}
	return e.name(c.Key)
}

// checkSettlement tells why a settlement is not to be sent, if it is not, and
// otherwise the name of the record.
func (e *Engine) checkSettlement(ctx context.Context, s *engine.Settlement) (string, error) {
	if err := e.usable(ctx); err != nil {
		return "", err
	}
	why := ""
	switch {
	case s.Attempt == "":
		why = "has no attempt: set its Attempt"
	case s.Outcome == engine.Running || s.Outcome > engine.Unknown:
		why = "is none: set its Outcome to Done, Failed, Unknown or Absent"
	case s.Outcome != engine.Absent && s.Retain <= 0:
		why = "would be forgotten at once: set its Retain above zero"
	case s.Abandon && s.Outcome != engine.Absent:
		why = "says what became of work that was never begun: set its Outcome to Absent"
	case s.Abandon && s.Lease <= 0:
		why = "has no lease: set its Lease above zero"
	}
	if why != "" {
		return "", fmt.Errorf("redis: the settlement of %q as %s %s", s.Key, s.Outcome, why)
	}
	return e.name(s.Key)
}
