package enginetest

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A latcher is a wrapper whose calls can be made to fail.
type latcher struct {
	faulty *Faulty
	inner  engine.Latcher
}

// CountDown implements [engine.Latcher].
func (l *latcher) CountDown(ctx context.Context, r engine.Request) (int, error) {
	x := l.faulty.next(ctx, OpCountDown, r.Key)
	return withFault(l.faulty, ctx, x, func(ctx context.Context) (int, error) { return l.inner.CountDown(ctx, r) })
}

// An inspector is a wrapper whose calls can be made to fail.
type inspector struct {
	faulty *Faulty
	inner  engine.Inspector
}

// List implements [engine.Inspector].
func (i *inspector) List(ctx context.Context, pattern, cursor string) ([]engine.Lock, string, error) {
	type page struct {
		locks []engine.Lock
		next  string
	}
	x := i.faulty.next(ctx, OpInspect)
	p, err := withFault(i.faulty, ctx, x, func(ctx context.Context) (page, error) {
		locks, next, err := i.inner.List(ctx, pattern, cursor)
		return page{locks, next}, err
	})
	return p.locks, p.next, err
}

// Inspect implements [engine.Inspector].
func (i *inspector) Inspect(ctx context.Context, key string) (engine.Lock, error) {
	x := i.faulty.next(ctx, OpInspect, key)
	return withFault(i.faulty, ctx, x, func(ctx context.Context) (engine.Lock, error) { return i.inner.Inspect(ctx, key) })
}

// ForceRelease implements [engine.Inspector].
func (i *inspector) ForceRelease(ctx context.Context, key string) (engine.Lock, error) {
	x := i.faulty.next(ctx, OpForceRelease, key)
	return withFault(i.faulty, ctx, x, func(ctx context.Context) (engine.Lock, error) { return i.inner.ForceRelease(ctx, key) })
}

// Register implements [engine.Inspector].
func (i *inspector) Register(ctx context.Context, m engine.Member, life time.Duration) error {
	x := i.faulty.next(ctx, OpRegister, m.ID)
	_, err := withFault(i.faulty, ctx, x, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, i.inner.Register(ctx, m, life)
	})
	return err
}

// Members implements [engine.Inspector].
func (i *inspector) Members(ctx context.Context, ids []string) ([]engine.Member, error) {
	x := i.faulty.next(ctx, OpInspect)
	return withFault(i.faulty, ctx, x, func(ctx context.Context) ([]engine.Member, error) { return i.inner.Members(ctx, ids) })
}

// Watch implements [engine.Inspector].
func (i *inspector) Watch(id string) (wake <-chan struct{}, stop func()) {
	return i.faulty.withFaults(id, i.inner.Watch)
}
