package etcd

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

// A callerKey finds the caller's context in one that begin has bounded.
type callerKey struct{}

// callerEnded returns why the caller's own context ended, or nil: the end of the
// engine's timeout is not the caller's doing.
func callerEnded(ctx context.Context) error {
	if caller, ok := ctx.Value(callerKey{}).(context.Context); ok {
		return caller.Err()
	}
	return nil
}

// read makes reads in one transaction, so that they see one revision. They are
// linearizable.
func (e *Engine) read(ctx context.Context, name, operation string, ops ...clientv3.Op) (resp *clientv3.TxnResponse, err error) {
	err = e.repeat(ctx, operation, func(ctx context.Context) error {
		resp, err = e.client.Txn(ctx).Then(ops...).Commit()
		return err
	})
	if err != nil {
		return nil, explain(ctx, name, operation, false, err)
	}
	e.recent.saw(resp.Header.RaftTerm, resp.Header.Revision)
	return resp, nil
}

// A change is a transaction that takes effect if its conditions hold. If they do not, it
// reads instead.
type change struct {
	name      string // of the lock or record
	operation string
	when      []clientv3.Cmp
	do        []clientv3.Op
	otherwise []clientv3.Op
}

// commit sends a change once. The error is errLeaseGone if it attaches a key to a lease
// that has expired; then it has changed nothing.
func (e *Engine) commit(ctx context.Context, c *change) (*clientv3.TxnResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, explain(ctx, c.name, c.operation, false, err)
	}
	start, revision := time.Now(), e.recent.revision.Load()
	resp, err := e.client.Txn(ctx).If(c.when...).Then(c.do...).Else(c.otherwise...).Commit()
	if leaseNotFound(err) {
		err = errLeaseGone
	}
	e.report(c.operation, start, err)
	if noSpace(err) {
		return e.confirm(ctx, c, revision, err)
	}
	if err != nil {
		return nil, explain(ctx, c.name, c.operation, true, err)
	}
	e.recent.saw(resp.Header.RaftTerm, resp.Header.Revision)
	return resp, nil
}

// confirm reads whether a change took effect after the answer that the database is full. A
// member that finds that out while it applies a change has made the change (seen in etcd
// 3.7.3). A member that knew it before has not. revision is from before the change.
func (e *Engine) confirm(ctx context.Context, c *change, revision int64, full error) (resp *clientv3.TxnResponse, err error) {
	puts := slices.DeleteFunc(slices.Clone(c.do), func(op clientv3.Op) bool { return !op.IsPut() })
	var reads []clientv3.Op
	for _, put := range puts {
		reads = append(reads, clientv3.OpGet(string(put.KeyBytes())))
	}
	reads = append(reads, c.otherwise...)
	err = e.repeat(ctx, "confirm", func(ctx context.Context) error {
		resp, err = e.client.Txn(ctx).If(c.when...).Then(reads...).Else(reads...).Commit()
		return err
	})
	if err != nil {
		return nil, fullUnconfirmed(c, err)
	}
	e.recent.saw(resp.Header.RaftTerm, resp.Header.Revision)
	written := writtenAt(puts, resp)
	switch {
	case written > revision:
		resp.Succeeded, resp.Header.Revision, resp.Responses = true, written, resp.Responses[len(puts):]
		return resp, nil
	case !resp.Succeeded: // another caller has changed a key since, perhaps after this change
		return nil, fullUnconfirmed(c, full)
	}
	return nil, explain(ctx, c.name, c.operation, true, full)
}

// writtenAt returns the revision that wrote all the keys as in puts. It is zero if there is none.
// resp begins with their reads.
func writtenAt(puts []clientv3.Op, resp *clientv3.TxnResponse) (revision int64) {
	for i, put := range puts {
		kvs := kvsOf(resp.Responses[i])
		if len(kvs) == 0 || !bytes.Equal(kvs[0].Value, put.ValueBytes()) || i > 0 && kvs[0].ModRevision != revision {
			return 0
		}
		revision = kvs[0].ModRevision
	}
	return revision
}

// repeat calls f, which changes no lock or record, until a member answers. A member
// that does not answer gets only a part of the time, so that there is time for another.
func (e *Engine) repeat(ctx context.Context, operation string, f func(context.Context) error) error {
	for {
		start := time.Now()
		once, cancel := context.WithTimeout(ctx, e.timeout/3)
		err := f(once)
		cancel()
		e.report(operation, start, err)
		if err == nil || !transient(err) || pause(ctx, 20*time.Millisecond) != nil {
			return err
		}
	}
}

// pause waits for up to twice d. It returns an error if ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d/2 + rand.N(d*3/2)) //nolint:gosec // spreads retries, and is no secret
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// report tells observers of a call.
func (e *Engine) report(operation string, start time.Time, err error) {
	if e.calls.Active() {
		e.calls.Call(engine.ServerCall{Operation: operation, Took: time.Since(start), Err: observed(operation, err)})
	}
}

// leaseNotFound reports whether etcd does not know a lease.
func leaseNotFound(err error) bool {
	return err != nil && rpctypes.Error(err) == rpctypes.ErrLeaseNotFound //nolint:errorlint // rpctypes compares by value
}
