package enginetest

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A testbed is what a law works with: an engine, keys of its own, and a way to report
// failures.
type testbed struct {
	engine.Engine
	Lease time.Duration

	ctx      context.Context
	law      Law
	record   *record
	prefix   string
	attempts int
	slept    time.Duration // how long the law slept on purpose
}

// errorf reports a failure. It may be called from any goroutine.
func (b *testbed) errorf(format string, args ...any) { b.record.addFailure(b.law, format, args...) }

// fatalf reports a failure and ends the law. It must be called from the law's own
// goroutine.
func (b *testbed) fatalf(format string, args ...any) {
	b.errorf(format, args...)
	runtime.Goexit()
}

// skip ends the law because the engine lacks a capability.
func (b *testbed) skip(why string) {
	b.record.skipped = why
	runtime.Goexit()
}

func (b *testbed) recover() {
	if p := recover(); p != nil {
		b.errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// sleep sleeps and adds d to b.slept.
func (b *testbed) sleep(d time.Duration) {
	b.slept += d
	time.Sleep(d)
}

// sleepMostOfLease sleeps for 60 % of a lease. The lease is still valid then, even on a
// busy machine.
func (b *testbed) sleepMostOfLease() { b.sleep(b.Lease * 6 / 10) }

// sleepPastLease sleeps until a lease has expired.
func (b *testbed) sleepPastLease() { b.sleep(b.Lease * 13 / 10) }

// together runs f n times in parallel and waits.
func (b *testbed) together(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			defer b.recover()
			f(i)
		})
	}
	all.Wait()
}
