package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/interlock-go/interlock/engine"
)

// Notes: an operator's switch uses them (T13).
var noteLaws = []Law{
	{"note", "a note that was never written has no text", func(b *bench) {
		b.noted("n", "", 0)
	}},
	{"note", "a note has the text written last", func(b *bench) {
		b.writes("n", "one", 0)
		b.noted("n", "one", 1)
		b.writes("n", "two", 1)
		b.noted("n", "two", 2)
		b.noted("m", "", 0)
	}},
	{"note", "a note can be empty, or any text", func(b *bench) {
		text := "{\"side\":\"standby\"}\n\x00\xff 备用"
		b.writes("n", text, 0)
		b.noted("n", text, 1)
		b.writes("n", "", 1)
		b.noted("n", "", 2)
	}},
	{"note", "a note is not overwritten with an outdated version", func(b *bench) {
		b.writes("n", "one", 0)
		b.conflicts("n", "another", 0)
		b.conflicts("n", "another", 2)
		b.writes("n", "two", 1)
		b.conflicts("n", "another", 1)
		b.noted("n", "two", 2)
	}},
	{"note", "of concurrent writes of a note one succeeds", func(b *bench) {
		b.notes()
		var wrote atomic.Int32
		b.together(8, func(i int) {
			err := b.notes().WriteNote(b.ctx, b.prefix+"n", fmt.Sprint("by ", i), 0)
			if err == nil {
				wrote.Add(1)
			} else if !errors.Is(err, engine.ErrConflict) {
				b.errorf("write: %v, want %v", err, engine.ErrConflict)
			}
		})
		if n := wrote.Load(); n != 1 {
			b.errorf("%d of 8 are told that they have written it", n)
		}
		if n := b.note("n"); n.Version != 1 {
			b.errorf("it was written %d times", n.Version)
		}
	}},
	{"note", "a note written twice with the same text was written once", func(b *bench) {
		b.writes("n", "one", 0)
		b.passMost()
		b.writes("n", "one", 0)
		b.noted("n", "one", 1)
		if age := b.note("n").Age; age < b.Lease/2 {
			b.errorf("it is %v old, and was written %v ago", age, b.Lease*6/10)
		}
	}},
	{"note", "a note reports its age", func(b *bench) {
		b.writes("n", "one", 0)
		if age := b.note("n").Age; age < 0 || age > b.Lease/5 {
			b.errorf("a new one is %v old", age)
		}
		b.passMost()
		if age := b.note("n").Age; age < b.Lease/2 || age > b.Lease {
			b.errorf("it is %v old, and was written %v ago", age, b.Lease*6/10)
		}
		b.writes("n", "two", 1)
		if age := b.note("n").Age; age > b.Lease/5 {
			b.errorf("a new one is %v old", age)
		}
	}},
	{"note", "the age of a note is never negative", func(b *bench) {
		b.notes()
		clock := b.clock()
		b.writes("n", "one", 0)
		clock.Step(-b.Lease * 10)
		if age := b.note("n").Age; age != 0 {
			b.errorf("it is %v old after the clock was set back", age)
		}
	}},
	{"note", "a note does not expire", func(b *bench) {
		b.writes("n", "one", 0)
		b.passAll()
		b.noted("n", "one", 1)
	}},
	{"note", "notes and locks are independent", func(b *bench) {
		b.writes("k", "one", 0)
		a := b.ask(ann)
		b.granted(a)
		b.noted("k", "one", 1)
		if i := b.Capabilities().Inspector; i != nil {
			locks, _, err := i.List(b.ctx, b.prefix+"*", "")
			if err != nil || len(locks) > 1 {
				b.errorf("listed are %+v, error %v", locks, err)
			}
		}
		b.leaves(a, engine.Released)
		b.noted("k", "one", 1)
	}},
	{"note", "a note needs a name", func(b *bench) {
		if err := b.notes().WriteNote(b.ctx, "", "text", 0); err == nil {
			b.errorf("one without a name was written")
		}
		if n, err := b.notes().ReadNote(b.ctx, ""); err == nil {
			b.errorf("one without a name is %+v", n)
		}
	}},
	{"note", "a write whose context is done changes nothing", func(b *bench) {
		b.cancelled(b.notes().WriteNote(b.done(), b.prefix+"n", "one", 0))
		b.noted("n", "", 0)
		b.cancelled(second(b.notes().ReadNote(b.done(), b.prefix+"n")))
	}},
	{"note", "a write whose reply was lost succeeds when repeated", func(b *bench) {
		b.notes()
		f := NewFaulty(b.Engine)
		n := f.Capabilities().Notes
		f.Inject(Fault{Op: OpNote, Do: LoseReply, Times: 1})
		b.unknown(n.WriteNote(b.ctx, b.prefix+"n", "one", 0))
		b.writes("n", "one", 0)
		b.noted("n", "one", 1)
	}},
	{"note", "a late write does not replace a newer note", func(b *bench) {
		b.notes()
		f := NewFaulty(b.Engine)
		n := f.Capabilities().Notes
		b.givesUp(f, OpNote, func(ctx context.Context) error { return n.WriteNote(ctx, b.prefix+"n", "late", 0) })
		b.writes("n", "one", 0)
		b.arrives(f)
		b.noted("n", "one", 1)
	}},
}

// notes are those of the engine. It ends the law if there are none.
func (b *bench) notes() engine.Notes {
	n := b.Capabilities().Notes
	if n == nil {
		b.skip("the engine has no notes")
	}
	return n
}

func (b *bench) note(name string) engine.Note {
	n, err := b.notes().ReadNote(b.ctx, b.prefix+name)
	if err != nil {
		b.fatalf("read: %v", err)
	}
	return n
}

// noted demands what a note says.
func (b *bench) noted(name, text string, version uint64) {
	if n := b.note(name); n.Text != text || n.Version != version {
		b.fatalf("the note is %+v, want %q at version %d", n, text, version)
	}
}

// writes demands that a note is written.
func (b *bench) writes(name, text string, version uint64) {
	if err := b.notes().WriteNote(b.ctx, b.prefix+name, text, version); err != nil {
		b.fatalf("write %q over version %d: %v", text, version, err)
	}
}

// conflicts demands that a note is not written.
func (b *bench) conflicts(name, text string, version uint64) {
	if err := b.notes().WriteNote(b.ctx, b.prefix+name, text, version); !errors.Is(err, engine.ErrConflict) {
		b.fatalf("write %q over version %d: error %v, want %v", text, version, err, engine.ErrConflict)
	}
}
