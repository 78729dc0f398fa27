package standby

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// combinedCapabilities returns what both sides support.
func (e *Engine) combinedCapabilities() engine.Capabilities {
	a, b := e.shared[0].caps, e.shared[1].caps
	c := engine.Capabilities{
		Kinds:     slices.DeleteFunc(slices.Clone(a.Kinds), func(k engine.Kind) bool { return !slices.Contains(b.Kinds, k) }),
		LateGrant: max(a.LateGrant, b.LateGrant), LongestLease: e.longest,
		Prober: prober{e},
	}
	if a.Notifier != nil && b.Notifier != nil {
		c.Notifier = notifier{e}
	}
	if a.Latcher != nil && b.Latcher != nil {
		c.Latcher = latcher{e}
	}
	if a.Quotas != nil && b.Quotas != nil {
		c.Quotas = quotas{e}
	}
	if a.Inspector != nil && b.Inspector != nil {
		c.Inspector = inspector{e}
	}
	if a.Ledger != nil && b.Ledger != nil {
		c.Ledger = ledger{e}
	}
	if a.Eraser != nil && b.Eraser != nil {
		c.Eraser = ledger{e}
	}
	if a.Shard != nil || b.Shard != nil {
		c.Shard = e.shard
	}
	if a.Observe != nil || b.Observe != nil {
		c.Observe = e.observe
	}
	if a.Node != nil || b.Node != nil {
		c.Node = e.node
	}
	return c
}

// shard returns the shard on the active side.
func (e *Engine) shard(key string) int {
	if shard := e.view.Load().caps.Shard; shard != nil {
		return shard(key)
	}
	return 0
}

// observe reports the requests to the servers of both sides.
func (e *Engine) observe(f func(engine.ServerCall)) (stop func()) {
	var stops []func()
	for _, s := range e.shared {
		if s.caps.Observe != nil {
			stops = append(stops, s.caps.Observe(func(c engine.ServerCall) {
				c.Node = cmp.Or(c.Node, string(s.side))
				f(c)
			}))
		}
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// node returns the node on the active side.
func (e *Engine) node(key string) string {
	if node := e.view.Load().caps.Node; node != nil {
		return node(key)
	}
	return ""
}

type notifier struct{ *Engine }

// Notify implements [engine.Notifier]. It listens on all sides, because a caller may
// wait across a switch.
func (n notifier) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	return n.merge(nil, func(s *sideState) (<-chan struct{}, func()) { return s.caps.Notifier.Notify(r) })
}

// merge listens on all sides, and to switches if nextSwitch is not nil. Its goroutine
// ends with stop, which does not wait for it.
func (e *Engine) merge(nextSwitch func() <-chan struct{}, listen func(*sideState) (<-chan struct{}, func())) (wake <-chan struct{}, stop func()) {
	var switched <-chan struct{}
	if nextSwitch != nil {
		switched = nextSwitch()
	}
	a, stopA := listen(e.shared[0])
	b, stopB := listen(e.shared[1])
	c, stopC := listen(e.local)
	merged, stopped := make(chan struct{}, 1), make(chan struct{})
	go func() {
		for {
			select {
			case <-stopped:
				return
			case <-a:
			case <-b:
			case <-c:
			case <-switched:
				switched = nextSwitch()
			}
			select {
			case merged <- struct{}{}:
			default: // the last notification is unread, so they merge
			}
		}
	}()
	return merged, sync.OnceFunc(func() {
		stopA()
		stopB()
		stopC()
		close(stopped)
	})
}

type latcher struct{ *Engine }

// CountDown implements [engine.Latcher]. A latch lives on the active side, and starts
// again after a switch. It has no holder, so a switch need not wait for it.
func (l latcher) CountDown(ctx context.Context, r engine.Request) (left int, err error) {
	v := l.view.Load()
	if err := v.refusal(time.Now()); err != nil {
		return 0, err
	}
	return v.caps.Latcher.CountDown(ctx, r)
}

type quotas struct{ *Engine }

// Take implements [engine.Quotas]. A quota lives on the active side, and starts again after
// a switch.
func (q quotas) Take(ctx context.Context, r engine.Quota) (engine.Usage, error) {
	v := q.view.Load()
	if err := v.refusal(time.Now()); err != nil {
		return engine.Usage{}, err
	}
	use, err := v.caps.Quotas.Take(ctx, r)
	use.Local = v.side == Local
	return use, err
}

// Return implements [engine.Quotas]. A unit that was taken on another side is lost.
func (q quotas) Return(ctx context.Context, r engine.Quota) (bool, error) {
	v := q.view.Load()
	if err := v.refusal(time.Now()); err != nil {
		return false, err
	}
	return v.caps.Quotas.Return(ctx, r)
}

// An inspector inspects the active side.
type inspector struct{ *Engine }

func (i inspector) inner() engine.Inspector { return i.view.Load().caps.Inspector }

// List implements [engine.Inspector].
func (i inspector) List(ctx context.Context, pattern, cursor string) ([]engine.Lock, string, error) {
	return i.inner().List(ctx, pattern, cursor)
}

// Inspect implements [engine.Inspector].
func (i inspector) Inspect(ctx context.Context, key string) (engine.Lock, error) {
	return i.inner().Inspect(ctx, key)
}

// ForceRelease implements [engine.Inspector].
func (i inspector) ForceRelease(ctx context.Context, key string) (engine.Lock, error) {
	return i.inner().ForceRelease(ctx, key)
}

// Register implements [engine.Inspector].
func (i inspector) Register(ctx context.Context, m engine.Member, life time.Duration) error {
	return i.inner().Register(ctx, m, life)
}

// Members implements [engine.Inspector].
func (i inspector) Members(ctx context.Context, ids []string) ([]engine.Member, error) {
	return i.inner().Members(ctx, ids)
}

// Watch implements [engine.Inspector]. A switch revokes all locks, so it notifies,
// too.
func (i inspector) Watch(id string) (wake <-chan struct{}, stop func()) {
	return i.merge(i.nextSwitch, func(s *sideState) (<-chan struct{}, func()) { return s.caps.Inspector.Watch(id) })
}

// nextSwitch returns a channel that the next switch closes.
func (e *Engine) nextSwitch() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.switched
}
