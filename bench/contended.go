package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// hold is how long a holder of a contended lock sleeps. The real duration is
	// measured, because a sleep takes a little longer.
	hold = time.Millisecond

	// contestTimeout is the longest time that a contest may take.
	contestTimeout = 2 * time.Minute
)

// A contest is a run in which many goroutines acquire one lock repeatedly. It ends when the
// lock has been granted as often as the field grants says.
type contest struct {
	key    string
	grants int

	inside   atomic.Int32 // current holders; more than one is an overlap
	overlaps atomic.Int32
	released atomic.Int64 // when the last holder began to unlock, since start
	last     atomic.Int32 // index of the last holder, or -1
	granted  atomic.Int32
	held     atomic.Int64 // duration of all holds together, in nanoseconds
	ended    atomic.Int64 // when the last hold ended, since start

	start time.Time
	self  atomic.Int32 // grants to the goroutine that was also the previous holder
	each  []waiter
	over  func() // called by the last holder, before it unlocks
	cost
}

// A waiter is one goroutine of a contest.
type waiter struct {
	grants   int
	longest  time.Duration
	handover histogram
	failures failures
}

// contest runs a contest of n goroutines.
func (f *group) contest(ctx context.Context, r *row, n, grants int) (*contest, error) {
	ctx, cancel := context.WithTimeout(ctx, contestTimeout)
	defer cancel()
	runtime.GC()
	before, err := f.server.readUsage(ctx)
	if err != nil {
		return nil, err
	}
	s := &contest{key: "bench:contended", grants: grants, each: make([]waiter, n), start: time.Now()}
	s.last.Store(-1)
	var (
		after  usage
		failed error
	)
	s.over = func() {
		after, failed = f.server.readUsage(ctx)
		cancel() // stops the other goroutines
	}
	var all sync.WaitGroup
	for i := range s.each {
		all.Go(func() { s.compete(ctx, r.locks, i) })
	}
	all.Wait()
	s.cost = after.since(before, r.sends)
	if err := errors.Join(failed, s.err()); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	return s, nil
}

// err reports overlapping holds first, then a contest that took longer than contestTimeout.
func (s *contest) err() error {
	var errs []error
	if n := s.overlaps.Load(); n > 0 {
		errs = append(errs, fmt.Errorf("%d of %d grants overlapped with another", n, s.granted.Load()))
	}
	if n := int(s.granted.Load()); n < s.grants {
		errs = append(errs, fmt.Errorf("stuck after %d of %d grants", n, s.grants), s.failures().first)
	}
	return errors.Join(errs...)
}

func (s *contest) failures() (t failures) {
	for i := range s.each {
		t.merge(s.each[i].failures)
	}
	return t
}

// compete acquires and releases the lock until all grants are made.
func (s *contest) compete(ctx context.Context, l locks, i int) {
	w := &s.each[i]
	for ctx.Err() == nil {
		began := time.Now()
		unlock, err := l.lock(ctx, s.key)
		got := time.Now()
		w.longest = max(w.longest, got.Sub(began))
		if err != nil {
			if ctx.Err() == nil {
				w.failures.add(err)
			}
			continue
		}
		if s.inside.Add(1) != 1 {
			s.overlaps.Add(1)
		}
		over := s.work(w, i, got)
		s.inside.Add(-1)
		s.released.Store(int64(time.Since(s.start)))
		if err := unlock(); err != nil {
			w.failures.add(err)
		}
		if over {
			return
		}
	}
}

// work holds the lock. It reports whether this was the last grant.
func (s *contest) work(w *waiter, i int, got time.Time) (over bool) {
	before := s.last.Swap(int32(i))
	if before >= 0 {
		w.handover.add(got.Sub(s.start) - time.Duration(s.released.Load()))
	}
	if before == int32(i) {
		s.self.Add(1)
	}
	w.grants++
	time.Sleep(hold)
	now := time.Now()
	s.held.Add(int64(now.Sub(got)))
	if int(s.granted.Add(1)) != s.grants {
		return false
	}
	s.ended.Store(int64(now.Sub(s.start)))
	s.over()
	return true
}

// addContended adds a contest to the row.
func (r *row) addContended(s *contest) {
	var (
		longest      time.Duration
		sum, squares float64
		never        int
	)
	for i := range s.each {
		w := &s.each[i]
		r.latency.merge(&w.handover)
		longest = max(longest, w.longest)
		sum += float64(w.grants)
		squares += float64(w.grants * w.grants)
		if w.grants == 0 {
			never++
		}
	}
	r.self += int(s.self.Load())
	r.total = append(r.total, float64(s.ended.Load())/float64(s.held.Load()))
	r.jain = append(r.jain, sum*sum/(float64(len(s.each))*squares))
	r.starved = append(r.starved, float64(never))
	r.longest = append(r.longest, millis(longest))
	r.failures.merge(s.failures())
	r.addCost(s.cost, s.grants)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
