package standby

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// combined is what both sides can do.
func (e *Engine) combined() engine.Capabilities {
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
	return c
}

// shard is that of the side that counts.
func (e *Engine) shard(key string) int {
	if shard := e.view.Load().caps.Shard; shard != nil {
		return shard(key)
	}
	return 0
}

type notifier struct{ *Engine }

// Notify implements [engine.Notifier]: it listens on all sides, since who waits may
// do so over a switch.
func (n notifier) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	return n.merge(nil, func(s *site) (<-chan struct{}, func()) { return s.caps.Notifier.Notify(r) })
}

// merge listens on all sides, and if turns is there for switches. The goroutine that
// passes on what comes ends with stop, which does not wait for it.
func (e *Engine) merge(turns func() <-chan struct{}, listen func(*site) (<-chan struct{}, func())) (wake <-chan struct{}, stop func()) {
	var turned <-chan struct{}
	if turns != nil {
		turned = turns()
	}
	a, stopA := listen(e.shared[0])
	b, stopB := listen(e.shared[1])
	c, stopC := listen(e.local)
	to, stopped := make(chan struct{}, 1), make(chan struct{})
	go func() {
		for {
			select {
			case <-stopped:
				return
			case <-a:
			case <-b:
			case <-c:
			case <-turned:
				turned = turns()
			}
			select {
			case to <- struct{}{}:
			default: // the last one has not been taken yet: they merge
			}
		}
	}()
	return to, sync.OnceFunc(func() {
		stopA()
		stopB()
		stopC()
		close(stopped)
	})
}

type latcher struct{ *Engine }

// CountDown implements [engine.Latcher]. A latch is that of the side that counts,
// and begins anew after a switch. Nobody holds it, so it needs no lease that is
// waited for.
func (l latcher) CountDown(ctx context.Context, r engine.Request) (left int, err error) {
	v := l.view.Load()
	if err := v.closed(time.Now()); err != nil {
		return 0, err
	}
	return v.caps.Latcher.CountDown(ctx, r)
}

// An inspector shows the side that counts.
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

// Seize implements [engine.Inspector].
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

// Watch implements [engine.Inspector]. A switch takes everything away, so that it
// is told as well.
func (i inspector) Watch(id string) (wake <-chan struct{}, stop func()) {
	return i.merge(i.nextTurn, func(s *site) (<-chan struct{}, func()) { return s.caps.Inspector.Watch(id) })
}

// nextTurn is closed with the next switch.
func (e *Engine) nextTurn() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.turned
}
