package enginetest

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// Records that an operator erases.
var eraseLaws = []Law{
	{"erase", "erasing a key deletes its record and returns it without its result", func(b *testbed) {
		b.eraser()
		for state, c := range b.claimInEachState() {
			if state == engine.Running {
				continue
			}
			was := b.recordIs(c, state)
			was.Result = nil
			if r := b.erases(c.Key); !same(r, was) || r.Granted || r.Left <= 0 || r.Left > was.Left {
				b.errorf("Erase of %s returned %s", describe(was), describe(r))
			}
			b.recordIs(c, engine.Absent)
			if _, listed := b.listRecords(b.prefix + "*")[c.Key]; listed {
				b.errorf("the erased %s record is still listed", state)
			}
		}
	}},
	{"erase", "the next claim of an erased key is granted with a higher fence", func(b *testbed) {
		c := b.claim()
		b.eraser()
		first := b.claimGranted(withFingerprint(c, "this"))
		b.settles(settlement(c, engine.Done), engine.Released)
		b.erases(c.Key)
		if next := b.claimGranted(withFingerprint(b.claim(), "that")); next.TookOver || next.Fence <= first.Fence {
			b.errorf("after %s was erased, the claim is %s", describe(first), describe(next))
		}
	}},
	{"erase", "a running claim is not erased", func(b *testbed) {
		c := b.claim()
		b.eraser()
		was := b.claimGranted(c)
		if r := b.erases(c.Key); !same(r, was) || r.Granted {
			b.errorf("Erase of %s returned %s", describe(was), describe(r))
		}
		b.unchanged(was)
		b.claimRenewed(c)
		b.settles(settlement(c, engine.Done), engine.Released)
		b.recordIs(c, engine.Done)
	}},
	{"erase", "erasing an unknown key returns an absent record", func(b *testbed) {
		b.eraser()
		c := b.claim()
		if r := b.erases(c.Key); r.State != engine.Absent || r.Key != c.Key {
			b.errorf("Erase of an absent record returned %s", describe(r))
		}
		b.claimGranted(c)
		b.settles(settlement(c, engine.Failed), engine.Released)
		b.erases(c.Key)
		if r := b.erases(c.Key); r.State != engine.Absent {
			b.errorf("a second Erase returned %s, want an absent record", describe(r))
		}
	}},
	{"erase", "erasing a key does not touch other keys", func(b *testbed) {
		b.eraser()
		one, other := b.claimOf("one"), b.claimOf("one:more")
		for _, c := range []engine.Claim{one, other} {
			b.claimGranted(c)
			b.settles(settlement(c, engine.Done), engine.Released)
		}
		b.erases(one.Key)
		b.recordIs(one, engine.Absent)
		b.recordIs(other, engine.Done)
	}},
	{"erase", "erasing a key notifies its watchers", func(b *testbed) {
		b.eraser()
		c := b.claim()
		b.claimGranted(c)
		b.settles(settlement(c, engine.Unknown), engine.Released)
		wake, stop := b.watch(c)
		defer stop()
		b.notified(wake)
		drain(wake)
		b.erases(c.Key)
		b.notified(wake)
	}},
	{"erase", "an erase whose context is done changes nothing", func(b *testbed) {
		e, c := b.eraser(), b.claim()
		b.claimGranted(c)
		b.settles(settlement(c, engine.Done), engine.Released)
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		if _, err := e.Erase(ctx, c.Key); err == nil {
			b.errorf("Erase succeeded with a context that is done")
		}
		b.recordIs(c, engine.Done)
	}},
}

// eraser returns the eraser of the engine. Without one it skips the law.
func (b *testbed) eraser() engine.Eraser {
	e := b.Capabilities().Eraser
	if e == nil {
		b.skip("the engine has no eraser")
	}
	return e
}

// erases requires that the record at key can be erased.
func (b *testbed) erases(key string) engine.Record {
	r, err := b.eraser().Erase(b.ctx, key)
	if err != nil {
		b.fatalf("erase: %v", err)
	}
	return r
}
