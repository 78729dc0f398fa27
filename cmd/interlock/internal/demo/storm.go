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

// A Storm is many goroutines that click on one counter at once.
type Storm struct {
	Clicks int
	Hold   time.Duration // how long each works between reading and writing

	// Lock is what they wait for, named Key in the history. Without one nobody
	// waits.
	Lock interlock.Locker
	Key  string

	// Shared says that the lock is one that many may hold at a time, to read.
	Shared bool

	counter, refused atomic.Int64
	log              history.Log
}

// Run lets everybody click once, and returns when all have. It stops at the
// first error, which is ctx's if that ended.
func (s *Storm) Run(ctx context.Context) error {
	all, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	start := make(chan struct{})
	var ready, done sync.WaitGroup
	for i := range s.Clicks {
		who := strconv.Itoa(i + 1)
		ready.Add(1)
		done.Go(func() { // waited for below
			ready.Done()
			<-start
			if err := s.click(all, who); err != nil {
				stop(err)
			}
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return context.Cause(all)
}

// Counter returns how many clicks have been counted.
func (s *Storm) Counter() int { return int(s.counter.Load()) }

// Refused returns how many did not get the lock in time.
func (s *Storm) Refused() int { return int(s.refused.Load()) }

// Events returns what happened.
func (s *Storm) Events() []history.Event { return s.log.Events() }

// click is one goroutine's turn. A lock that was lost is no error of the storm:
// the verdict is about it.
func (s *Storm) click(ctx context.Context, who string) error {
	s.note(history.Ask, who, 0)
	var fence uint64
	if s.Lock != nil {
		inner, hold, err := s.Lock.Lock(ctx)
		if err != nil {
			s.note(history.Stop, who, 0)
			if errors.Is(err, interlock.ErrContended) && ctx.Err() == nil { // it waits for so long and no longer
				s.refused.Add(1)
				return nil
			}
			return err
		}
		defer hold.Unlock() //nolint:errcheck // what became of it is in the client's Stats
		ctx, fence = inner, hold.Fence()
	}
	s.note(history.Enter, who, fence)
	err := s.count(ctx)
	if errors.Is(err, interlock.ErrLost) {
		s.note(history.Lost, who, 0)
		return nil
	}
	s.note(history.Leave, who, 0)
	return err
}

// count is what needs a lock: it writes what it read some time ago. The atomics
// keep the race detector's peace, and no click.
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

func (s *Storm) note(kind history.Kind, who string, fence uint64) {
	s.log.Add(history.Event{Kind: kind, Key: s.Key, Who: who, Fence: fence, Shared: s.Shared})
}
