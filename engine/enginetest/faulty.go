package enginetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Faulty wraps an engine and fails on command. It never blocks while it holds a mutex,
// so it works in a synctest bubble. Make it inside the bubble.
type Faulty struct {
	inner engine.Engine
	late  sync.WaitGroup // deliveries that were delayed

	mu     sync.Mutex
	faults []Fault
	calls  map[Op]int
	fired  map[Op]int
	healed chan struct{} // Heal closes it and makes a new one
}

var _ engine.Engine = (*Faulty)(nil)

// NewFaulty returns an engine that wraps e.
func NewFaulty(e engine.Engine) *Faulty {
	return &Faulty{inner: e, calls: make(map[Op]int), fired: make(map[Op]int), healed: make(chan struct{})}
}

// Inject adds a fault. Of several faults that apply to a call, the first one happens.
// Inject panics on a fault that cannot happen.
func (f *Faulty) Inject(x Fault) {
	x.check()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, x)
}

// Heal removes all faults and ends all calls that hang. Delayed calls stay delayed.
func (f *Faulty) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
	close(f.healed)
	f.healed = make(chan struct{})
}

// Calls returns the number of calls of the given ops, or of all ops. For OpNotify it
// counts notifications.
func (f *Faulty) Calls(ops ...Op) int { return f.sum(f.calls, ops) }

// Fired returns how many faults happened in the given ops, or in all ops.
func (f *Faulty) Fired(ops ...Op) int { return f.sum(f.fired, ops) }

// Wait waits until every delayed call was delivered.
func (f *Faulty) Wait() { f.late.Wait() }

// Step moves the clock of the wrapped engine. It panics if that engine has no Step.
func (f *Faulty) Step(d time.Duration) {
	s, ok := f.inner.(stepper)
	if !ok {
		panic(fmt.Sprintf("enginetest: %T has no clock to step: use memory.Engine, or step the server's", f.inner))
	}
	s.Step(d)
}

type stepper interface{ Step(time.Duration) }

// Acquire implements [engine.Engine].
func (f *Faulty) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	x := f.next(ctx, OpAcquire, r.Key)
	return withFault(f, ctx, x, func(ctx context.Context) (engine.Grant, error) { return f.inner.Acquire(ctx, r) })
}

// Renew implements [engine.Engine].
func (f *Faulty) Renew(ctx context.Context, rs []engine.Request) []error {
	keys := make([]string, len(rs))
	for i, r := range rs {
		keys[i] = r.Key
	}
	rs = slices.Clone(rs) // the caller may change the slice before a late delivery
	x := f.next(ctx, OpRenew, keys...)
	errs, err := withFault(f, ctx, x, func(ctx context.Context) ([]error, error) { return f.inner.Renew(ctx, rs), nil })
	if err != nil {
		errs = slices.Repeat([]error{err}, len(rs))
	}
	return errs
}

// Release implements [engine.Engine].
func (f *Faulty) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	x := f.next(ctx, OpRelease, r.Key)
	return withFault(f, ctx, x, func(ctx context.Context) (engine.ReleaseResult, error) { return f.inner.Release(ctx, r) })
}

// Abandon implements [engine.Engine].
func (f *Faulty) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	x := f.next(ctx, OpAbandon, r.Key)
	return withFault(f, ctx, x, func(ctx context.Context) (engine.ReleaseResult, error) { return f.inner.Abandon(ctx, r) })
}

// Capabilities implements [engine.Engine]. Faulty wraps every capability of the inner
// engine, so that each can be made to fail.
func (f *Faulty) Capabilities() engine.Capabilities {
	c := f.inner.Capabilities()
	c.InProcess = false
	if c.Notifier != nil {
		c.Notifier = &faultyNotifier{faulty: f, inner: c.Notifier}
	}
	if c.Latcher != nil {
		c.Latcher = &latcher{faulty: f, inner: c.Latcher}
	}
	if c.Inspector != nil {
		c.Inspector = &inspector{faulty: f, inner: c.Inspector}
	}
	if c.Ledger != nil {
		c.Ledger = &ledger{faulty: f, inner: c.Ledger}
	}
	if c.Eraser != nil {
		c.Eraser = &eraser{faulty: f, inner: c.Eraser}
	}
	if c.Quotas != nil {
		c.Quotas = &quotas{faulty: f, inner: c.Quotas}
	}
	if c.Fencer != nil {
		c.Fencer = &fencer{faulty: f, inner: c.Fencer}
	}
	if c.Incarnations != nil {
		c.Incarnations = &incarnations{faulty: f, inner: c.Incarnations}
	}
	if c.Notes != nil {
		c.Notes = &notes{faulty: f, inner: c.Notes}
	}
	if c.Prober != nil {
		c.Prober = &prober{faulty: f, inner: c.Prober}
	}
	return c
}

// next counts a call and returns its fault, if any. A call whose context is done is
// never sent, so it has none.
func (f *Faulty) next(ctx context.Context, op Op, keys ...string) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	if ctx.Err() != nil {
		return nil
	}
	i := slices.IndexFunc(f.faults, func(x Fault) bool { return x.concerns(op, keys) })
	if i < 0 {
		return nil
	}
	f.fired[op]++
	x := f.faults[i]
	if x.Times == 1 {
		f.faults = slices.Delete(f.faults, i, i+1)
	} else if x.Times > 1 {
		f.faults[i].Times--
	}
	return &x
}

func (f *Faulty) sum(counts map[Op]int, ops []Op) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for op, c := range counts {
		if len(ops) == 0 || slices.Contains(ops, op) {
			n += c
		}
	}
	return n
}
