package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

const (
	// minRevocation is the shortest time for which renewals of former holders fail with
	// ErrRevoked.
	minRevocation = time.Minute

	// revocationWrites is how many revocations are written in one transaction.
	revocationWrites = 100
)

// A revocation is the value of the key that says that a hold was released by force.
type revocation struct {
	Holder   text   `json:"holder"`
	Attempts []text `json:"attempts"`
}

func parseRevocation(kv *mvccpb.KeyValue) *revocation {
	r := new(revocation)
	if json.Unmarshal(kv.Value, r) != nil {
		return nil
	}
	return r
}

// of reports whether the revocation is that of r's attempt.
func (x *revocation) of(r *engine.Request) bool {
	return x != nil && x.Holder == text(r.Holder) && slices.Contains(x.Attempts, text(r.Attempt))
}

// concerns reports whether a holder or an attempt belongs to the client.
func (x *revocation) concerns(client string) bool {
	for _, name := range append([]text{x.Holder}, x.Attempts...) {
		if strings.HasPrefix(string(name), client+":") {
			return true
		}
	}
	return false
}

// ForceRelease implements [engine.Inspector].
func (e *Engine) ForceRelease(ctx context.Context, key string) (engine.Lock, error) {
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		return engine.Lock{}, err
	}
	defer cancel()
	for conflicts := 0; ; conflicts++ {
		if conflicts > quietConflicts && pause(ctx, conflictPause) != nil {
			return engine.Lock{}, conflictError(ctx, key)
		}
		s, err := e.readLock(ctx, key)
		if err != nil {
			return engine.Lock{}, err
		}
		before, err := e.describe(ctx, s)
		if err != nil {
			return engine.Lock{}, err
		}
		done, err := e.forceRelease(ctx, s, before)
		if done || err != nil && !errors.Is(err, errLeaseGone) {
			return before, err
		}
	}
}

// forceRelease makes one try. It is not done if the lock was granted meanwhile. A full database
// accepts only changes that delete keys. Then no revocation is written, because an operator must be
// able to free a lock, and the next renewals of the former holders fail with ErrNotHolder.
func (e *Engine) forceRelease(ctx context.Context, s *state, before engine.Lock) (done bool, err error) {
	if len(s.holds) == 0 && len(s.waiters) == 0 {
		return true, nil
	}
	revocations, err := e.revocations(ctx, s, before)
	if err == nil {
		done, err = e.endHolds(ctx, s, revocations)
	}
	if errors.Is(err, engine.ErrFull) {
		return e.endHolds(ctx, s, nil)
	}
	return done, err
}

// endHolds ends the holds, or empties the queue if there are none. The transaction also writes the
// revocations. Those that do not fit into it are written twice: before it, so that they exist when
// the holds end, and after it, to notify the clients. A revocation has no effect while its hold
// exists, because a renewal finds the hold first.
func (e *Engine) endHolds(ctx context.Context, s *state, revocations []clientv3.Op) (done bool, err error) {
	lock, ends := e.keys.lock(s.name), []string{"hold/"}
	if len(s.holds) == 0 {
		ends = []string{"wait/", "turn/"}
	}
	n := min(len(revocations), revocationWrites)
	rest := revocations[n:]
	if err := e.write(ctx, s.name, rest); err != nil {
		return false, err
	}
	c := &change{name: s.name, operation: "force-release", do: revocations[:n:n]}
	for _, end := range ends {
		c.do = append(c.do, clientv3.OpDelete(lock+end, clientv3.WithPrefix()))
	}
	c.when = []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(lock+"hold/").WithPrefix(), "<", s.revision+1)}
	resp, err := e.commit(ctx, c)
	if err != nil || !resp.Succeeded {
		return false, err
	}
	_ = e.write(ctx, s.name, rest) // the holds have ended, so a failure costs only a notification
	return true, nil
}

// revocations returns the changes that write a revocation for each hold.
func (e *Engine) revocations(ctx context.Context, s *state, before engine.Lock) (puts []clientv3.Op, _ error) {
	if len(s.holds) == 0 {
		return nil, nil
	}
	var left time.Duration
	for _, h := range before.Holders {
		left = max(left, min(h.Left, maxLease/4))
	}
	// A revocation outlasts the next renewals of its holder: it lasts three times as long as
	// the longest lease left, and a minute more.
	l, err := e.newLease(ctx, s.name, seconds(minRevocation+3*left))
	if err != nil {
		return nil, err
	}
	for _, h := range s.holds {
		revoked := value(&revocation{h.Holder, h.Attempts})
		puts = append(puts, clientv3.OpPut(e.keys.revoked(s.name, h), revoked, clientv3.WithLease(l.id)))
	}
	return puts, nil
}

// write makes changes without a condition, in several transactions if there are many.
func (e *Engine) write(ctx context.Context, name string, ops []clientv3.Op) (err error) {
	each(len(ops), revocationWrites, func(from, to int) {
		if err == nil {
			_, err = e.commit(ctx, &change{name: name, operation: "revoke", do: ops[from:to]})
		}
	})
	return err
}

// Watch implements [engine.Inspector]. Forced releases are rare, so one watch sees those of
// all clients.
func (e *Engine) Watch(id string) (wake <-chan struct{}, stop func()) {
	return e.notifier.subscribe(watchID{e.keys.revocations(), revocationEvents{}}, &subscription{client: id})
}

// revocationEvents are forced releases.
type revocationEvents struct{}

func (revocationEvents) options() []clientv3.OpOption {
	return []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithFilterDelete()}
}

func (revocationEvents) examine(_ context.Context, _ *Engine, events []*clientv3.Event) func(*subscription) bool {
	return func(s *subscription) bool {
		return slices.ContainsFunc(events, func(event *clientv3.Event) bool {
			x := parseRevocation(event.Kv)
			return x != nil && x.concerns(s.client)
		})
	}
}
