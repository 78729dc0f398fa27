package standby_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/standby"
)

// switchLaws check every switch (T13).
func switchLaws(t *testing.T) {
	inWorld(t, "every lease from before a switch expires before anything is granted after it", func(w *world) {
		a, b := w.starts(), w.starts()
		time.Sleep(view / 2)
		w.switches(standby.Standby)
		told := time.Now()
		r := w.ask("k")
		sent := time.Now()
		if _, err := a.Acquire(w.Context(), r); err != nil { // it has not heard of it yet
			w.Fatal(err)
		}
		for {
			g, err := b.Acquire(w.Context(), w.ask("k"))
			if err == nil {
				if since := time.Since(sent); since < r.Lease || !heldOn(w, w.secondary, "k") {
					w.Errorf("granted %+v after %v of a lease of %v", g, since, r.Lease)
				}
				break
			}
			var busy *standby.SwitchingError
			if !errors.Is(err, engine.ErrUnavailable) && !heldOn(w, w.primary, "k") || time.Since(told) > 2*freeze {
				w.Fatal(err)
			}
			if errors.As(err, &busy) && (busy.To != standby.Standby || busy.Epoch != 1 || busy.Until.Before(sent.Add(r.Lease))) {
				w.Fatalf("got %+v", busy)
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	inWorld(t, "the old side grants nothing after View has passed", func(w *world) {
		a := w.starts()
		a.granted(w.ask("before"))
		w.switches(standby.Standby)
		time.Sleep(view)
		a.refused(w.ask("k"), engine.ErrUnavailable)
		time.Sleep(2 * freeze)
		a.granted(w.ask("k"))
		if heldOn(w, w.primary, "k") || !heldOn(w, w.secondary, "k") {
			w.Error("the lock is not where it should be")
		}
	})
	inWorld(t, "a process without a current record grants and renews nothing", func(w *world) {
		a := w.starts()
		r := w.ask("k")
		a.granted(r)
		for _, f := range []interface{ Heal() }{a.toFirst, a.toSecond} {
			defer f.Heal()
		}
		deafen(a.toFirst)
		time.Sleep(view)
		a.refused(w.ask("other"), engine.ErrUnavailable)
		if err := a.Renew(w.Context(), []engine.Request{r})[0]; !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrNotHolder) {
			w.Errorf("renew: %v", err)
		}
		a.toFirst.Heal()
		time.Sleep(view)
		a.granted(w.ask("other"))
	})
	inWorld(t, "the inactive side need not answer", func(w *world) {
		a := w.starts()
		cut(a.toSecond)
		time.Sleep(3 * view)
		a.granted(w.ask("k"))
	})
	inWorld(t, "a process that reaches only the old side grants nothing there", func(w *world) {
		a := w.starts()
		cut(a.toSecond)
		w.switches(standby.Standby)
		for start := time.Now(); time.Since(start) < 5*freeze; {
			time.Sleep(view / 5)
			if time.Since(start) > view {
				a.refused(w.ask("k"), engine.ErrUnavailable)
			}
		}
	})
	inWorld(t, "a process that reaches only the new side waits as long as the others", func(w *world) {
		a := w.starts()
		cut(a.toFirst)
		w.switches(standby.Standby)
		start := time.Now()
		for {
			if _, err := a.Acquire(w.Context(), w.ask("k")); err == nil {
				break
			}
			time.Sleep(view / 20)
		}
		if d := time.Since(start); d < freeze || d > freeze+2*view {
			w.Errorf("it was granted after %v", d)
		}
	})
	inWorld(t, "a process that starts after a switch waits for the rest of the freeze", func(w *world) {
		w.starts()
		w.switches(standby.Standby)
		time.Sleep(freeze / 2)
		a := w.starts()
		var switching *standby.SwitchingError
		if err := a.refused(w.ask("k"), engine.ErrUnavailable); !errors.As(err, &switching) {
			w.Fatal(err)
		} else if left := time.Until(switching.Until); left < freeze/2 || left > freeze/2+view {
			w.Errorf("it has to wait for %v", left)
		}
		time.Sleep(freeze)
		w.starts().granted(w.ask("k"))
	})
	inWorld(t, "the freeze lasts for the longest lease that was requested, and not for the longest allowed", func(w *world) {
		a := w.startsIdle(standby.LongestLease(100 * longest))
		a.requests(2 * longest)
		if r := w.switches(standby.Standby); !r.Switched || r.Freeze < 2*longest || r.Freeze > 2*freeze {
			w.Errorf("the freeze is %v, want about %v", r.Freeze, 2*longest)
		}
		time.Sleep(2 * freeze)
		a.granted(w.ask("k"))
	})
	inWorld(t, "without a lease before it a switch freezes for View", func(w *world) {
		a := w.startsIdle()
		if r := w.switches(standby.Standby); r.Freeze < view || r.Freeze > 2*view {
			w.Errorf("the freeze is %v, want about %v", r.Freeze, view)
		}
		time.Sleep(3 * view)
		a.granted(w.ask("k"))
	})
	inWorld(t, "a lease that is too long for the record is not requested while the record cannot be changed", func(w *world) {
		m := &meddled{Engine: w.primary, mute: true}
		a := join(w, m, w.secondary, standby.LongestLease(longest), standby.View(view))
		if g, err := a.Acquire(w.Context(), w.ask("k")); !errors.Is(err, engine.ErrUnavailable) {
			w.Errorf("got %+v, %v", g, err)
		}
		if heldOn(w, w.primary, "k") {
			w.Error("the lock was requested")
		}
	})
	inWorld(t, "the freeze lasts for the longest lease of all processes", func(w *world) {
		w.starts(standby.LongestLease(10 * longest)).requests(10 * longest)
		a := w.starts()
		time.Sleep(view)
		if r := w.switches(standby.Standby); r.Freeze < 10*longest {
			w.Errorf("the freeze is %v", r.Freeze)
		}
		time.Sleep(9 * longest)
		a.refused(w.ask("k"), engine.ErrUnavailable)
		time.Sleep(2 * longest)
		a.granted(w.ask("k"))
	})
	inWorld(t, "a process with longer leases is granted none before the record says so", func(w *world) {
		w.starts()
		a := w.starts(standby.LongestLease(10 * longest))
		long := w.ask("k")
		long.Lease = 10 * longest
		a.granted(long)
		note, err := w.primary.ReadNote(w.Context(), "interlock:standby")
		if err != nil || !contains(note.Text, `"longest_ms":50000`) {
			w.Errorf("the note is %+v, %v", note, err)
		}
		w.switches(standby.Standby)
		time.Sleep(12 * longest)
		b := w.starts(standby.LongestLease(20 * longest))
		b.granted(w.ask("b")) // the freeze was over when it wrote its own
		time.Sleep(view)
		a.granted(w.ask("a"))
	})
	inWorld(t, "a release after a switch reaches the side of the hold", func(w *world) {
		a := w.starts()
		r, s := w.ask("k"), w.ask("s")
		a.granted(r)
		a.granted(s)
		w.switches(standby.Standby)
		time.Sleep(view)
		if p, err := a.Release(w.Context(), r); err != nil || p.Outcome != engine.Released || heldOn(w, w.primary, "k") {
			w.Errorf("release: %+v, %v", p, err)
		}
		if p, err := a.Abandon(w.Context(), s); err != nil || p.Outcome != engine.Released || heldOn(w, w.primary, "s") {
			w.Errorf("abandon: %+v, %v", p, err)
		}
		time.Sleep(freeze)
		r = w.ask("k")
		a.granted(r)
		if p, err := a.Release(w.Context(), r); err != nil || p.Outcome != engine.Released || heldOn(w, w.secondary, "k") {
			w.Errorf("release: %+v, %v", p, err)
		}
	})
	inWorld(t, "a renewal after a switch fails with ErrSwitched", func(w *world) {
		a := w.starts()
		r, c := w.ask("k"), w.claim("c")
		a.granted(r)
		a.found(c, engine.Running, "")
		w.switches(standby.Standby)
		time.Sleep(view)
		for _, err := range append(a.Renew(w.Context(), []engine.Request{r}), a.Capabilities().Ledger.Renew(w.Context(), []engine.Claim{c})...) {
			if !errors.Is(err, engine.ErrSwitched) || !errors.Is(err, engine.ErrNotHolder) {
				w.Errorf("renew: %v", err)
			}
		}
	})
	inWorld(t, "a later switch counts more than an earlier one", func(w *world) {
		a := w.starts()
		for i, side := range []standby.Side{standby.Standby, standby.Primary, standby.Standby, standby.Primary} {
			w.switches(side)
			time.Sleep(view)
			if st := a.State(); st.Side != side || st.Epoch != uint64(i+1) || st.By != "ops" || st.FrozenUntil.IsZero() {
				w.Errorf("after switch %d: %+v", i+1, st)
			}
		}
		time.Sleep(freeze)
		a.granted(w.ask("k"))
		if !heldOn(w, w.primary, "k") {
			w.Error("the lock is not on the primary")
		}
		if s := a.Stats(); s.Switches != 4 || s.Refused != 0 || s.Forced != 0 {
			w.Errorf("counted: %+v", s)
		}
	})
	inWorld(t, "no lease is longer than the freeze allows", func(w *world) {
		a := w.starts()
		r, c := w.ask("k"), w.claim("c")
		r.Lease, c.Lease = longest+1, longest+1
		_, err := a.Acquire(w.Context(), r)
		_, err2 := a.Capabilities().Ledger.Claim(w.Context(), c)
		for _, err := range []error{err, err2} {
			if err == nil || !contains(err.Error(), "LongestLease") || engine.Temporary(err) {
				w.Errorf("got %v", err)
			}
		}
	})
	inWorld(t, "a process that cannot record its longer leases is granted none", func(w *world) {
		w.starts()
		a := join(w, &meddled{Engine: w.primary, mute: true}, w.secondary, standby.LongestLease(10*longest), standby.View(view))
		time.Sleep(view)
		r := w.ask("k")
		r.Lease = 10 * longest
		if g, err := a.Acquire(w.Context(), r); !errors.Is(err, engine.ErrUnavailable) {
			w.Errorf("got %+v, %v", g, err)
		}
	})
	inWorld(t, "a switch that cannot write to the active side changes nothing", func(w *world) {
		a := w.starts()
		operator := join(w, &meddled{Engine: w.primary, mute: true}, w.secondary, standby.Operator())
		var untold *standby.PartialSwitchError
		if r, err := operator.Switch(w.Context(), standby.Standby); !errors.As(err, &untold) || untold.Done || untold.Side != standby.Primary || r.Switched || r.Already {
			w.Errorf("got %+v, %v", r, err)
		}
		time.Sleep(2 * view)
		if st := a.State(); st.Epoch != 0 {
			w.Errorf("the state is %+v", st)
		}
		a.granted(w.ask("k"))
	})
	inWorld(t, "a concurrent switch gets a conflict", func(w *world) {
		w.starts()
		m := &meddled{Engine: w.primary}
		operator := join(w, m, w.secondary, standby.Operator())
		m.write = func() { w.switches(standby.Local) } // when both sides have been read
		if r, err := operator.Switch(w.Context(), standby.Standby); !errors.Is(err, engine.ErrConflict) {
			w.Errorf("got %+v, %v", r, err)
		}
		if st := w.operator.State(); st.Epoch != 1 || st.Side != standby.Local {
			w.Errorf("the state is %+v", st)
		}
	})
	inWorld(t, "of two concurrent switches one succeeds", func(w *world) {
		w.starts()
		rival := join(w, w.primary, w.secondary, standby.Operator(), standby.Name("rival"))
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
			w.Errorf("%d conflicts, and the state is %+v and %+v", failed.Load(), st, rival.State())
		}
	})
	inWorld(t, "a side that lost its record gets it again", func(w *world) {
		a := w.starts()
		w.switches(standby.Standby)
		empty := memory.New()
		b := join(w, empty, a.toSecond, standby.LongestLease(longest), standby.View(view))
		if st := b.State(); st.Side != standby.Standby || st.Epoch != 1 {
			w.Errorf("the state is %+v", st)
		}
		if n, err := empty.ReadNote(w.Context(), "interlock:standby"); err != nil || !contains(n.Text, `"epoch":1,"side":"standby"`) {
			w.Errorf("it says %+v, %v", n, err)
		}
	})
}

// meddled is an engine whose notes cannot be written, or are overwritten by another
// process after a read.
type meddled struct {
	*memory.Engine
	mute  bool
	write func() // is called once, before something is written
}

func (m *meddled) Capabilities() engine.Capabilities {
	c := m.Engine.Capabilities()
	c.Notes = m
	return c
}

func (m *meddled) WriteNote(ctx context.Context, name, text string, version uint64) error {
	if m.mute {
		return engine.ErrUnavailable
	}
	if write := m.write; write != nil {
		m.write = nil
		write()
	}
	return m.Engine.WriteNote(ctx, name, text, version)
}
