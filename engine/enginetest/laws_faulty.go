package enginetest

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Lost replies, delays and duplicates of lock calls.
var faultyLaws = []Law{
	{"faulty", "every capability of an engine can be made to fail", func(b *testbed) {
		f := NewFaulty(b.Engine)
		inner, outer := reflect.ValueOf(b.Capabilities()), reflect.ValueOf(f.Capabilities())
		for i := range inner.NumField() {
			name := inner.Type().Field(i).Name
			if inner.Field(i).Kind() != reflect.Interface || inner.Field(i).IsNil() {
				continue // not an interface, or not supported
			}
			if outer.Field(i).IsNil() || outer.Field(i).Equal(inner.Field(i)) {
				b.errorf("Faulty does not wrap the %s", name)
			} else if fail := failing[name]; fail == nil {
				b.errorf("failing has no entry for %s: make Faulty wrap it, and add one", name)
			} else {
				fail(b, f)
			}
		}
	}},
	{"faulty", "every call to an engine can be made to fail", func(b *testbed) {
		f, a := NewFaulty(b.Engine), b.ask(ann)
		for _, op := range []Op{OpAcquire, OpRenew, OpRelease, OpAbandon} {
			f.Inject(Fault{Op: op, Do: Refuse, Times: 1})
		}
		b.unavailable(errOf(f.Acquire(b.ctx, a)))
		b.granted(a)
		b.unavailable(f.Renew(b.ctx, []engine.Request{a})[0])
		b.unavailable(errOf(f.Release(b.ctx, a)))
		b.unavailable(errOf(f.Abandon(b.ctx, a)))
		b.heldBy(a)
	}},
	{"faulty", "an acquire whose reply was lost is granted with one fence when repeated", func(b *testbed) {
		f, a := NewFaulty(b.Engine), b.ask(ann)
		f.Inject(Fault{Op: OpAcquire, Do: LoseReply, Times: 1})
		b.unknown(errOf(f.Acquire(b.ctx, a)))
		b.heldBy(a)
		first, second := b.granted(asRetry(a)), b.granted(asRetry(a))
		if first != second || first.Count != 1 {
			b.errorf("the grants are %+v and %+v, want the same and a count of 1", first, second)
		}
	}},
	{"faulty", "an acquire whose reply was lost can be abandoned", func(b *testbed) {
		f, a := NewFaulty(b.Engine), b.ask(ann)
		f.Inject(Fault{Op: OpAcquire, Do: LoseReply, Times: 1})
		b.unknown(errOf(f.Acquire(b.ctx, a)))
		b.abandons(a, engine.Released)
		b.free(a)
	}},
	{"faulty", "an acquire delivered twice is one hold", func(b *testbed) {
		f, a := NewFaulty(b.Engine), b.ask(ann)
		f.Inject(Fault{Op: OpAcquire, Do: Duplicate, Times: 1})
		if g, err := f.Acquire(b.ctx, a); err != nil || g.Count != 1 {
			b.fatalf("got %+v, %v; want a count of 1", g, err)
		}
		b.releases(a, engine.Released)
		b.free(a)
	}},
	{"faulty", "an acquire that arrives after its clean-up is not granted", func(b *testbed) {
		f, a := NewFaulty(b.Engine), b.ask(ann)
		a.Retry = b.Capabilities().LateGrant > 0 // a first try would be granted; see LateGrant
		b.callerGivesUp(f, OpAcquire, func(ctx context.Context) error { return errOf(f.Acquire(ctx, a)) })
		b.abandons(a, engine.AlreadyFree)
		b.lateCallArrives(f)
		b.free(a)
	}},
	{"faulty", "a late acquire does not change a newer hold", func(b *testbed) {
		f, a, c := NewFaulty(b.Engine), b.ask(ann), b.ask(bob)
		b.callerGivesUp(f, OpAcquire, func(ctx context.Context) error { return errOf(f.Acquire(ctx, a)) })
		first := b.granted(c)
		b.lateCallArrives(f)
		b.heldBy(c)
		if g := b.granted(asRetry(c)); g != first {
			b.errorf("the grant went from %+v to %+v", first, g)
		}
	}},
	{"faulty", "a release whose reply was lost finds the lock already free when repeated", func(b *testbed) {
		f, a := NewFaulty(b.Engine), b.ask(ann)
		b.granted(a)
		f.Inject(Fault{Op: OpRelease, Do: LoseReply, Times: 1})
		b.unknown(errOf(f.Release(b.ctx, a)))
		b.releases(a, engine.AlreadyFree)
		b.free(a)
	}},
	{"faulty", "a release delivered twice ends one entry", func(b *testbed) {
		f, first, second := NewFaulty(b.Engine), b.ask(ann), b.ask(ann)
		b.granted(first)
		b.granted(second)
		f.Inject(Fault{Op: OpRelease, Do: Duplicate, Times: 1})
		f.Release(b.ctx, first)
		b.heldBy(second)
		b.releases(second, engine.Released)
	}},
	{"faulty", "a late release does not end a newer hold", func(b *testbed) {
		f, a, c := NewFaulty(b.Engine), withLease(b.ask(ann), b.Lease/20), withLease(b.ask(bob), 4*b.Lease)
		b.granted(a)
		b.callerGivesUp(f, OpRelease, func(ctx context.Context) error { return errOf(f.Release(ctx, a)) })
		b.granted(c)
		b.lateCallArrives(f)
		b.heldBy(c)
	}},
	{"faulty", "a renewal whose reply was lost has taken effect", func(b *testbed) {
		f, a := NewFaulty(b.Engine), b.ask(ann)
		b.granted(a)
		b.sleepMostOfLease()
		f.Inject(Fault{Op: OpRenew, Do: LoseReply, Times: 1})
		b.unknown(f.Renew(b.ctx, []engine.Request{a})[0])
		b.sleepMostOfLease()
		b.heldBy(a)
	}},
	{"faulty", "a late renewal does not restore a lock", func(b *testbed) {
		f, a := NewFaulty(b.Engine), b.ask(ann)
		b.granted(a)
		b.callerGivesUp(f, OpRenew, func(ctx context.Context) error { return f.Renew(ctx, []engine.Request{a})[0] })
		b.releases(a, engine.Released)
		b.lateCallArrives(f)
		b.free(a)
	}},
}

// failing checks for each capability that Faulty can make it fail.
var failing = map[string]func(*testbed, *Faulty){
	"Notifier": func(b *testbed, f *Faulty) {
		f.Inject(Fault{Op: OpNotify, Do: Mute})
		wake, stop := f.Capabilities().Notifier.Notify(b.ask(ann))
		defer stop()
		b.waitFor(func() bool { return f.Fired(OpNotify) > 0 })
		if drain(wake) {
			b.errorf("a notification arrived although all are muted")
		}
	},
	"Latcher": func(b *testbed, f *Faulty) {
		f.Inject(Fault{Op: OpCountDown, Do: Refuse, Times: 1})
		r := b.ask(ann)
		r.Kind, r.Limit = engine.Latch, 1
		b.unavailable(errOf(f.Capabilities().Latcher.CountDown(b.ctx, r)))
	},
	"Inspector": func(b *testbed, f *Faulty) {
		i := f.Capabilities().Inspector
		f.Inject(Fault{Op: OpInspect, Do: Refuse, Times: 3})
		f.Inject(Fault{Op: OpForceRelease, Do: Refuse, Times: 1})
		f.Inject(Fault{Op: OpRegister, Do: Refuse, Times: 1})
		_, _, err := i.List(b.ctx, "*", "")
		b.unavailable(err)
		b.unavailable(errOf(i.Inspect(b.ctx, "k")))
		b.unavailable(errOf(i.Members(b.ctx, nil)))
		b.unavailable(errOf(i.ForceRelease(b.ctx, "k")))
		b.unavailable(i.Register(b.ctx, engine.Member{ID: "m"}, b.Lease))
		f.Inject(Fault{Op: OpNotify, Do: Mute})
		wake, stop := i.Watch("m")
		defer stop()
		b.waitFor(func() bool { return f.Fired(OpNotify) > 0 })
		if drain(wake) {
			b.errorf("a notification arrived although all are muted")
		}
	},
	"Eraser": func(b *testbed, f *Faulty) {
		f.Inject(Fault{Op: OpErase, Do: Refuse, Times: 1})
		b.unavailable(errOf(f.Capabilities().Eraser.Erase(b.ctx, "k")))
	},
	"Quotas": func(b *testbed, f *Faulty) {
		q := b.quota(1)
		f.Inject(Fault{Op: OpTake, Do: Refuse, Times: 1})
		f.Inject(Fault{Op: OpReturn, Do: Refuse, Times: 1})
		b.unavailable(errOf(f.Capabilities().Quotas.Take(b.ctx, q)))
		b.unavailable(errOf(f.Capabilities().Quotas.Return(b.ctx, q)))
	},
	"Fencer": func(b *testbed, f *Faulty) {
		f.Inject(Fault{Op: OpRaise, Do: Refuse, Times: 1})
		b.unavailable(f.Capabilities().Fencer.Raise(b.ctx, b.ask(ann), 1))
	},
	"Incarnations": func(b *testbed, f *Faulty) {
		f.Inject(Fault{Op: OpIncarnation, Do: Refuse, Times: 1})
		b.unavailable(errOf(f.Capabilities().Incarnations.Incarnation(b.ctx)))
	},
	"Ledger": func(b *testbed, f *Faulty) {
		l, c := f.Capabilities().Ledger, b.claim()
		for op, times := range map[Op]int{OpClaim: 1, OpClaimRenew: 1, OpSettle: 1, OpLookup: 2} {
			f.Inject(Fault{Op: op, Do: Refuse, Times: times})
		}
		b.unavailable(errOf(l.Claim(b.ctx, c)))
		b.unavailable(l.Renew(b.ctx, []engine.Claim{c})[0])
		b.unavailable(errOf(l.Settle(b.ctx, settlement(c, engine.Done))))
		b.unavailable(errOf(l.Lookup(b.ctx, c.Key)))
		_, _, err := l.List(b.ctx, "*", "")
		b.unavailable(err)
		f.Inject(Fault{Op: OpNotify, Do: Mute})
		was := f.Fired(OpNotify)
		wake, stop := l.Watch(c.Key)
		defer stop()
		b.waitFor(func() bool { return f.Fired(OpNotify) > was })
		if drain(wake) {
			b.errorf("a notification arrived although all are muted")
		}
	},
	"Notes": func(b *testbed, f *Faulty) {
		f.Inject(Fault{Op: OpNote, Do: Refuse, Times: 2})
		n := f.Capabilities().Notes
		b.unavailable(errOf(n.ReadNote(b.ctx, b.prefix+"n")))
		b.unavailable(n.WriteNote(b.ctx, b.prefix+"n", "text", 0))
		b.noteIs("n", "", 0)
	},
	"Prober": func(b *testbed, f *Faulty) {
		f.Inject(Fault{Op: OpProbe, Do: Refuse, Times: 1})
		b.unavailable(errOf(f.Capabilities().Prober.Probe(b.ctx)))
	},
}

// callerGivesUp makes a call that arrives after half a lease. Its caller gives up
// before that.
func (b *testbed) callerGivesUp(f *Faulty, op Op, call func(context.Context) error) {
	f.Inject(Fault{Op: op, Do: Delay, After: b.Lease / 2, Times: 1})
	ctx, cancel := context.WithTimeout(b.ctx, b.Lease/10)
	defer cancel()
	b.slept += b.Lease / 10
	b.unknown(call(ctx))
}

// lateCallArrives waits until the delayed call has arrived.
func (b *testbed) lateCallArrives(f *Faulty) {
	b.slept += b.Lease/2 - b.Lease/10
	f.Wait()
}

func (b *testbed) unknown(err error) {
	if !errors.Is(err, engine.ErrUnknown) {
		b.fatalf("error %v, want %v", err, engine.ErrUnknown)
	}
}

func (b *testbed) unavailable(err error) {
	if !errors.Is(err, engine.ErrUnavailable) {
		b.fatalf("error %v, want %v", err, engine.ErrUnavailable)
	}
}

// waitFor requires that happened becomes true within 5 s.
func (b *testbed) waitFor(happened func() bool) {
	for start := time.Now(); !happened(); time.Sleep(time.Millisecond) {
		if time.Since(start) > 5*time.Second {
			b.slept += 5 * time.Second
			b.fatalf("the condition was not met within 5 s")
		}
	}
}
