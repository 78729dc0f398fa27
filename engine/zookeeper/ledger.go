package zookeeper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A ledger implements [engine.Ledger]. It is a separate type, because the methods Renew,
// List and Watch of Engine are for locks.
type ledger struct{ *Engine }

var (
	_ engine.Ledger = ledger{}
	_ engine.Eraser = ledger{}
)

// Claim implements [engine.Ledger].
func (l ledger) Claim(ctx context.Context, c engine.Claim) (engine.Record, error) {
	if err := l.checkClaim(ctx, &c); err != nil {
		return engine.Record{}, err
	}
	return l.complete(ctx, c.Key, claimCommand(doClaim, &c))
}

// Renew implements [engine.Ledger].
func (l ledger) Renew(ctx context.Context, cs []engine.Claim) []error {
	return each(cs, func(c *engine.Claim) error {
		if err := l.checkClaim(ctx, c); err != nil {
			return err
		}
		_, err := l.run(ctx, recordsDir, c.Key, claimCommand(doRenewClaim, c))
		return err
	})
}

func claimCommand(do string, c *engine.Claim) command {
	return command{
		Do: do, Attempt: pack(c.Attempt), Fingerprint: pack(c.Fingerprint), Lease: millis(c.Lease), Retain: millis(c.Retain), TakeOver: c.TakeOver,
	}
}

// Settle implements [engine.Ledger].
func (l ledger) Settle(ctx context.Context, x engine.Settlement) (engine.Outcome, error) {
	if err := l.checkSettlement(ctx, &x); err != nil {
		return 0, err
	}
	c := command{
		Do: doSettle, Attempt: pack(x.Attempt), Outcome: x.Outcome, Result: x.Result, Retain: millis(x.Retain),
		FromStart: x.FromStart, Lease: millis(x.Lease),
	}
	if x.Abandon {
		c = command{Do: doAbandonClaim, Attempt: pack(x.Attempt), Lease: millis(x.Lease)}
	}
	if len(c.Result) <= maxInline {
		c.Result = slices.Clone(c.Result) // the caller may reuse its buffer before the answer
		return ask[engine.Outcome](ctx, l.Engine, recordsDir, x.Key, c)
	}
	return l.settleLarge(ctx, x.Key, c)
}

// settleLarge settles a claim with a large result, which it stores first.
func (l ledger) settleLarge(ctx context.Context, key string, c command) (engine.Outcome, error) {
	result, deadline := slices.Clone(c.Result), time.Now().Add(l.timeout)
	c.Result, c.Blob = nil, newBlob(c.Attempt, result)
	if err := l.store(ctx, deadline, key, c.Blob, result); err != nil {
		return 0, err
	}
	o, err := askUntil[engine.Outcome](ctx, deadline, l.Engine, recordsDir, key, c)
	if err == nil && o != engine.Released { // no record has the result
		l.discard(key, c.Blob)
	}
	return o, err
}

// Lookup implements [engine.Ledger].
func (l ledger) Lookup(ctx context.Context, key string) (engine.Record, error) {
	if err := l.checkKey(ctx, key); err != nil {
		return engine.Record{}, err
	}
	return l.complete(ctx, key, command{Do: doLookup})
}

// Erase implements [engine.Eraser].
func (l ledger) Erase(ctx context.Context, key string) (engine.Record, error) {
	if err := l.checkKey(ctx, key); err != nil {
		return engine.Record{}, err
	}
	return l.complete(ctx, key, command{Do: doErase})
}

// List implements [engine.Ledger].
func (l ledger) List(ctx context.Context, pattern, cursor string) (records []engine.Record, next string, err error) {
	next, err = l.list(ctx, recordsDir, pattern, cursor, func(s state, now int64) int {
		r := s.(*recordState).lookup(now).Record
		if r.State == engine.Absent {
			return 0
		}
		r.Result = nil
		records = append(records, r)
		return 1
	})
	return records, next, err
}

// Watch implements [engine.Ledger].
func (l ledger) Watch(key string) (wake <-chan struct{}, stop func()) {
	return l.topics.subscribe(recordTopic(key))
}

// checkClaim refuses an invalid claim.
func (l ledger) checkClaim(ctx context.Context, c *engine.Claim) error {
	if c.Attempt == "" || c.Lease <= 0 || c.Retain < 0 {
		return fmt.Errorf("zookeeper: the claim of %q is incomplete: set Key, Attempt, a Lease above zero and a Retain of zero or more", c.Key)
	}
	return l.checkKey(ctx, c.Key)
}

// checkSettlement refuses an invalid settlement.
func (l ledger) checkSettlement(ctx context.Context, x *engine.Settlement) error {
	wrong := ""
	switch {
	case x.Attempt == "":
		wrong = "has no attempt: set its Attempt"
	case x.Outcome == engine.Running || x.Outcome > engine.Unknown:
		wrong = "is not an outcome: set its Outcome to Done, Failed, Unknown or Absent"
	case x.Outcome != engine.Absent && x.Retain <= 0:
		wrong = "would expire at once: set its Retain above zero"
	case x.Abandon && x.Outcome != engine.Absent:
		wrong = "abandons a claim, which has no outcome: set its Outcome to Absent"
	case x.Abandon && x.Lease <= 0:
		wrong = "has no lease: set its Lease above zero"
	}
	if wrong != "" {
		return fmt.Errorf("zookeeper: the settlement of %q as %s %s", x.Key, x.Outcome, wrong)
	}
	return l.checkKey(ctx, x.Key)
}
