package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

// fenceBits is how many bits of a fence are below the revision. They are the reserve of
// each fence: 15 fences for handovers within the holder's process, which asks for 8.
const fenceBits = 4

// fences are the fences of all locks and records. A fence is the revision of etcd at
// which the lock was granted, shifted, plus a base. The revision rises with every change. The
// base rises when a fence is raised, or when a request reserves more fences than the shift
// leaves.
type fences struct {
	base     uint64
	modified int64 // the revision at which the base was written; zero if never
}

// fenceAt returns the fence of a grant at a revision.
func fenceAt(base uint64, revision int64) uint64 { return base + uint64(revision)<<fenceBits } //nolint:gosec // revisions are above zero

// parseFences reads the base, and remembers it.
func (e *Engine) parseFences(kvs []*mvccpb.KeyValue) (f fences) {
	if len(kvs) > 0 {
		f.base, _ = strconv.ParseUint(string(kvs[0].Value), 10, 64)
		f.modified = kvs[0].ModRevision
	}
	e.recent.fences.Store(&f)
	return f
}

// unchanged is the condition that the base has not been changed.
func (f *fences) unchanged(k keyspace) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(k.fence()), "=", f.modified)
}

// reserve returns the change that raises the base, if the reserve is more than the shift leaves.
func (f *fences) reserve(k keyspace, reserve uint64) []clientv3.Op {
	if reserve < 1<<fenceBits {
		return nil
	}
	return []clientv3.Op{clientv3.OpPut(k.fence(), strconv.FormatUint(f.base+reserve, 10))}
}

// Raise implements [engine.Fencer].
func (e *Engine) Raise(ctx context.Context, r engine.Request, fence uint64) error {
	if family(r.Kind) != engine.Exclusive {
		return fmt.Errorf("etcd: the fence of a %s lock cannot be raised: %w", r.Kind, errors.ErrUnsupported)
	}
	if err := checkRequest(&r); err != nil {
		return err
	}
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	s, err := e.readLock(ctx, r.Key)
	for err == nil {
		h := s.holdOfAttempt(&r)
		if h == nil {
			return fail(r.Key, "raise: the attempt does not hold the lock", engine.ErrNotHolder)
		}
		var done bool
		if done, s, err = e.raise(ctx, &r, s, h, fence); done {
			return nil
		}
	}
	return err
}

// raise makes one try. It returns the new state if the lock has changed meanwhile.
func (e *Engine) raise(ctx context.Context, r *engine.Request, s *state, h *hold, fence uint64) (done bool, _ *state, _ error) {
	raised := *h
	raised.Fence = max(h.fence(), fence)
	c := &change{name: r.Key, operation: "raise", when: []clientv3.Cmp{h.unchanged(), s.fences.unchanged(e.keys)}}
	c.do = append(c.do, clientv3.OpPut(h.key, value(&raised), clientv3.WithLease(h.lease)))
	// The next grant has a revision above that of this state.
	if top, next := raised.Fence+r.FenceReserve, fenceAt(s.fences.base, s.revision+1); top >= next {
		c.do = append(c.do, clientv3.OpPut(e.keys.fence(), strconv.FormatUint(s.fences.base+(top-next)+1, 10)))
	}
	c.otherwise = e.lockReads(r.Key)
	resp, err := e.commit(ctx, c)
	switch {
	case errors.Is(err, errLeaseGone):
		s, err = e.readLock(ctx, r.Key)
		return false, s, err
	case err != nil:
		return false, nil, err
	case resp.Succeeded:
		return true, nil, nil
	}
	s, err = e.parse(r.Key, resp)
	return false, s, err
}
