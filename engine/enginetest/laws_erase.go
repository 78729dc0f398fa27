package enginetest

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// Records that an operator erases.
var eraseLaws = []Law{
	{"erase", "erasing a key deletes its record and returns it without its result", func(b *bench) {
		b.eraser()
		for state, c := range b.oneOfEach() {
			if state == engine.Running {
				continue
			}
			was := b.is(c, state)
			was.Result = nil
			if r := b.erases(c.Key); !same(r, was) || r.Granted || r.Left <= 0 || r.Left > was.Left {
				b.errorf("%s is erased as %s", text(was), text(r))
			}
			b.is(c, engine.Absent)
			if _, listed := b.listRecords(b.prefix + "*")[c.Key]; listed {
				b.errorf("%s is erased and listed", state)
			}
		}
	}},
	{"erase", "the next claim of an erased key is granted with a higher fence", func(b *bench) {
		c := b.claim()
		b.eraser()
		first := b.begins(about(c, "this"))
		b.settles(settled(c, engine.Done), engine.Released)
		b.erases(c.Key)
		if next := b.begins(about(b.claim(), "that")); next.TookOver || next.Fence <= first.Fence {
			b.errorf("after %s was erased, the claim is %s", text(first), text(next))
		}
	}},
	{"erase", "a running claim is not erased", func(b *bench) {
		c := b.claim()
		b.eraser()
		was := b.begins(c)
		if r := b.erases(c.Key); !same(r, was) || r.Granted {
			b.errorf("%s is erased as %s", text(was), text(r))
		}
		b.unchanged(was)
		b.keeps(c)
		b.settles(settled(c, engine.Done), engine.Released)
		b.is(c, engine.Done)
	}},
	{"erase", "erasing an unknown key returns an absent record", func(b *bench) {
		b.eraser()
		c := b.claim()
		if r := b.erases(c.Key); r.State != engine.Absent || r.Key != c.Key {
			b.errorf("an absent record is erased as %s", text(r))
		}
		b.begins(c)
		b.settles(settled(c, engine.Failed), engine.Released)
		b.erases(c.Key)
		if r := b.erases(c.Key); r.State != engine.Absent {
			b.errorf("it is forgotten twice: %s", text(r))
		}
	}},
	{"erase", "erasing a key does not touch other keys", func(b *bench) {
		b.eraser()
		one, other := b.claimOf("one"), b.claimOf("one:more")
		for _, c := range []engine.Claim{one, other} {
			b.begins(c)
			b.settles(settled(c, engine.Done), engine.Released)
		}
		b.erases(one.Key)
		b.is(one, engine.Absent)
		b.is(other, engine.Done)
	}},
	{"erase", "erasing a key notifies its watchers", func(b *bench) {
		b.eraser()
		c := b.claim()
		b.begins(c)
		b.settles(settled(c, engine.Unknown), engine.Released)
		wake, stop := b.watch(c)
		defer stop()
		b.told(wake)
		drain(wake)
		b.erases(c.Key)
		b.told(wake)
	}},
	{"erase", "an erase whose context is done changes nothing", func(b *bench) {
		e, c := b.eraser(), b.claim()
		b.begins(c)
		b.settles(settled(c, engine.Done), engine.Released)
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		if _, err := e.Erase(ctx, c.Key); err == nil {
			b.errorf("it is erased under a context that is done")
		}
		b.is(c, engine.Done)
	}},
}

// eraser is that of the engine. Without one it skips the law.
func (b *bench) eraser() engine.Eraser {
	e := b.Capabilities().Eraser
	if e == nil {
		b.skip("the engine has no eraser")
	}
	return e
}

// erases demands that the record at key can be erased.
func (b *bench) erases(key string) engine.Record {
	r, err := b.eraser().Erase(b.ctx, key)
	if err != nil {
		b.fatalf("erase: %v", err)
	}
	return r
}
