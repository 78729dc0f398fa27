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

// refuseNotes makes all reads and writes of notes fail.
func refuseNotes(f *enginetest.Faulty) {
	f.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Refuse})
}

// forceLaws check unreachable sides (requirement T13).
func forceLaws(t *testing.T) {
	inWorld(t, "a switch that cannot write to a side is refused and changes nothing", func(w *world) {
		a := w.start()
		for _, f := range []*enginetest.Faulty{a.toPrimary, a.toStandby} {
			refuseNotes(f)
			var partial *standby.PartialSwitchError
			if _, err := a.Switch(w.Context(), standby.Standby); !errors.As(err, &partial) || partial.Done || !contains(err.Error(), "Force") {
				w.Errorf("switch: %v, want a PartialSwitchError that advises Force", err)
			}
			f.Heal()
			time.Sleep(view)
			if st := a.State(); st.Epoch != 0 || st.Side != standby.Primary {
				w.Errorf("the state is %+v, want the primary and no switch", st)
			}
		}
		a.granted(w.request("k"))
	})
	inWorld(t, "a forced switch is obeyed by processes that reach both sides", func(w *world) {
		a, b := w.start(), w.start()
		cut(a.toPrimary)
		time.Sleep(view)
		report, err := a.Switch(w.Context(), standby.Standby, standby.Force())
		if err != nil || len(report.Written) != 1 || report.Written[0] != standby.Standby || report.NotWritten[standby.Primary] == nil {
			w.Errorf("switch: %+v, %v; want it written on the standby only", report, err)
		}
		if s := a.Stats(); s.Forced != 1 {
			w.Errorf("Stats = %+v, want 1 forced switch", s)
		}
		time.Sleep(view)
		b.refused(w.request("k"), engine.ErrUnavailable)
		if n, err := w.primary.ReadNote(w.Context(), "interlock:standby"); err != nil || !contains(n.Text, `"epoch":1`) {
			w.Errorf("the note of the primary is %+v, %v; want epoch 1", n, err)
		}
	})
	inWorld(t, "if a process cannot read a forced switch, a lock may have two holders, with two fences", func(w *world) {
		_ = w.operator.Close() // otherwise it would write the record on the primary
		a, b := w.start(), w.start()
		cut(a.toPrimary)
		cut(b.toStandby)
		time.Sleep(view)
		if _, err := a.Switch(w.Context(), standby.Standby, standby.Force()); err != nil {
			w.Fatal(err)
		}
		time.Sleep(freeze + 2*view)
		first := b.granted(w.request("k"))
		time.Sleep(time.Millisecond)
		second := a.granted(w.request("k"))
		if second.Fence <= first.Fence || a.Stats().Forced != 1 {
			w.Errorf("fences %d and %d, %d forced switches; want rising fences and 1 forced switch", first.Fence, second.Fence, a.Stats().Forced)
		}
	})
	inWorld(t, "a forced switch freezes for a lease that was requested just before the primary failed", func(w *world) {
		_ = w.operator.Close() // otherwise it would write the record on the standby
		a, b := w.startIdle(), w.startIdle()
		time.Sleep(view)
		a.granted(w.request("k"))
		cut(a.toPrimary)
		cut(b.toPrimary)
		if r, err := b.Switch(w.Context(), standby.Standby, standby.Force()); err != nil || r.Freeze < longest {
			w.Errorf("switch: freeze %v, error %v; want a freeze of at least the lease, %v", r.Freeze, err, longest)
		}
		for start := time.Now(); time.Since(start) < longest; time.Sleep(view / 10) {
			if g, err := b.Acquire(w.Context(), w.request("k")); err == nil {
				w.Fatalf("a second holder has the lock after %v: %+v", time.Since(start), g)
			}
		}
	})
	inWorld(t, "a forced switch to an unreachable side reports that it was made", func(w *world) {
		a := w.start()
		cut(a.toStandby)
		time.Sleep(view)
		var partial *standby.PartialSwitchError
		if _, err := a.Switch(w.Context(), standby.Standby, standby.Force()); !errors.As(err, &partial) || !partial.Done {
			w.Errorf("switch: %v, want a PartialSwitchError with Done", err)
		}
		a.toStandby.Heal()
		time.Sleep(freeze + 2*view)
		a.granted(w.request("k"))
	})
	inWorld(t, "a lost reply does not fail a switch", func(w *world) {
		a := w.start()
		a.toPrimary.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Duplicate, Times: 3})
		time.Sleep(view / 10)
		a.toStandby.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Duplicate, Times: 3})
		if r, err := a.Switch(w.Context(), standby.Standby); err != nil || len(r.Written) != 2 || r.State.Epoch != 1 {
			w.Errorf("switch: %+v, %v; want epoch 1 written on both sides", r, err)
		}
	})
	inWorld(t, "a process switches automatically only if allowed, and counts it", func(w *world) {
		a, b := w.start(), w.start(standby.Automatic(3*view))
		cut(a.toPrimary)
		cut(b.toPrimary)
		time.Sleep(2 * view)
		if st := b.State(); st.Epoch != 0 {
			w.Errorf("the process switched too early: %+v", st)
		}
		time.Sleep(3 * view)
		if st := b.State(); st.Epoch != 1 || st.Side != standby.Standby || !contains(st.By, "automatic") {
			w.Errorf("the state is %+v, want an automatic switch to the standby", st)
		}
		time.Sleep(freeze + view)
		a.granted(w.request("k"))
		if x, y := a.Stats(), b.Stats(); x.Automatic != 0 || y.Automatic != 1 {
			w.Errorf("Stats = %+v and %+v, want 0 and 1 automatic switches", x, y)
		}
	})
	inWorld(t, "on Local every process grants its own locks, and marks them", func(w *world) {
		var log strings.Builder
		a := w.start(standby.Logger(slog.New(slog.NewTextHandler(&log, nil))))
		b := w.start()
		w.switchTo(standby.Local)
		time.Sleep(freeze / 2)
		a.refused(w.request("k"), engine.ErrUnavailable)
		time.Sleep(freeze)
		for range 3 {
			if g := a.granted(w.request("k")); !g.Local {
				w.Errorf("grant = %+v, want a local one", g)
			}
			time.Sleep(longest)
		}
		a.granted(w.request("k"))
		b.granted(w.request("k"))
		if r := a.wantClaim(w.claim("c"), engine.Running, ""); !r.Local {
			w.Errorf("record = %+v, want a local one", r)
		}
		h, err := a.Capabilities().Prober.Probe(w.Context())
		if err != nil || h.Topology != engine.Standby || len(h.Parts) != 2 || h.Parts[0].Name != "primary" || !contains(strings.Join(h.Notices, "; "), "degraded") {
			w.Errorf("health: %+v, %v; want two parts and a notice that it is degraded", h, err)
		}
		w.switchTo(standby.Primary)
		time.Sleep(freeze + 2*view)
		if g := a.granted(w.request("k")); g.Local {
			w.Errorf("grant = %+v, want one of the primary", g)
		}
		if n := strings.Count(log.String(), "standby: switched"); n != 2 {
			w.Errorf("two switches were logged %d times:\n%s", n, &log)
		}
	})
	inWorld(t, "a process that reaches neither side degrades only if allowed, and returns", func(w *world) {
		a, b := w.start(standby.Degrade(3*view)), w.start()
		for _, p := range []*process{a, b} {
			cut(p.toPrimary)
			cut(p.toStandby)
		}
		time.Sleep(5*view + freeze)
		if g := a.granted(w.request("k")); !g.Local || !a.State().Alone || a.Stats().Degraded != 1 {
			w.Errorf("grant %+v in state %+v, want a local grant of a process that degraded once", g, a.State())
		}
		b.refused(w.request("k"), engine.ErrUnavailable)
		a.toPrimary.Heal()
		time.Sleep(view)
		a.refused(w.request("k"), engine.ErrUnavailable) // its own grants must expire first
		time.Sleep(freeze + view)
		if g := a.granted(w.request("k")); g.Local || a.State().Epoch != 0 || a.State().Side != standby.Primary {
			w.Errorf("grant %+v in state %+v, want a grant of the primary without a switch", g, a.State())
		}
	})
	inWorld(t, "a switch to Local with both sides unreachable affects this process only", func(w *world) {
		a := w.start()
		cut(a.toPrimary)
		cut(a.toStandby)
		if _, err := a.Switch(w.Context(), standby.Local); err == nil {
			w.Error("a switch without Force succeeded although both sides are unreachable")
		}
		if r, err := a.Switch(w.Context(), standby.Local, standby.Force()); err != nil || !r.State.Alone || len(r.Written) != 0 {
			w.Errorf("switch: %+v, %v; want this process alone on Local", r, err)
		}
		time.Sleep(freeze + view)
		a.granted(w.request("k"))
	})
	inWorld(t, "unsuitable engines are refused by New", func(w *world) {
		if _, err := standby.New(w.Context(), memory.New(), withoutNotes{memory.New()}); !errors.Is(err, errors.ErrUnsupported) {
			w.Errorf("New with an engine without notes: %v, want %v", err, errors.ErrUnsupported)
		}
		p, s := enginetest.NewFaulty(w.primary), enginetest.NewFaulty(w.secondary)
		refuseNotes(p)
		refuseNotes(s)
		if _, err := standby.New(w.Context(), p, s); !errors.Is(err, engine.ErrUnavailable) {
			w.Errorf("New with both sides unreachable: %v, want %v", err, engine.ErrUnavailable)
		}
	})
	inWorld(t, "nothing is granted after Close, or to an operator", func(w *world) {
		a := w.start()
		_ = a.Close()
		a.refused(w.request("k"), engine.ErrClosed)
		if _, err := w.operator.Acquire(w.Context(), w.request("k")); err == nil {
			w.Error("an operator was granted a lock")
		}
	})
}

// withoutNotes is an engine without notes.
type withoutNotes struct{ engine.Engine }

func (withoutNotes) Capabilities() engine.Capabilities { return engine.Capabilities{} }
