package etcd

import (
	"context"
	"errors"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

// Release implements [engine.Engine].
func (e *Engine) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	return e.release(ctx, &r, false)
}

// Abandon implements [engine.Engine].
func (e *Engine) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	return e.release(ctx, &r, true)
}

// release is Release, and with a tombstone Abandon.
func (e *Engine) release(ctx context.Context, r *engine.Request, abandon bool) (engine.ReleaseResult, error) {
	if err := checkRequest(r); err != nil {
		return engine.ReleaseResult{}, err
	}
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		return engine.ReleaseResult{}, err
	}
	defer cancel()
	x := &removal{Engine: e, r: r}
	s, err := x.guess(ctx)
	if err != nil {
		return engine.ReleaseResult{}, err
	}
	if abandon {
		if x.tomb, err = e.newLease(ctx, r.Key, seconds(r.Lease)); err != nil {
			return engine.ReleaseResult{}, err
		}
	}
	for conflicts := 0; ; conflicts++ {
		if conflicts > quietConflicts && pause(ctx, conflictPause) != nil {
			return engine.ReleaseResult{}, conflictError(ctx, r.Key)
		}
		result, next, err := x.try(ctx, s)
		if err != nil || next == nil {
			return result, err
		}
		s = next
	}
}

// A removal is a call of Release or Abandon.
type removal struct {
	*Engine
	r    *engine.Request
	tomb lease // of the tombstone; none for Release
}

// guess returns the state of the lock, or only the hold, as the engine remembers it. If that
// is outdated, try has no effect and reads the lock. A holder has no queue position.
func (x *removal) guess(ctx context.Context) (*state, error) {
	h := x.recent.forget(x.keys.hold(x.r))
	if h == nil || !h.has(x.r.Attempt) {
		return x.readLock(ctx, x.r.Key)
	}
	return &state{name: x.r.Key, holds: []*hold{h}}, nil
}

// try ends the hold and the position of the attempt, if the hold is still as in s. Otherwise it
// returns the new state.
func (x *removal) try(ctx context.Context, s *state) (engine.ReleaseResult, *state, error) {
	r, h := x.r, s.holdOfAttempt(x.r)
	result := engine.ReleaseResult{Outcome: engine.Released}
	deletes, freed := s.dequeue(r, false)
	c := &change{name: r.Key, operation: "release", do: deletes, otherwise: x.lockReads(r.Key)}
	if h == nil {
		result.Outcome = s.outcomeOfOthers()
	} else {
		var unused lease
		if result.Count, unused = c.leave(h, r.Attempt); result.Count == 0 {
			result.Listeners = x.notifier.listeners(r.Key)
		}
		freed = append(freed, unused)
	}
	if x.tomb.id != clientv3.NoLease {
		c.operation = "abandon"
		c.do = append(c.do, clientv3.OpPut(x.keys.tomb(r), "", clientv3.WithLease(x.tomb.id)))
		// A hold that was granted meanwhile must end, too. So must a position.
		if h == nil {
			c.when = append(c.when, notEntered(x.keys.hold(r), s.holdOf(r)))
		}
		if s.waiterOf(r) == nil {
			c.when = append(c.when, absent(x.keys.wait(r)))
		}
	}
	if len(c.do) == 0 {
		return result, nil, nil
	}
	if h == nil { // others may end their holds meanwhile, so the outcome is as of the change
		c.do = append(c.do, x.lockReads(r.Key)...)
	}
	resp, err := x.commit(ctx, c)
	switch {
	case errors.Is(err, errLeaseGone): // the hold has expired, or the lease for the tombstone has
		next, err := x.again(ctx)
		return engine.ReleaseResult{}, next, err
	case err != nil:
		return engine.ReleaseResult{}, nil, err
	case !resp.Succeeded:
		next, err := x.parse(r.Key, resp)
		return engine.ReleaseResult{}, next, err
	}
	x.leases.put(lost(resp, freed)...)
	if h == nil {
		after, err := x.parse(r.Key, resp)
		if err != nil {
			return engine.ReleaseResult{}, nil, err
		}
		result.Outcome = after.outcomeOfOthers()
	}
	return result, nil, nil
}

// outcomeOfOthers is the outcome of a release by an attempt that has no hold.
func (s *state) outcomeOfOthers() engine.Outcome {
	if len(s.holds) == 0 && s.latch == nil {
		return engine.AlreadyFree
	}
	return engine.NotYours
}

// again prepares another try after a lease has expired.
func (x *removal) again(ctx context.Context) (_ *state, err error) {
	if x.tomb.id != clientv3.NoLease {
		if x.tomb, err = x.newLease(ctx, x.r.Key, x.tomb.ttl); err != nil {
			return nil, err
		}
	}
	return x.readLock(ctx, x.r.Key)
}

// notEntered is the condition that an attempt has not got a hold since the hold of its
// holder was read.
func notEntered(key string, h *hold) clientv3.Cmp {
	if h == nil {
		return absent(key)
	}
	return h.unchanged()
}

// leave adds the end of an attempt's hold. It returns how many attempts are left. After the
// last one it also returns the lease, which keeps no key any more.
func (c *change) leave(h *hold, attempt string) (left int, unused lease) {
	c.when = append(c.when, h.unchanged())
	others := slices.DeleteFunc(slices.Clone(h.Attempts), func(a text) bool { return a == text(attempt) })
	if len(others) == 0 {
		c.do = append(c.do, clientv3.OpDelete(h.key, clientv3.WithPrevKV()))
		return 0, h.leased()
	}
	rest := *h
	rest.Attempts = others
	c.do = append(c.do, clientv3.OpPut(h.key, value(&rest), clientv3.WithLease(h.lease)))
	return len(others), lease{}
}
