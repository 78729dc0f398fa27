package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

// Settle implements [engine.Ledger].
func (l ledger) Settle(ctx context.Context, x engine.Settlement) (engine.Outcome, error) {
	if err := checkSettlement(&x); err != nil {
		return 0, err
	}
	ctx, cancel, err := l.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	try := l.trySettle
	if x.Abandon {
		try = l.tryAbandon
	}
	for conflicts := 0; ; conflicts++ {
		if conflicts > quietConflicts && pause(ctx, conflictPause) != nil {
			return 0, conflictError(ctx, x.Key)
		}
		before, err := l.readEntry(ctx, x.Key)
		if err != nil {
			return 0, err
		}
		outcome, err := try(ctx, &x, before)
		switch {
		case errors.Is(err, errLeaseGone):
		case err != nil:
			return 0, err
		case outcome != 0:
			return outcome, nil
		}
	}
}

// settled returns the answer to a settlement that changes nothing, or zero if the attempt
// holds the claim.
func (x *entry) settled(attempt string) engine.Outcome {
	switch {
	case x.record == nil:
		return engine.AlreadyFree
	case x.record.Attempt != text(attempt):
		return engine.NotYours
	case !x.record.running(): // a repeated settlement, whose first reply was lost
		return engine.Released
	case x.claim == nil: // readers may have seen the outcome as unknown already
		return engine.AlreadyFree
	}
	return 0
}

// trySettle replaces the claim by its outcome. The answer is zero if the record has changed
// meanwhile.
func (l ledger) trySettle(ctx context.Context, s *engine.Settlement, x *entry) (engine.Outcome, error) {
	if outcome := x.settled(s.Attempt); outcome != 0 {
		return outcome, nil
	}
	c := &change{name: s.Key, operation: "settle", when: []clientv3.Cmp{x.record.unchanged(), x.claim.unchanged()}}
	c.do = []clientv3.Op{clientv3.OpDelete(x.claim.key)}
	freed, fresh := distinct(x.claim.leased(), x.record.leased()), []lease(nil)
	retain := s.Retain
	if s.FromStart {
		retain -= max(0, time.Since(x.record.began()))
	}
	// With FromStart, the retention may have passed before the work ended.
	if s.Outcome == engine.Absent || retain <= 0 {
		c.do = append(c.do, clientv3.OpDelete(x.record.key))
	} else {
		kept, err := l.retention(ctx, x, seconds(retain))
		if err != nil {
			return 0, err
		}
		fresh = without(without([]lease{kept}, x.claim.leased()), x.record.leased())
		freed = without(freed, kept)
		c.do = append(c.do, settledRecord(x.record, s, kept))
	}
	resp, err := l.commit(ctx, c)
	switch {
	case err != nil:
		l.discard(ctx, err, fresh...)
		return 0, err
	case !resp.Succeeded:
		l.leases.put(fresh...)
		return 0, nil
	}
	l.leases.put(freed...)
	return engine.Released, nil
}

// retention returns a lease for a settled record. It is that of the claim's record if
// that has the right length.
func (l ledger) retention(ctx context.Context, x *entry, ttl int64) (lease, error) {
	if kept := x.record.leased(); kept.ttl == ttl {
		return l.restart(ctx, x.name, kept, ttl)
	}
	return l.newLease(ctx, x.name, ttl)
}

// settledRecord is the change that stores the outcome.
func settledRecord(r *record, s *engine.Settlement, kept lease) clientv3.Op {
	after := r.rewritten()
	after.State, after.terms = s.Outcome.String(), termsOf(kept)
	if s.Outcome != engine.Unknown {
		after.Result = s.Result
	}
	return clientv3.OpPut(r.key, value(&after), clientv3.WithLease(kept.id))
}

// without returns the leases except one.
func without(all []lease, one lease) (others []lease) {
	for _, l := range all {
		if l.id != one.id {
			others = append(others, l)
		}
	}
	return others
}

// tryAbandon undoes the claim of the attempt, and leaves a tombstone that refuses a claim
// that arrives later. The answer is zero if the record has changed meanwhile.
func (l ledger) tryAbandon(ctx context.Context, s *engine.Settlement, x *entry) (engine.Outcome, error) {
	tomb, err := l.newLease(ctx, s.Key, seconds(s.Lease))
	if err != nil {
		return 0, err
	}
	c := &change{name: s.Key, operation: "abandon-claim", when: []clientv3.Cmp{x.unchanged(l.keys)}}
	c.do = []clientv3.Op{clientv3.OpPut(l.keys.claimTomb(s.Key, s.Attempt), "", clientv3.WithLease(tomb.id))}
	outcome := engine.Released
	switch r := x.record; {
	case r == nil || r.Attempt != text(s.Attempt) || !r.running():
		outcome = x.settled(s.Attempt)
	case r.TookOver && r.Retained: // the outcome that it took over is still unknown
		after := r.rewritten()
		after.State = engine.Unknown.String()
		c.do = append(c.do, clientv3.OpDelete(l.keys.claim(s.Key)), clientv3.OpPut(r.key, value(&after), clientv3.WithLease(r.lease)))
	default:
		c.do = append(c.do, clientv3.OpDelete(l.keys.claim(s.Key)), clientv3.OpDelete(r.key))
	}
	resp, err := l.commit(ctx, c)
	if err != nil || !resp.Succeeded {
		return 0, err
	}
	return outcome, nil
}

// checkSettlement refuses an invalid settlement.
func checkSettlement(x *engine.Settlement) error {
	switch {
	case x.Key == "":
		return badSettlement(x, "has no key: set its Key")
	case x.Attempt == "":
		return badSettlement(x, "has no attempt: set its Attempt")
	case x.Outcome == engine.Running || x.Outcome > engine.Unknown:
		return badSettlement(x, "is not an outcome: set its Outcome to Done, Failed, Unknown or Absent")
	case x.Outcome != engine.Absent && x.Retain <= 0:
		return badSettlement(x, "would expire at once: set its Retain above zero")
	case x.Abandon && x.Outcome != engine.Absent:
		return badSettlement(x, "abandons a claim, which has no outcome: set its Outcome to Absent")
	case x.Abandon && x.Lease <= 0:
		return badSettlement(x, "has no lease: set its Lease above zero")
	}
	return nil
}

// badSettlement is the error of an invalid settlement. what completes its sentence.
func badSettlement(x *engine.Settlement, what string) error {
	return fmt.Errorf("etcd: the settlement of %q as %s %s", x.Key, x.Outcome, what)
}
