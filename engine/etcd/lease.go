package etcd

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

// A lease is a lease of etcd. It keeps one key, and the server deletes the key with it.
//
// It is kept alive only in the raft term in which it was granted. A leader that was stopped
// for longer than a lease, and wakes up after another was elected, revokes the leases
// that it knows, although they were kept alive at the new one (seen in etcd 3.7.3). It does not know
// leases that were granted in a later term. So a renewal in another term moves the key to
// a new lease.
type lease struct {
	id   clientv3.LeaseID
	ttl  int64  // the whole seconds that were asked for; the server may have granted more
	term uint64 // no later than the term of the grant
}

// errOldTerm reports that a lease was granted in an earlier term.
var errOldTerm = errors.New("etcd: the lease was granted by an earlier leader")

// slowKeepAlive is how long a renewal of a lease may take before it is checked that the
// leader was not replaced meanwhile. It is less than an election takes.
const slowKeepAlive = 200 * time.Millisecond

// newLease returns a lease without keys that has just begun.
func (e *Engine) newLease(ctx context.Context, name string, ttl int64) (lease, error) {
	if l, ok := e.leases.take(ttl); ok && e.keepAlive(ctx, name, l) == nil {
		return l, nil
	}
	term := e.recent.term.Load()
	var resp *clientv3.LeaseGrantResponse
	// A grant whose reply was lost leaves a lease without keys, which expires.
	err := e.repeat(ctx, "lease-grant", func(ctx context.Context) (err error) {
		resp, err = e.client.Grant(ctx, ttl)
		return err
	})
	if err != nil {
		return lease{}, explain(ctx, name, "lease-grant", false, err)
	}
	return lease{resp.ID, ttl, term}, nil
}

// keepAlive begins a lease again. It fails with errLeaseGone if the lease has expired, and
// with errOldTerm if the lease must be replaced.
func (e *Engine) keepAlive(ctx context.Context, name string, l lease) error {
	start, term := time.Now(), uint64(0)
	err := e.repeat(ctx, "lease-keep-alive", func(ctx context.Context) error {
		resp, err := e.requestRenewal(ctx, l.id)
		switch {
		case leaseNotFound(err), err == nil && resp.TTL <= 0:
			return errLeaseGone
		case err != nil:
			return err
		}
		term = resp.Header.RaftTerm
		return nil
	})
	if err != nil {
		return explain(ctx, name, "lease-keep-alive", true, err)
	}
	// The member may have been stopped meanwhile, and have answered although another leader
	// was elected. A read needs a majority.
	if term == l.term && time.Since(start) > slowKeepAlive {
		resp, err := e.read(ctx, name, "term", clientv3.OpGet(e.keys.fence()))
		if err != nil {
			return fail(name, "the renewal of a lease could not be confirmed: "+err.Error(), engine.ErrUnknown, err)
		}
		term = resp.Header.RaftTerm
	}
	e.recent.saw(term, 0)
	if term != l.term {
		return errOldTerm
	}
	return nil
}

// left returns how long a lease lasts, rounded up to whole seconds. It is zero if the lease
// has expired.
func (e *Engine) left(ctx context.Context, name string, l lease) (time.Duration, error) {
	if l.id == clientv3.NoLease {
		return 0, nil
	}
	var resp *clientv3.LeaseTimeToLiveResponse
	err := e.repeat(ctx, "lease-time-to-live", func(ctx context.Context) (err error) {
		resp, err = e.client.TimeToLive(ctx, l.id)
		return err
	})
	switch {
	case leaseNotFound(err), err == nil && resp.TTL < 0:
		return 0, nil
	case err != nil:
		return 0, explain(ctx, name, "lease-time-to-live", false, err)
	}
	// The server cuts off the fraction of a second.
	return time.Duration(min(resp.TTL+1, resp.GrantedTTL)) * time.Second, nil
}

// restart makes the lease of a key last for ttl seconds from now, and never shorter
// than before. If it returns another lease, the caller attaches the key to that.
func (e *Engine) restart(ctx context.Context, name string, l lease, ttl int64) (lease, error) {
	switch {
	case l.ttl == ttl:
		err := e.keepAlive(ctx, name, l)
		if errors.Is(err, errOldTerm) {
			return e.newLease(ctx, name, ttl)
		}
		return l, err
	case l.ttl < ttl:
		return e.newLease(ctx, name, ttl)
	}
	// The lease began as a longer one. Beginning it again would keep the key for too long.
	left, err := e.left(ctx, name, l)
	switch {
	case err != nil:
		return lease{}, err
	case left == 0:
		return lease{}, errLeaseGone
	case left > time.Duration(ttl)*time.Second && l.term == e.recent.term.Load(): // left is rounded up
		return l, nil
	}
	return e.newLease(ctx, name, ttl)
}
