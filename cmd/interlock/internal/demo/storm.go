package demo

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// A Storm runs many goroutines that click one counter at once.
type Storm struct {
	Clicks int
	Hold   time.Duration // how long each goroutine works between read and write

	// Lock is the lock of the counter; nil: no lock. The history contains it as Key.
	Lock interlock.Locker
	Key  string

	// Shared marks a read lock, which several goroutines may hold at once.
	Shared bool

	counter, refused atomic.Int64 // the progress bar reads both during a run
	log              history.Log
}

// Run lets every goroutine click once and waits for them. It stops at the first error,
// or with the cause of ctx.
func (s *Storm) Run(ctx context.Context) error {
	all, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	start := make(chan struct{}) // closed when every goroutine is ready
	var ready, done sync.WaitGroup
	for i := range s.Clicks {
		actor := strconv.Itoa(i + 1)
		ready.Add(1)
		done.Go(func() { // waited for below
			ready.Done()
			<-start
			if err := s.click(all, actor); err != nil {
				stop(err)
			}
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	// The caller's cancellation makes every click fail; its cause is the better error.
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return context.Cause(all)
}

// Counter returns the value of the counter.
func (s *Storm) Counter() int { return int(s.counter.Load()) }

// Refused returns how many goroutines did not acquire the lock in time.
func (s *Storm) Refused() int { return int(s.refused.Load()) }

// Events returns the history.
func (s *Storm) Events() []history.Event { return s.log.Events() }

// click acquires the lock and clicks once. A lost lock is not an error here: the verdict
// counts it.
func (s *Storm) click(ctx context.Context, actor string) error {
	s.record(history.Ask, actor, 0)
	var fence uint64
	if s.Lock != nil {
		inner, hold, err := s.Lock.Lock(ctx)
		if err != nil {
			s.record(history.Stop, actor, 0)
			if errors.Is(err, interlock.ErrContended) && ctx.Err() == nil { // Wait has passed
				s.refused.Add(1)
				return nil
			}
			return err
		}
		defer hold.Unlock() //nolint:errcheck // the client's Stats count lost locks
		ctx, fence = inner, hold.Fence()
	}
	s.record(history.Enter, actor, fence)
	err := s.count(ctx)
	if errors.Is(err, interlock.ErrLost) {
		s.record(history.Lost, actor, 0)
		return nil
	}
	s.record(history.Leave, actor, 0)
	return err
}

// count increments the counter in two steps, so that clicks are lost without a lock. The
// atomics only keep the race detector quiet.
func (s *Storm) count(ctx context.Context) error {
	n := s.counter.Load()
	work := time.NewTimer(s.Hold)
	defer work.Stop()
	select {
	case <-work.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.counter.Store(n + 1)
	return nil
}

// record adds an event to the history.
func (s *Storm) record(kind history.Kind, actor string, fence uint64) {
	s.log.Add(history.Event{Kind: kind, Key: s.Key, Actor: actor, Fence: fence, Shared: s.Shared})
}
