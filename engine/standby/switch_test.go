package standby_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/standby"
)

// switchLaws check every switch (requirement T13).
func switchLaws(t *testing.T) {
	inWorld(t, "every lease from before a switch expires before anything is granted after it", func(w *world) {
		a, b := w.start(), w.start()
		time.Sleep(view / 2)
		w.switchTo(standby.Standby)
		switched := time.Now()
		r := w.request("k")
		sent := time.Now()
		if _, err := a.Acquire(w.Context(), r); err != nil { // a has not read the record yet
			w.Fatal(err)
		}
		for {
			g, err := b.Acquire(w.Context(), w.request("k"))
			if err == nil {
				if since := time.Since(sent); since < r.Lease || !heldOn(w, w.secondary, "k") {
					w.Errorf("b was granted %+v %v after a requested a lease of %v, want a grant of the standby after that lease", g, since, r.Lease)
				}
				break
			}
			var busy *standby.SwitchingError
			if !errors.Is(err, engine.ErrUnavailable) && !heldOn(w, w.primary, "k") || time.Since(switched) > 2*freeze {
				w.Fatalf("acquire %v after the switch: %v, want a refusal during the freeze only", time.Since(switched), err)
			}
			if errors.As(err, &busy) && (busy.To != standby.Standby || busy.Epoch != 1 || busy.Until.Before(sent.Add(r.Lease))) {
				w.Fatalf("refusal = %+v, want epoch 1 on the standby, until the lease of a has expired", busy)
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	inWorld(t, "the old side grants nothing after MaxRecordAge has passed", func(w *world) {
		a := w.start()
		a.granted(w.request("before"))
		w.switchTo(standby.Standby)
		time.Sleep(view)
		a.refused(w.request("k"), engine.ErrUnavailable)
		time.Sleep(2 * freeze)
		a.granted(w.request("k"))
		if heldOn(w, w.primary, "k") || !heldOn(w, w.secondary, "k") {
			w.Error("the lock is not held on the standby only")
		}
	})
	inWorld(t, "a process without a current record grants and renews nothing", func(w *world) {
		a := w.start()
		r := w.request("k")
		a.granted(r)
		for _, f := range []interface{ Heal() }{a.toPrimary, a.toStandby} {
			defer f.Heal()
		}
		refuseNotes(a.toPrimary)
		time.Sleep(view)
		a.refused(w.request("other"), engine.ErrUnavailable)
		if err := a.Renew(w.Context(), []engine.Request{r})[0]; !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrNotHolder) {
			w.Errorf("renew: %v, want %v, which is no loss", err, engine.ErrUnavailable)
		}
		a.toPrimary.Heal()
		time.Sleep(view)
		a.granted(w.request("other"))
	})
	inWorld(t, "the inactive side need not answer", func(w *world) {
		a := w.start()
		cut(a.toStandby)
		time.Sleep(3 * view)
		a.granted(w.request("k"))
	})
	inWorld(t, "a process that reaches only the old side grants nothing there", func(w *world) {
		a := w.start()
		cut(a.toStandby)
		w.switchTo(standby.Standby)
		for start := time.Now(); time.Since(start) < 5*freeze; {
			time.Sleep(view / 5)
			if time.Since(start) > view {
				a.refused(w.request("k"), engine.ErrUnavailable)
			}
		}
	})
	inWorld(t, "a process that reaches only the new side waits as long as the others", func(w *world) {
		a := w.start()
		cut(a.toPrimary)
		w.switchTo(standby.Standby)
		start := time.Now()
		for {
			if _, err := a.Acquire(w.Context(), w.request("k")); err == nil {
				break
			}
			time.Sleep(view / 20)
		}
		if d := time.Since(start); d < freeze || d > freeze+2*view {
			w.Errorf("the lock was granted after %v, want between %v and %v", d, freeze, freeze+2*view)
		}
	})
	inWorld(t, "a process that starts after a switch waits for the rest of the freeze", func(w *world) {
		w.start()
		w.switchTo(standby.Standby)
		time.Sleep(freeze / 2)
		a := w.start()
		var switching *standby.SwitchingError
		if err := a.refused(w.request("k"), engine.ErrUnavailable); !errors.As(err, &switching) {
			w.Fatal(err)
		} else if left := time.Until(switching.Until); left < freeze/2 || left > freeze/2+view {
			w.Errorf("the freeze ends in %v, want about %v", left, freeze/2)
		}
		time.Sleep(freeze)
		w.start().granted(w.request("k"))
	})
	inWorld(t, "the freeze lasts for the longest lease that was requested, and not for the longest allowed", func(w *world) {
		a := w.startIdle(standby.LongestLease(100 * longest))
		a.requestLease(2 * longest)
		if r := w.switchTo(standby.Standby); !r.Switched || r.Freeze < 2*longest || r.Freeze > 2*freeze {
			w.Errorf("the freeze is %v, want about %v", r.Freeze, 2*longest)
		}
		time.Sleep(2 * freeze)
		a.granted(w.request("k"))
	})
	inWorld(t, "a switch before any lease freezes only for MaxRecordAge", func(w *world) {
		a := w.startIdle()
		if r := w.switchTo(standby.Standby); r.Freeze < view || r.Freeze > 2*view {
			w.Errorf("the freeze is %v, want about %v", r.Freeze, view)
		}
		time.Sleep(3 * view)
		a.granted(w.request("k"))
	})
	inWorld(t, "a lease that is too long for the record is not requested while the record cannot be changed", func(w *world) {
		m := &tampered{Engine: w.primary, readOnly: true}
		a := newEngine(w, m, w.secondary, standby.LongestLease(longest), standby.MaxRecordAge(view))
		if g, err := a.Acquire(w.Context(), w.request("k")); !errors.Is(err, engine.ErrUnavailable) {
			w.Errorf("acquire: %+v, %v; want %v", g, err, engine.ErrUnavailable)
		}
		if heldOn(w, w.primary, "k") {
			w.Error("the lock was requested from the primary")
		}
	})
	inWorld(t, "the freeze lasts for the longest lease of all processes", func(w *world) {
		w.start(standby.LongestLease(10 * longest)).requestLease(10 * longest)
		a := w.start()
		time.Sleep(view)
		if r := w.switchTo(standby.Standby); r.Freeze < 10*longest {
			w.Errorf("the freeze is %v, want at least %v", r.Freeze, 10*longest)
		}
		time.Sleep(9 * longest)
		a.refused(w.request("k"), engine.ErrUnavailable)
		time.Sleep(2 * longest)
		a.granted(w.request("k"))
	})
	inWorld(t, "a longer lease is written into the record before it is granted", func(w *world) {
		w.start()
		a := w.start(standby.LongestLease(10 * longest))
		long := w.request("k")
		long.Lease = 10 * longest
		a.granted(long)
		note, err := w.primary.ReadNote(w.Context(), "interlock:standby")
		if err != nil || !contains(note.Text, `"longest_ms":50000`) {
			w.Errorf("the note is %+v, %v; want a longest lease of 50s", note, err)
		}
		w.switchTo(standby.Standby)
		time.Sleep(12 * longest)
		b := w.start(standby.LongestLease(20 * longest))
		b.granted(w.request("b")) // b writes its record after the freeze, so there is no second freeze
		time.Sleep(view)
		a.granted(w.request("a"))
	})
	inWorld(t, "a read that is answered late does not undo a newer one", func(w *world) {
		a := &process{world: w, toPrimary: enginetest.NewFaulty(w.primary), toStandby: enginetest.NewFaulty(w.secondary)}
		// After the late answer, nothing corrects what the process has read.
		slow := &slowReads{Engine: a.toPrimary, after: func() { a.toPrimary.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Refuse}) }}
		a.Engine = newEngine(w, slow, a.toStandby, standby.LongestLease(10*longest), standby.MaxRecordAge(view))
		a.requestLease(longest)
		slow.delay.Store(int64(view * 9 / 10))
		for slow.late.Load() == 0 { // until a poll has read the old record
			time.Sleep(view / 100)
		}
		long := w.request("k")
		long.Lease = 2 * longest
		a.granted(long)
		for slow.late.Load() > 0 {
			time.Sleep(view / 100)
		}
		otherRequest := w.request("other")
		otherRequest.Lease = long.Lease
		a.granted(otherRequest) // the record allows it, so it is not read again
	})
	inWorld(t, "a release after a switch reaches the side of the hold", func(w *world) {
		a := w.start()
		r, s := w.request("k"), w.request("s")
		a.granted(r)
		a.granted(s)
		w.switchTo(standby.Standby)
		time.Sleep(view)
		if p, err := a.Release(w.Context(), r); err != nil || p.Outcome != engine.Released || heldOn(w, w.primary, "k") {
			w.Errorf("release: %+v, %v; want it released on the primary", p, err)
		}
		if p, err := a.Abandon(w.Context(), s); err != nil || p.Outcome != engine.Released || heldOn(w, w.primary, "s") {
			w.Errorf("abandon: %+v, %v; want it released on the primary", p, err)
		}
		time.Sleep(freeze)
		r = w.request("k")
		a.granted(r)
		if p, err := a.Release(w.Context(), r); err != nil || p.Outcome != engine.Released || heldOn(w, w.secondary, "k") {
			w.Errorf("release: %+v, %v; want it released on the standby", p, err)
		}
	})
	inWorld(t, "a renewal after a switch fails with ErrSwitched", func(w *world) {
		a := w.start()
		r, c := w.request("k"), w.claim("c")
		a.granted(r)
		a.wantClaim(c, engine.Running, "")
		w.switchTo(standby.Standby)
		time.Sleep(view)
		for _, err := range append(a.Renew(w.Context(), []engine.Request{r}), a.Capabilities().Ledger.Renew(w.Context(), []engine.Claim{c})...) {
			if !errors.Is(err, engine.ErrSwitched) || !errors.Is(err, engine.ErrNotHolder) {
				w.Errorf("renew: %v, want %v", err, engine.ErrSwitched)
			}
		}
	})
	inWorld(t, "a later switch replaces an earlier one", func(w *world) {
		a := w.start()
		for i, side := range []standby.Side{standby.Standby, standby.Primary, standby.Standby, standby.Primary} {
			w.switchTo(side)
			time.Sleep(view)
			if st := a.State(); st.Side != side || st.Epoch != uint64(i+1) || st.By != "ops" || st.FrozenUntil.IsZero() {
				w.Errorf("the state after switch %d is %+v, want the %v frozen by ops", i+1, st, side)
			}
		}
		time.Sleep(freeze)
		a.granted(w.request("k"))
		if !heldOn(w, w.primary, "k") {
			w.Error("the lock is not on the primary")
		}
		if s := a.Stats(); s.Switches != 4 || s.Refused != 0 || s.Forced != 0 {
			w.Errorf("Stats = %+v, want 4 switches, none forced, and no refusal", s)
		}
	})
	inWorld(t, "a lease longer than LongestLease is refused", func(w *world) {
		a := w.start()
		r, c := w.request("k"), w.claim("c")
		r.Lease, c.Lease = longest+1, longest+1
		_, err := a.Acquire(w.Context(), r)
		_, err2 := a.Capabilities().Ledger.Claim(w.Context(), c)
		for _, err := range []error{err, err2} {
			if err == nil || !contains(err.Error(), "LongestLease") || engine.Temporary(err) {
				w.Errorf("Acquire: err = %v, want a final error that names LongestLease", err)
			}
		}
	})
	inWorld(t, "a longer lease is refused while it cannot be written into the record", func(w *world) {
		w.start()
		a := newEngine(w, &tampered{Engine: w.primary, readOnly: true}, w.secondary, standby.LongestLease(10*longest), standby.MaxRecordAge(view))
		time.Sleep(view)
		r := w.request("k")
		r.Lease = 10 * longest
		if g, err := a.Acquire(w.Context(), r); !errors.Is(err, engine.ErrUnavailable) {
			w.Errorf("acquire: %+v, %v; want %v", g, err, engine.ErrUnavailable)
		}
	})
	inWorld(t, "a switch that cannot write to the active side changes nothing", func(w *world) {
		a := w.start()
		operator := newEngine(w, &tampered{Engine: w.primary, readOnly: true}, w.secondary, standby.Operator())
		var partial *standby.PartialSwitchError
		if r, err := operator.Switch(w.Context(), standby.Standby); !errors.As(err, &partial) || partial.Done || partial.Side != standby.Primary || r.Switched || r.Already {
			w.Errorf("switch: %+v, %v; want a PartialSwitchError of the primary", r, err)
		}
		time.Sleep(2 * view)
		if st := a.State(); st.Epoch != 0 {
			w.Errorf("the state is %+v, want no switch", st)
		}
		a.granted(w.request("k"))
	})
	inWorld(t, "a concurrent switch gets a conflict", func(w *world) {
		w.start()
		m := &tampered{Engine: w.primary}
		operator := newEngine(w, m, w.secondary, standby.Operator())
		m.beforeWrite = func() { w.switchTo(standby.Local) } // when both sides have been read
		if r, err := operator.Switch(w.Context(), standby.Standby); !errors.Is(err, engine.ErrConflict) {
			w.Errorf("switch: %+v, %v; want %v", r, err, engine.ErrConflict)
		}
		if st := w.operator.State(); st.Epoch != 1 || st.Side != standby.Local {
			w.Errorf("the state is %+v, want the first switch, to Local", st)
		}
	})
	inWorld(t, "of two concurrent switches one succeeds", func(w *world) {
		w.start()
		rival := newEngine(w, w.primary, w.secondary, standby.Operator(), standby.Name("rival"))
		var failed atomic.Int32
		done := make(chan struct{})
		for _, o := range []*standby.Engine{w.operator, rival} {
			go func() {
				if _, err := o.Switch(w.Context(), standby.Standby); errors.Is(err, engine.ErrConflict) {
					failed.Add(1)
				} else if err != nil {
					w.Error(err)
				}
				done <- struct{}{}
			}()
		}
		<-done
		<-done
		time.Sleep(view)
		if st := w.operator.State(); st.Epoch != 1 || st.By != rival.State().By {
			w.Errorf("%d conflicts, and the states are %+v and %+v; want one switch by one operator", failed.Load(), st, rival.State())
		}
	})
	inWorld(t, "a side that lost its record gets it again", func(w *world) {
		a := w.start()
		w.switchTo(standby.Standby)
		empty := memory.New()
		b := newEngine(w, empty, a.toStandby, standby.LongestLease(longest), standby.MaxRecordAge(view))
		if st := b.State(); st.Side != standby.Standby || st.Epoch != 1 {
			w.Errorf("the state is %+v, want epoch 1 on the standby", st)
		}
		if n, err := empty.ReadNote(w.Context(), "interlock:standby"); err != nil || !contains(n.Text, `"epoch":1,"side":"standby"`) {
			w.Errorf("the note of the empty side is %+v, %v; want epoch 1 on the standby", n, err)
		}
	})
}

// tampered is an engine whose notes cannot be written, or are overwritten by another
// process before a write.
type tampered struct {
	*memory.Engine
	readOnly    bool   // notes cannot be written
	beforeWrite func() // is called once, before the first write
}

func (m *tampered) Capabilities() engine.Capabilities {
	c := m.Engine.Capabilities()
	c.Notes = m
	return c
}

func (m *tampered) WriteNote(ctx context.Context, name, text string, version uint64) error {
	if m.readOnly {
		return engine.ErrUnavailable
	}
	if write := m.beforeWrite; write != nil {
		m.beforeWrite = nil
		write()
	}
	return m.Engine.WriteNote(ctx, name, text, version)
}

// slowReads is an engine whose next read of a note is answered after a delay.
type slowReads struct {
	engine.Engine
	delay atomic.Int64 // of the next read
	late  atomic.Int32 // reads that wait for their delay
	after func()       // called before the late answer
}

func (e *slowReads) Capabilities() engine.Capabilities {
	c := e.Engine.Capabilities()
	c.Notes = slowNotes{c.Notes, e}
	return c
}

type slowNotes struct {
	engine.Notes
	engine *slowReads
}

func (n slowNotes) ReadNote(ctx context.Context, name string) (engine.Note, error) {
	note, err := n.Notes.ReadNote(ctx, name)
	if delay := n.engine.delay.Swap(0); delay > 0 {
		n.engine.late.Add(1)
		time.Sleep(time.Duration(delay))
		n.engine.after()
		n.engine.late.Add(-1)
	}
	return note, err
}
