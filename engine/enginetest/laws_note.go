package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/interlock-go/interlock/engine"
)

// Notes: an operator's switch uses them (requirement T13).
var noteLaws = []Law{
	{"note", "a note that was never written has no text", func(b *testbed) {
		b.noteIs("n", "", 0)
	}},
	{"note", "a note has the text written last", func(b *testbed) {
		b.writesNote("n", "one", 0)
		b.noteIs("n", "one", 1)
		b.writesNote("n", "two", 1)
		b.noteIs("n", "two", 2)
		b.noteIs("m", "", 0)
	}},
	{"note", "a note can be empty, or any text", func(b *testbed) {
		text := "{\"side\":\"standby\"}\n\x00\xff 备用"
		b.writesNote("n", text, 0)
		b.noteIs("n", text, 1)
		b.writesNote("n", "", 1)
		b.noteIs("n", "", 2)
	}},
	{"note", "a note is not overwritten with an outdated version", func(b *testbed) {
		b.writesNote("n", "one", 0)
		b.writeConflicts("n", "another", 0)
		b.writeConflicts("n", "another", 2)
		b.writesNote("n", "two", 1)
		b.writeConflicts("n", "another", 1)
		b.noteIs("n", "two", 2)
	}},
	{"note", "of concurrent writes of a note one succeeds", func(b *testbed) {
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
			b.errorf("%d of 8 writes succeeded, want one", n)
		}
		if n := b.note("n"); n.Version != 1 {
			b.errorf("the version is %d, want 1", n.Version)
		}
	}},
	{"note", "writing a note again with the same text changes nothing", func(b *testbed) {
		b.writesNote("n", "one", 0)
		b.sleepMostOfLease()
		b.writesNote("n", "one", 0)
		b.noteIs("n", "one", 1)
		if age := b.note("n").Age; age < b.Lease/2 {
			b.errorf("the age is %v, want about %v", age, b.Lease*6/10)
		}
	}},
	{"note", "a note reports its age", func(b *testbed) {
		b.writesNote("n", "one", 0)
		if age := b.note("n").Age; age < 0 || age > b.Lease/5 {
			b.errorf("the age of a new note is %v, want about 0", age)
		}
		b.sleepMostOfLease()
		if age := b.note("n").Age; age < b.Lease/2 || age > b.Lease {
			b.errorf("the age is %v, want about %v", age, b.Lease*6/10)
		}
		b.writesNote("n", "two", 1)
		if age := b.note("n").Age; age > b.Lease/5 {
			b.errorf("the age of a new note is %v, want about 0", age)
		}
	}},
	{"note", "the age of a note is never negative", func(b *testbed) {
		b.notes()
		clock := b.clock()
		b.writesNote("n", "one", 0)
		clock.Step(-b.Lease * 10)
		if age := b.note("n").Age; age != 0 {
			b.errorf("the age is %v after the clock was set back, want 0", age)
		}
	}},
	{"note", "a note does not expire", func(b *testbed) {
		b.writesNote("n", "one", 0)
		b.sleepPastLease()
		b.noteIs("n", "one", 1)
	}},
	{"note", "notes and locks are independent", func(b *testbed) {
		b.writesNote("k", "one", 0)
		a := b.ask(ann)
		b.granted(a)
		b.noteIs("k", "one", 1)
		if i := b.Capabilities().Inspector; i != nil {
			locks, _, err := i.List(b.ctx, b.prefix+"*", "")
			if err != nil || len(locks) > 1 {
				b.errorf("List returned %+v, error %v; want one lock", locks, err)
			}
		}
		b.releases(a, engine.Released)
		b.noteIs("k", "one", 1)
	}},
	{"note", "a note needs a name", func(b *testbed) {
		if err := b.notes().WriteNote(b.ctx, "", "text", 0); err == nil {
			b.errorf("a note without a name was written")
		}
		if n, err := b.notes().ReadNote(b.ctx, ""); err == nil {
			b.errorf("ReadNote without a name returned %+v, want an error", n)
		}
	}},
	{"note", "a write whose context is done changes nothing", func(b *testbed) {
		b.wantCanceled(b.notes().WriteNote(b.doneContext(), b.prefix+"n", "one", 0))
		b.noteIs("n", "", 0)
		b.wantCanceled(errOf(b.notes().ReadNote(b.doneContext(), b.prefix+"n")))
	}},
	{"note", "a write whose reply was lost succeeds when repeated", func(b *testbed) {
		b.notes()
		f := NewFaulty(b.Engine)
		n := f.Capabilities().Notes
		f.Inject(Fault{Op: OpNote, Do: LoseReply, Times: 1})
		b.unknown(n.WriteNote(b.ctx, b.prefix+"n", "one", 0))
		b.writesNote("n", "one", 0)
		b.noteIs("n", "one", 1)
	}},
	{"note", "a late write does not replace a newer note", func(b *testbed) {
		b.notes()
		f := NewFaulty(b.Engine)
		n := f.Capabilities().Notes
		b.callerGivesUp(f, OpNote, func(ctx context.Context) error { return n.WriteNote(ctx, b.prefix+"n", "late", 0) })
		b.writesNote("n", "one", 0)
		b.lateCallArrives(f)
		b.noteIs("n", "one", 1)
	}},
}

// notes returns the notes of the engine. Without them it skips the law.
func (b *testbed) notes() engine.Notes {
	n := b.Capabilities().Notes
	if n == nil {
		b.skip("the engine has no notes")
	}
	return n
}

func (b *testbed) note(name string) engine.Note {
	n, err := b.notes().ReadNote(b.ctx, b.prefix+name)
	if err != nil {
		b.fatalf("read: %v", err)
	}
	return n
}

// noteIs requires the text and the version of a note.
func (b *testbed) noteIs(name, text string, version uint64) {
	if n := b.note(name); n.Text != text || n.Version != version {
		b.fatalf("the note is %+v, want %q at version %d", n, text, version)
	}
}

// writesNote requires that a note is written.
func (b *testbed) writesNote(name, text string, version uint64) {
	if err := b.notes().WriteNote(b.ctx, b.prefix+name, text, version); err != nil {
		b.fatalf("write %q over version %d: %v", text, version, err)
	}
}

// writeConflicts requires that a write fails with ErrConflict.
func (b *testbed) writeConflicts(name, text string, version uint64) {
	if err := b.notes().WriteNote(b.ctx, b.prefix+name, text, version); !errors.Is(err, engine.ErrConflict) {
		b.fatalf("write %q over version %d: error %v, want %v", text, version, err, engine.ErrConflict)
	}
}
