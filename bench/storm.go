package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// A storm is the result of many goroutines trying one lock once, at the same time.
type storm struct {
	took     time.Duration // until every goroutine had an answer
	failures failures
	cost
}

// storm lets n goroutines try one lock. The holder keeps it until all have an answer, so
// exactly one goroutine acquires it, unless a call failed.
func (f *group) storm(ctx context.Context, r *row, n int) (*storm, error) {
	var (
		all    sync.WaitGroup
		begin  = make(chan struct{})
		errs   = make([]error, n)
		unlock = make([]func() error, n)
	)
	for i := range n {
		all.Go(func() {
			<-begin
			unlock[i], errs[i] = r.try(ctx, "bench:storm")
		})
	}
	runtime.GC()
	before, err := f.server.readUsage(ctx)
	started := time.Now()
	close(begin)
	all.Wait()
	s := &storm{took: time.Since(started)}

	winners := 0
	for i := range n {
		if unlock[i] != nil {
			winners++
			errs[i] = unlock[i]()
		}
		if errs[i] != nil {
			s.failures.add(errs[i])
		}
	}
	if winners > 1 || winners == 0 && s.failures.n == 0 {
		return nil, fmt.Errorf("%s: %d of %d goroutines hold the lock, want 1", r.name, winners, n)
	}
	after, err2 := f.server.readUsage(ctx)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	s.cost = after.since(before, r.sends)
	return s, nil
}

// addStorm adds a storm to the row.
func (r *row) addStorm(s *storm) {
	r.took = append(r.took, millis(s.took))
	r.failures.merge(s.failures)
	r.addCost(s.cost, 1)
}
