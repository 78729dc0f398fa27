package etcd

import (
	"context"
	"math"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

const (
	// page is how many keys List reads at once. A lock has a key for each hold and two for
	// each position.
	page = 500

	// lookups is how many leases are looked up at the same time.
	lookups = 16
)

// Inspect implements [engine.Inspector].
func (e *Engine) Inspect(ctx context.Context, key string) (engine.Lock, error) {
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		return engine.Lock{}, err
	}
	defer cancel()
	s, err := e.readLock(ctx, key)
	if err != nil {
		return engine.Lock{}, err
	}
	return e.describe(ctx, s)
}

// describe returns the lock as operators see it.
func (e *Engine) describe(ctx context.Context, s *state) (engine.Lock, error) {
	if s.latch != nil {
		return engine.Lock{}, fail(s.name, "the key holds a latch, which is not a lock", engine.ErrKind)
	}
	l := engine.Lock{Key: s.name, Listeners: e.notifier.listeners(s.name)}
	var leases []lease
	if w := s.writer(); w != nil { // the writer first
		l.Holders, leases = append(l.Holders, describeHold(w)), append(leases, w.leased())
	}
	for _, h := range s.holds {
		if h.Kind != engine.Write.String() {
			l.Holders, leases = append(l.Holders, describeHold(h)), append(leases, h.leased())
		}
	}
	if len(l.Holders) > 0 {
		l.Kind = l.Holders[0].Kind
	}
	for _, w := range s.inspectQueue() {
		l.Waiters, leases = append(l.Waiters, engine.Waiter{Name: string(w.Holder), Kind: kindOf(w.Kind)}), append(leases, w.turn.leased())
		// Only its queue tells a fair lock from an exclusive one.
		if queue := family(kindOf(w.Kind)); queue == engine.Exclusive {
			l.Kind = engine.Fair
		} else if len(l.Holders) == 0 {
			l.Kind = queue
		}
	}
	lefts, err := e.lefts(ctx, s.name, leases)
	if err != nil {
		return engine.Lock{}, err
	}
	return withLefts(l, lefts), nil
}

func describeHold(h *hold) engine.Holder {
	return engine.Holder{Name: string(h.Holder), Kind: h.kind(), Count: len(h.Attempts), Fence: h.fence()}
}

// inspectQueue returns the positions that have not expired. A held lock has positions of
// its own family only, and a free one those of one family.
func (s *state) inspectQueue() (all []*waiter) {
	for _, kind := range []engine.Kind{engine.Exclusive, engine.Read, engine.Permit} {
		if len(s.holds) > 0 && family(s.holds[0].kind()) != kind {
			continue
		}
		for _, w := range s.queue(&engine.Request{Kind: kind}) {
			if !w.expired() {
				all = append(all, w)
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}

// lefts returns how long each lease lasts.
func (e *Engine) lefts(ctx context.Context, name string, leases []lease) ([]time.Duration, error) {
	lefts, errs := make([]time.Duration, len(leases)), make([]error, len(leases))
	parallel(len(leases), lookups, func(i int) { lefts[i], errs[i] = e.left(ctx, name, leases[i]) })
	return lefts, firstError(errs)
}

// List implements [engine.Inspector]. The cursor is the name after which to continue.
func (e *Engine) List(ctx context.Context, pattern, cursor string) (locks []engine.Lock, next string, err error) {
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		return nil, "", err
	}
	defer cancel()
	names, next, err := e.names(ctx, e.keys.locks(), pattern, cursor)
	if err != nil {
		return nil, "", err
	}
	found, errs := make([]engine.Lock, len(names)), make([]error, len(names))
	parallel(len(names), lookups, func(i int) {
		var s *state
		if s, errs[i] = e.readLock(ctx, names[i]); errs[i] == nil && s.latch == nil && len(s.holds) > 0 {
			found[i], errs[i] = e.describe(ctx, s)
		}
	})
	if err := firstError(errs); err != nil {
		return nil, "", err
	}
	for _, l := range found {
		if len(l.Holders) > 0 {
			locks = append(locks, l)
		}
	}
	return locks, next, nil
}

// parallel calls f for n items, some at the same time, and waits.
func parallel(n, limit int, f func(i int)) { overlapping(n, limit, math.MaxInt64, f) }

// overlapping is parallel, but a call that takes longer than patience makes room for another.
func overlapping(n, limit int, patience time.Duration, f func(i int)) {
	slots := make(chan struct{}, limit)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			leave := sync.OnceFunc(func() { <-slots })
			defer leave()
			defer time.AfterFunc(patience, leave).Stop()
			f(i)
		})
	}
	all.Wait()
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// names returns the names in one page of keys below a prefix that match a pattern. The
// keys are read without their values.
func (e *Engine) names(ctx context.Context, prefix, pattern, cursor string) (names []string, next string, err error) {
	from := prefix
	if cursor != "" { // after all keys of that name
		from = clientv3.GetPrefixRangeEnd(prefix + escapes.Replace(cursor) + "/")
	}
	resp, err := e.read(ctx, pattern, "list", clientv3.OpGet(from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)),
		clientv3.WithLimit(page), clientv3.WithKeysOnly()))
	if err != nil {
		return nil, "", err
	}
	last := ""
	for _, kv := range kvsOf(resp.Responses[0]) {
		escaped, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), prefix), "/")
		name := unescapes.Replace(escaped)
		if name == last && last != "" {
			continue
		}
		if last = name; engine.Match(pattern, name) {
			names = append(names, name)
		}
	}
	if resp.Responses[0].GetResponseRange().GetMore() {
		next = last
	}
	return names, next, nil
}

// withLefts sets how long the holds and positions last, in that order. A hold whose lease
// has expired since it was read is left out.
func withLefts(l engine.Lock, lefts []time.Duration) engine.Lock {
	var holders []engine.Holder
	for i, h := range l.Holders {
		if h.Left = lefts[i]; h.Left > 0 {
			holders = append(holders, h)
		}
	}
	var waiters []engine.Waiter
	for i, w := range l.Waiters {
		if w.Left = lefts[len(l.Holders)+i]; w.Left > 0 {
			waiters = append(waiters, w)
		}
	}
	l.Holders, l.Waiters = holders, waiters
	return l
}
