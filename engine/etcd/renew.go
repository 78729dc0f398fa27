package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

const (
	// renewReads is how many requests of a batch are read in one transaction, with two
	// reads each. etcd allows 128 operations by default.
	renewReads = 60

	// renewals is how many leases of a batch are begun again at the same time.
	renewals = 16

	// renewalLimit is how many renewals of all batches an engine makes at the same time. Without it,
	// a slow cluster would get hundreds of renewals at once, because each slow one makes room for
	// another.
	renewalLimit = 256

	// patience is how long a renewal keeps the next ones of a batch waiting. A member that does not
	// answer would let hundreds of leases expire otherwise.
	patience = 100 * time.Millisecond
)

// patience returns how long a renewal keeps the next ones waiting. An engine with a user has no
// limit: more renewals at the same time open more streams, and each stream logs in.
func (e *Engine) patience() time.Duration {
	if e.client.Username != "" {
		return math.MaxInt64
	}
	return patience
}

// Renew implements [engine.Engine].
func (e *Engine) Renew(ctx context.Context, rs []engine.Request) []error {
	errs := make([]error, len(rs))
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	defer cancel()
	overlapping((len(rs)+renewReads-1)/renewReads, 1, e.patience(), func(i int) {
		from, to := i*renewReads, min((i+1)*renewReads, len(rs))
		e.renewSome(ctx, rs[from:to], errs[from:to])
	})
	return errs
}

// renewEach calls f for the n renewals of a batch, some at the same time. If the context ends, it
// calls f without waiting, and the renewal fails with the context's error.
func (e *Engine) renewEach(ctx context.Context, n int, f func(i int)) {
	overlapping(n, renewals, e.patience(), func(i int) {
		select {
		case e.renewing <- struct{}{}:
			defer func() { <-e.renewing }()
		case <-ctx.Done():
		}
		f(i)
	})
}

// each calls f for n items in chunks, one after the other.
func each(n, chunk int, f func(from, to int)) {
	for from := 0; from < n; from += chunk {
		f(from, min(from+chunk, n))
	}
}

// renewSome reads the holds of some requests together, and then renews each of them.
func (e *Engine) renewSome(ctx context.Context, rs []engine.Request, errs []error) {
	var ops []clientv3.Op
	for i := range rs {
		r := &rs[i]
		if errs[i] = checkRequest(r); errs[i] != nil {
			r = &engine.Request{Key: "-", Holder: "-", Attempt: "-"} // reads nothing, and keeps the places of the others
		}
		revoked := e.keys.revoked(r.Key, &hold{Kind: storedKind(r.Kind), Holder: text(r.Holder), Attempts: []text{text(r.Attempt)}})
		ops = append(ops, clientv3.OpGet(e.keys.hold(r)), clientv3.OpGet(revoked))
	}
	resp, err := e.read(ctx, rs[0].Key, "read-holds", ops...)
	e.renewEach(ctx, len(rs), func(i int) {
		switch {
		case errs[i] != nil:
		case err != nil:
			errs[i] = err
		default:
			errs[i] = e.renew(ctx, &rs[i], readHold(resp, i))
		}
	})
}

// A readHolding is what renewSome has read for a request.
type readHolding struct {
	hold    *hold // nil if the holder has no hold
	revoked *revocation
}

// readHold returns the i-th hold, with its revocation.
func readHold(resp *clientv3.TxnResponse, i int) (h readHolding) {
	for _, kv := range kvsOf(resp.Responses[2*i]) {
		found := &hold{version: versionOf(kv)}
		if json.Unmarshal(kv.Value, found) == nil {
			h.hold = found
		}
	}
	for _, kv := range kvsOf(resp.Responses[2*i+1]) {
		h.revoked = parseRevocation(kv)
	}
	return h
}

// renew restarts the lease of one hold.
func (e *Engine) renew(ctx context.Context, r *engine.Request, found readHolding) error {
	for {
		h := found.hold
		if h == nil || !h.has(r.Attempt) {
			return lossReason(r, found.revoked)
		}
		l, err := e.restart(ctx, r.Key, h.leased(), seconds(r.Lease))
		switch {
		case errors.Is(err, errLeaseGone):
			return fail(r.Key, "renew: the lease has expired", engine.ErrNotHolder)
		case err != nil || l == h.leased():
			return err
		}
		renewed := *h
		renewed.terms = termsOf(l)
		resp, err := e.commit(ctx, &change{
			name: r.Key, operation: "renew", when: []clientv3.Cmp{h.unchanged()},
			do:        []clientv3.Op{clientv3.OpPut(h.key, value(&renewed), clientv3.WithLease(l.id))},
			otherwise: []clientv3.Op{clientv3.OpGet(h.key), clientv3.OpGet(e.keys.revoked(r.Key, h))},
		})
		if err != nil || resp.Succeeded {
			return err
		}
		found = readHold(resp, 0)
	}
}

// lossReason returns why r cannot be renewed.
func lossReason(r *engine.Request, revoked *revocation) error {
	if revoked.of(r) {
		return fail(r.Key, "renew: an operator has released the lock by force", engine.ErrRevoked)
	}
	return fail(r.Key, "renew: the attempt does not hold the lock", engine.ErrNotHolder)
}
