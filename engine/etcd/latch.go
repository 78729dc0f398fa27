package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

// A latch is the value of a latch's key.
type latch struct {
	version  `json:"-"`
	Limit    int    `json:"limit"` // the first request's; later requests do not change it
	Attempts []text `json:"attempts,omitempty"`
	Open     bool   `json:"open,omitempty"` // then the attempts are dropped
	terms
}

func parseLatch(kv *mvccpb.KeyValue) (*latch, error) {
	l := &latch{version: versionOf(kv)}
	return l, json.Unmarshal(kv.Value, l)
}

// left returns how many counts are left.
func (l *latch) left() int {
	if l.Open {
		return 0
	}
	return l.Limit - len(l.Attempts)
}

// counted returns the latch after a count of attempt. An attempt counts once, and an empty
// one does not count.
func (l latch) counted(attempt string) latch {
	if l.Open || attempt == "" || slices.Contains(l.Attempts, text(attempt)) {
		return l
	}
	l.Attempts = append(slices.Clone(l.Attempts), text(attempt))
	if len(l.Attempts) >= l.Limit {
		l.Open, l.Attempts = true, nil
	}
	return l
}

// CountDown implements [engine.Latcher]. Every call extends the lease of the latch, even
// one that only looks.
func (e *Engine) CountDown(ctx context.Context, r engine.Request) (left int, err error) {
	if err := checkCountDown(&r); err != nil {
		return 0, err
	}
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	for conflicts := 0; ; conflicts++ {
		if conflicts > quietConflicts && pause(ctx, conflictPause) != nil {
			return 0, conflictError(ctx, r.Key)
		}
		s, err := e.readLock(ctx, r.Key)
		if err != nil {
			return 0, err
		}
		if len(s.holds) > 0 {
			return 0, kindError(r.Key, s.held(), engine.Latch)
		}
		left, done, err := e.countDown(ctx, &r, s)
		if done || err != nil && !errors.Is(err, errLeaseGone) {
			return left, err
		}
	}
}

// countDown makes one try. It is not done if the latch has changed meanwhile.
func (e *Engine) countDown(ctx context.Context, r *engine.Request, s *state) (left int, done bool, err error) {
	c := &change{name: r.Key, operation: "count-down"}
	before := latch{Limit: r.Limit}
	var l lease
	if s.latch == nil {
		c.when = []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(e.keys.lock(r.Key)).WithPrefix(), "<", s.revision+1)}
		l, err = e.newLease(ctx, r.Key, seconds(r.Lease))
	} else {
		before = *s.latch
		c.when = []clientv3.Cmp{s.latch.unchanged()}
		l, err = e.restart(ctx, r.Key, before.terms.leased(before.lease), seconds(r.Lease))
	}
	if err != nil {
		return 0, false, err
	}
	after := before.counted(r.Attempt)
	if s.latch != nil && after.left() == before.left() && l.id == before.lease {
		return after.left(), true, nil
	}
	after.terms = termsOf(l)
	c.do = []clientv3.Op{clientv3.OpPut(e.keys.latch(r.Key), value(&after), clientv3.WithLease(l.id))}
	resp, err := e.commit(ctx, c)
	if err != nil {
		return 0, false, err
	}
	return after.left(), resp.Succeeded, nil
}
