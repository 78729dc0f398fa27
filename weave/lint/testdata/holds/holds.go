// Package holds has holds and claims that are never ended, and some that are.
package holds

import (
	"context"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

func thrownAway(ctx context.Context, m *interlock.Mutex, s *interlock.Semaphore, g *guard.Guard[int]) error {
	m.Lock(ctx)                 // want `the result of Lock is discarded: call Unlock on it`
	go m.Lock(ctx)              // want `discarded`
	defer s.TryAcquire(ctx)     // want `the result of TryAcquire is discarded`
	_, _, err := m.TryLock(ctx) // want `the result of TryLock is discarded`
	if err != nil {
		return err
	}
	_, _, err = g.Begin(ctx, guard.ID("a")) // want `the result of Begin is discarded: call Complete`
	return err
}

func onlyAsked(ctx context.Context, m *interlock.Mutex, g *guard.Guard[int]) (uint64, error) {
	_, hold, err := m.Lock(ctx) // want `hold is never ended: call Unlock`
	if err != nil || hold == nil {
		return 0, err
	}
	var _, claim, _ = g.Begin(ctx, guard.ID("a")) // want `claim is never ended: call Complete`
	_, second, err := m.Lock(ctx)                 // want `second is never ended`
	_ = second
	_ = claim.Local()
	return hold.Fence(), err
}

type keeper struct{ hold *interlock.Hold }

func fine(ctx context.Context, k *keeper, m *interlock.Mutex, s *interlock.Semaphore, g *guard.Guard[int]) (*interlock.Hold, error) {
	_, hold, err := m.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer hold.Unlock()
	_, late, _ := m.Lock(ctx)
	defer func() { _ = late.Unlock() }()
	_, k.hold, _ = s.Acquire(ctx)
	_, method, _ := s.Acquire(ctx)
	defer context.AfterFunc(ctx, func() { end(method.Unlock) })()
	_, claim, _ := g.Begin(ctx, guard.ID("a"))
	defer claim.Abandon()
	_, given, err := m.Lock(ctx)
	return given, err
}

func end(f func() error) { _ = f() }

func result(ctx context.Context, m *interlock.Mutex) (held context.Context, hold *interlock.Hold, err error) {
	held, hold, err = m.Lock(ctx)
	return
}

func passedOn(ctx context.Context, m *interlock.Mutex) (context.Context, *interlock.Hold, error) {
	return m.Lock(ctx)
}
