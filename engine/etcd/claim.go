package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

// Claim implements [engine.Ledger].
func (l ledger) Claim(ctx context.Context, c engine.Claim) (engine.Record, error) {
	if err := checkClaim(&c); err != nil {
		return engine.Record{}, err
	}
	ctx, cancel, err := l.begin(ctx)
	if err != nil {
		return engine.Record{}, err
	}
	defer cancel()
	x, err := l.readEntry(ctx, c.Key)
	for conflicts := 0; err == nil; conflicts++ {
		if conflicts > quietConflicts && pause(ctx, conflictPause) != nil {
			return engine.Record{}, conflictError(ctx, c.Key)
		}
		var r engine.Record
		if r, x, err = l.tryClaim(ctx, &c, x); err == nil && x == nil {
			return r, nil
		}
		if errors.Is(err, errLeaseGone) { // a claim or a record has just expired
			x, err = l.readEntry(ctx, c.Key)
		}
	}
	return engine.Record{}, err
}

// tryClaim grants the claim, or returns the record that prevents it. If the record has
// changed meanwhile, it returns the new entry. The tombstone comes first: it refuses the
// attempt even if the key is free.
func (l ledger) tryClaim(ctx context.Context, c *engine.Claim, x *entry) (engine.Record, *entry, error) {
	switch r, state := x.record, x.state(); {
	case x.tombs[escapes.Replace(c.Attempt)]:
		return engine.Record{}, nil, abandonedError(c.Key)
	case r == nil:
		return l.grant(ctx, c, x)
	case !r.matches(c.Fingerprint):
		return engine.Record{}, nil, fail(c.Key, "the key was claimed with another fingerprint", engine.ErrMismatch)
	case state == engine.Running && r.Attempt == text(c.Attempt): // repeated, because the first reply was lost
		return l.grantAgain(ctx, c, x)
	case state == engine.Unknown && c.TakeOver:
		return l.grant(ctx, c, x)
	}
	r, err := l.snapshot(ctx, x)
	return r, nil, err
}

// grant starts a claim with a new fence, over an unknown outcome if there is one.
func (l ledger) grant(ctx context.Context, c *engine.Claim, x *entry) (engine.Record, *entry, error) {
	claimed, retained, err := l.claimLeases(ctx, c)
	if err != nil {
		return engine.Record{}, nil, err
	}
	r := &record{
		Attempt: text(c.Attempt), Fingerprint: text(c.Fingerprint), State: engine.Running.String(), Began: time.Now().UnixNano(),
		Base: x.fences.base, terms: termsOf(retained), Retained: c.Retain > 0,
	}
	if old := x.record; old != nil {
		r.TookOver, r.Began = true, max(r.Began, old.Began+1)
		if r.Fingerprint == "" {
			r.Fingerprint = old.Fingerprint
		}
	}
	resp, err := l.commit(ctx, &change{
		name: c.Key, operation: "claim",
		when: []clientv3.Cmp{
			clientv3.Compare(clientv3.ModRevision(l.keys.record(c.Key)).WithPrefix(), "<", x.revision+1), x.fences.unchanged(l.keys),
		},
		do: []clientv3.Op{
			clientv3.OpPut(l.keys.claim(c.Key), value(&claimMark{terms: termsOf(claimed)}), clientv3.WithLease(claimed.id)),
			clientv3.OpPut(l.keys.result(c.Key), value(r), clientv3.WithLease(retained.id)),
		},
		otherwise: l.entryReads(c.Key),
	})
	switch {
	case err != nil:
		l.discard(ctx, err, distinct(claimed, retained)...)
		return engine.Record{}, nil, err
	case !resp.Succeeded:
		l.leases.put(distinct(claimed, retained)...)
		next, err := l.parseEntry(c.Key, resp)
		return engine.Record{}, next, err
	}
	r.modified = resp.Header.Revision
	granted := &entry{name: c.Key, record: r, claim: &claimMark{}}
	// The leader was replaced since it began a lease, which may end early. renew moves the claim
	// and the record to others.
	if term := resp.Header.RaftTerm; term != claimed.term || term != retained.term {
		if err := l.renew(ctx, c); err != nil {
			return engine.Record{}, nil, fail(c.Key, "the claim was granted during an election, and may be lost: "+err.Error(), engine.ErrUnknown, err)
		}
	}
	return granted.granted(c.Lease), nil, nil
}

// claimLeases returns the leases of the claim and of its record. A record that is not
// retained for longer than the claim shares its lease, so that both end together.
func (l ledger) claimLeases(ctx context.Context, c *engine.Claim) (claimed, retained lease, err error) {
	if claimed, err = l.newLease(ctx, c.Key, seconds(c.Lease)); err != nil || c.Retain <= c.Lease {
		return claimed, claimed, err
	}
	retained, err = l.newLease(ctx, c.Key, seconds(c.Retain))
	return claimed, retained, err
}

// granted returns the record of a granted claim.
func (x *entry) granted(left time.Duration) engine.Record {
	r := x.outline()
	r.Granted, r.TookOver, r.Left = true, x.record.TookOver, left
	return r
}

// grantAgain renews the claim of a repeated attempt.
func (l ledger) grantAgain(ctx context.Context, c *engine.Claim, x *entry) (engine.Record, *entry, error) {
	next, err := l.renewEntry(ctx, c, x)
	if err != nil || next != nil {
		return engine.Record{}, next, err
	}
	left := c.Lease
	if x.claim.TTL > seconds(c.Lease) {
		if left, err = l.left(ctx, c.Key, x.claim.leased()); err != nil {
			return engine.Record{}, nil, err
		}
	}
	return x.granted(max(left, c.Lease)), nil, nil
}

// renewEntry restarts the lease of a claim and the retention of its record. It shortens
// neither. If the record has changed meanwhile, it returns the new entry.
func (l ledger) renewEntry(ctx context.Context, c *engine.Claim, x *entry) (next *entry, err error) {
	claimed, retained := x.claim.leased(), x.record.leased()
	shared := claimed.id == retained.id
	switch {
	case shared && c.Retain <= c.Lease:
		claimed, err = l.restart(ctx, c.Key, claimed, seconds(c.Lease))
		retained = claimed
	case shared:
		retained, err = l.newLease(ctx, c.Key, seconds(c.Retain))
	default: // the record must not end before the claim
		retained, err = l.restart(ctx, c.Key, retained, seconds(max(c.Lease, c.Retain)))
	}
	if err == nil && retained != claimed {
		claimed, err = l.restart(ctx, c.Key, claimed, seconds(c.Lease))
	}
	fresh := without(without(distinct(claimed, retained), x.claim.leased()), x.record.leased())
	switch {
	case err != nil:
		l.discard(ctx, nil, fresh...) // they have no keys, even if the outcome of the renewal is unknown
		return nil, err
	case claimed == x.claim.leased() && retained == x.record.leased():
		return nil, nil
	}
	r := x.record.rewritten()
	r.terms, r.Retained = termsOf(retained), r.Retained || c.Retain > 0
	resp, err := l.commit(ctx, &change{
		name: c.Key, operation: "renew-claim", when: []clientv3.Cmp{x.record.unchanged(), x.claim.unchanged()},
		do: []clientv3.Op{
			clientv3.OpPut(x.claim.key, value(&claimMark{terms: termsOf(claimed)}), clientv3.WithLease(claimed.id)),
			clientv3.OpPut(x.record.key, value(&r), clientv3.WithLease(retained.id)),
		},
		otherwise: l.entryReads(c.Key),
	})
	if err == nil && resp.Succeeded {
		return nil, nil
	}
	if err != nil {
		l.discard(ctx, err, fresh...)
		return nil, err
	}
	l.leases.put(fresh...)
	return l.parseEntry(c.Key, resp)
}

// distinct returns the leases without the repeated one.
func distinct(a, b lease) []lease {
	if a == b {
		return []lease{a}
	}
	return []lease{a, b}
}

// checkClaim refuses an invalid claim.
func checkClaim(c *engine.Claim) error {
	if c.Key == "" || c.Attempt == "" || c.Lease <= 0 || c.Retain < 0 {
		return fmt.Errorf("etcd: the claim of %q is incomplete: set Key, Attempt, a Lease above zero and a Retain of zero or more", c.Key)
	}
	return nil
}
