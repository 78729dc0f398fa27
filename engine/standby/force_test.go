package standby_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/standby"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// deafen blocks all notes.
func deafen(f *enginetest.Faulty) {
	f.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Refuse})
}

// forceLaws check unreachable sides (T13).
func forceLaws(t *testing.T) {
	inWorld(t, "a switch that cannot write to a side is refused and changes nothing", func(w *world) {
		a := w.starts()
		for _, f := range []*enginetest.Faulty{a.toFirst, a.toSecond} {
			deafen(f)
			var untold *standby.PartialSwitchError
			if _, err := a.Switch(w.Context(), standby.Standby); !errors.As(err, &untold) || untold.Done || !contains(err.Error(), "Force") {
				w.Errorf("switch: %v", err)
			}
			f.Heal()
			time.Sleep(view)
			if st := a.State(); st.Epoch != 0 || st.Side != standby.Primary {
				w.Errorf("the state is %+v", st)
			}
		}
		a.granted(w.ask("k"))
	})
	inWorld(t, "a forced switch is obeyed by processes that reach both sides", func(w *world) {
		a, b := w.starts(), w.starts()
		cut(a.toFirst)
		time.Sleep(view)
		report, err := a.Switch(w.Context(), standby.Standby, standby.Force())
		if err != nil || len(report.Written) != 1 || report.Written[0] != standby.Standby || report.NotWritten[standby.Primary] == nil {
			w.Errorf("got %+v, %v", report, err)
		}
		if s := a.Stats(); s.Forced != 1 {
			w.Errorf("counted: %+v", s)
		}
		time.Sleep(view)
		b.refused(w.ask("k"), engine.ErrUnavailable)
		if n, err := w.primary.ReadNote(w.Context(), "interlock:standby"); err != nil || !contains(n.Text, `"epoch":1`) {
			w.Errorf("the primary says %+v, %v: no switch was written to it", n, err)
		}
	})
	inWorld(t, "a forced switch past an unreachable process may give a lock two holders with two fences", func(w *world) {
		_ = w.operator.Close() // it would tell the primary
		a, b := w.starts(), w.starts()
		cut(a.toFirst)
		cut(b.toSecond)
		time.Sleep(view)
		if _, err := a.Switch(w.Context(), standby.Standby, standby.Force()); err != nil {
			w.Fatal(err)
		}
		time.Sleep(freeze + 2*view)
		first := b.granted(w.ask("k"))
		time.Sleep(time.Millisecond)
		second := a.granted(w.ask("k"))
		if second.Fence <= first.Fence || a.Stats().Forced != 1 {
			w.Errorf("the fences are %d and %d, and it was counted %d times", first.Fence, second.Fence, a.Stats().Forced)
		}
	})
	inWorld(t, "a forced switch freezes for a lease that was requested just before the primary failed", func(w *world) {
		_ = w.operator.Close() // it would tell the standby
		a, b := w.startsIdle(), w.startsIdle()
		time.Sleep(view)
		a.granted(w.ask("k"))
		cut(a.toFirst)
		cut(b.toFirst)
		if r, err := b.Switch(w.Context(), standby.Standby, standby.Force()); err != nil || r.Freeze < longest {
			w.Errorf("the freeze is %v (%v), and the lease %v", r.Freeze, err, longest)
		}
		for start := time.Now(); time.Since(start) < longest; time.Sleep(view / 10) {
			if g, err := b.Acquire(w.Context(), w.ask("k")); err == nil {
				w.Fatalf("a second holder has the lock after %v: %+v", time.Since(start), g)
			}
		}
	})
	inWorld(t, "a forced switch to an unreachable side reports that it was made", func(w *world) {
		a := w.starts()
		cut(a.toSecond)
		time.Sleep(view)
		var untold *standby.PartialSwitchError
		if _, err := a.Switch(w.Context(), standby.Standby, standby.Force()); !errors.As(err, &untold) || !untold.Done {
			w.Errorf("switch: %v", err)
		}
		a.toSecond.Heal()
		time.Sleep(freeze + 2*view)
		a.granted(w.ask("k"))
	})
	inWorld(t, "a lost reply does not fail a switch", func(w *world) {
		a := w.starts()
		a.toFirst.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Duplicate, Times: 3})
		time.Sleep(view / 10)
		a.toSecond.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Duplicate, Times: 3})
		if r, err := a.Switch(w.Context(), standby.Standby); err != nil || len(r.Written) != 2 || r.State.Epoch != 1 {
			w.Errorf("got %+v, %v", r, err)
		}
	})
	inWorld(t, "a process switches automatically only if allowed, and counts it", func(w *world) {
		a, b := w.starts(), w.starts(standby.Automatic(3*view))
		cut(a.toFirst)
		cut(b.toFirst)
		time.Sleep(2 * view)
		if st := b.State(); st.Epoch != 0 {
			w.Errorf("too early: %+v", st)
		}
		time.Sleep(3 * view)
		if st := b.State(); st.Epoch != 1 || st.Side != standby.Standby || !contains(st.By, "automatic") {
			w.Errorf("the state is %+v", st)
		}
		time.Sleep(freeze + view)
		a.granted(w.ask("k"))
		if x, y := a.Stats(), b.Stats(); x.Automatic != 0 || y.Automatic != 1 {
			w.Errorf("counted: %+v and %+v", x, y)
		}
	})
	inWorld(t, "on Local every process grants its own locks, and marks them", func(w *world) {
		var log strings.Builder
		a := w.starts(standby.Logger(slog.New(slog.NewTextHandler(&log, nil))))
		b := w.starts()
		w.switches(standby.Local)
		time.Sleep(freeze / 2)
		a.refused(w.ask("k"), engine.ErrUnavailable)
		time.Sleep(freeze)
		for range 3 {
			if g := a.granted(w.ask("k")); !g.Local {
				w.Errorf("got %+v", g)
			}
			time.Sleep(longest)
		}
		a.granted(w.ask("k"))
		b.granted(w.ask("k"))
		if r := a.found(w.claim("c"), engine.Running, ""); !r.Local {
			w.Errorf("got %+v", r)
		}
		h, err := a.Capabilities().Prober.Probe(w.Context())
		if err != nil || h.Topology != engine.Standby || len(h.Parts) != 2 || h.Parts[0].Name != "primary" || !contains(strings.Join(h.Notices, "; "), "degraded") {
			w.Errorf("health: %+v, %v", h, err)
		}
		w.switches(standby.Primary)
		time.Sleep(freeze + 2*view)
		if g := a.granted(w.ask("k")); g.Local {
			w.Errorf("got %+v", g)
		}
		if n := strings.Count(log.String(), "standby: switched"); n != 2 {
			w.Errorf("two switches, and the log has\n%s", &log)
		}
	})
	inWorld(t, "a process that reaches neither side degrades only if allowed, and returns", func(w *world) {
		a, b := w.starts(standby.Degrade(3*view)), w.starts()
		for _, p := range []*process{a, b} {
			cut(p.toFirst)
			cut(p.toSecond)
		}
		time.Sleep(5*view + freeze)
		if g := a.granted(w.ask("k")); !g.Local || !a.State().Alone || a.Stats().Degraded != 1 {
			w.Errorf("got %+v in %+v", g, a.State())
		}
		b.refused(w.ask("k"), engine.ErrUnavailable)
		a.toFirst.Heal()
		time.Sleep(view)
		a.refused(w.ask("k"), engine.ErrUnavailable) // its own grants must expire first
		time.Sleep(freeze + view)
		if g := a.granted(w.ask("k")); g.Local || a.State().Epoch != 0 || a.State().Side != standby.Primary {
			w.Errorf("got %+v in %+v", g, a.State())
		}
	})
	inWorld(t, "a switch to Local with both sides unreachable affects this process only", func(w *world) {
		a := w.starts()
		cut(a.toFirst)
		cut(a.toSecond)
		if _, err := a.Switch(w.Context(), standby.Local); err == nil {
			w.Error("it was not even forced")
		}
		if r, err := a.Switch(w.Context(), standby.Local, standby.Force()); err != nil || !r.State.Alone || len(r.Written) != 0 {
			w.Errorf("got %+v, %v", r, err)
		}
		time.Sleep(freeze + view)
		a.granted(w.ask("k"))
	})
	inWorld(t, "unsuitable engines are refused by New", func(w *world) {
		if _, err := standby.New(w.Context(), memory.New(), silent{memory.New()}); !errors.Is(err, errors.ErrUnsupported) {
			w.Errorf("got %v", err)
		}
		p, s := enginetest.NewFaulty(w.primary), enginetest.NewFaulty(w.secondary)
		deafen(p)
		deafen(s)
		if _, err := standby.New(w.Context(), p, s); !errors.Is(err, engine.ErrUnavailable) {
			w.Errorf("got %v", err)
		}
	})
	inWorld(t, "nothing is granted after Close, or to an operator", func(w *world) {
		a := w.starts()
		_ = a.Close()
		a.refused(w.ask("k"), engine.ErrClosed)
		if _, err := w.operator.Acquire(w.Context(), w.ask("k")); err == nil {
			w.Error("an operator has a lock")
		}
	})
}

// silent is an engine without notes.
type silent struct{ engine.Engine }

func (silent) Capabilities() engine.Capabilities { return engine.Capabilities{} }
