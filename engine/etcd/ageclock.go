package etcd

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// ageTTL is the length of a lease that only measures time.
const ageTTL = int64(maxLease / time.Second)

// etcd has no clock that can be read, but it says how much of a lease is left. So a key
// that is attached to a lease of 285 years has an age by the leader's clock, in whole
// seconds. When another leader is elected, the lease begins again, so the age is never too
// high, and may be too low.

// newAge returns a lease that begins now.
func (e *Engine) newAge(ctx context.Context, name string) (lease, error) {
	return e.newLease(ctx, name, ageTTL)
}

// age returns how long ago a lease of newAge began, at least.
func (e *Engine) age(ctx context.Context, name string, id clientv3.LeaseID) (time.Duration, error) {
	left, err := e.left(ctx, name, lease{id: id, ttl: ageTTL})
	if err != nil || left == 0 {
		return 0, err
	}
	return maxLease - left, nil
}
