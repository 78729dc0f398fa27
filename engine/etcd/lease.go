package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A lease is a lease of etcd. It keeps one key, and the server deletes the key with it.
type lease struct {
	id  clientv3.LeaseID
	ttl int64 // the whole seconds that were asked for; the server may have granted more
}

// newLease returns a lease without keys that has just begun.
func (e *Engine) newLease(ctx context.Context, name string, ttl int64) (lease, error) {
	if l, ok := e.leases.take(ttl); ok && e.keepAlive(ctx, name, l.id) == nil {
		return l, nil
	}
	var resp *clientv3.LeaseGrantResponse
	// A grant whose reply was lost leaves a lease without keys, which expires.
	err := e.repeat(ctx, "lease-grant", func(ctx context.Context) (err error) {
		resp, err = e.client.Grant(ctx, ttl)
		return err
	})
	if err != nil {
		return lease{}, explain(ctx, name, "lease-grant", false, err)
	}
	return lease{resp.ID, ttl}, nil
}

// keepAlive begins a lease again. It fails with errLeaseGone if the lease has expired.
//
// The stream is opened directly: the client's KeepAliveOnce repeats a failed request
// without a pause until its context ends.
func (e *Engine) keepAlive(ctx context.Context, name string, id clientv3.LeaseID) error {
	err := e.repeat(ctx, "lease-keep-alive", func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // ends the stream
		stream, err := pb.NewLeaseClient(e.client.ActiveConnection()).LeaseKeepAlive(ctx)
		if err != nil {
			return err
		}
		_ = stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(id)}) // if it fails, Recv returns the reason
		resp, err := stream.Recv()
		switch {
		case leaseNotFound(err), err == nil && resp.TTL <= 0:
			return errLeaseGone
		}
		return err
	})
	if err != nil {
		return explain(ctx, name, "lease-keep-alive", true, err)
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
		return l, e.keepAlive(ctx, name, l.id)
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
	case left > time.Duration(ttl)*time.Second: // left is rounded up
		return l, nil
	}
	return e.newLease(ctx, name, ttl)
}
