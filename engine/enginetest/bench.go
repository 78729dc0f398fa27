package enginetest

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A bench is what a law works on: an engine, keys that nobody else uses, and the
// means to complain.
type bench struct {
	engine.Engine
	Lease time.Duration

	ctx      context.Context
	law      Law
	record   *record
	prefix   string
	attempts int
	passed   time.Duration // how long the law waited on purpose
}

// errorf says what is wrong. It may be called from any goroutine.
func (b *bench) errorf(format string, args ...any) { b.record.complain(b.law, format, args...) }

// fatalf says what is wrong and ends the law. It must be called from the law's
// own goroutine.
func (b *bench) fatalf(format string, args ...any) {
	b.errorf(format, args...)
	runtime.Goexit()
}

// skip ends the law since the engine declares that it cannot do what it is about.
func (b *bench) skip(why string) {
	b.record.skipped = why
	runtime.Goexit()
}

func (b *bench) recover() {
	if p := recover(); p != nil {
		b.errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// pass lets time go by.
func (b *bench) pass(d time.Duration) {
	b.passed += d
	time.Sleep(d)
}

// passMost lets so much of a lease go by that it must still be there, even if
// the machine is busy.
func (b *bench) passMost() { b.pass(b.Lease * 6 / 10) }

// passAll lets so much time go by that a lease must be over.
func (b *bench) passAll() { b.pass(b.Lease * 13 / 10) }

// together runs f n times at once and waits for all.
func (b *bench) together(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			defer b.recover()
			f(i)
		})
	}
	all.Wait()
}
