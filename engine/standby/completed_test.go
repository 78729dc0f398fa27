package standby_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/standby"
)

const noteName = "interlock:standby"

// completionLaws check switches that another process completes, and lost records
// (T13).
func completionLaws(t *testing.T) {
	inWorld(t, "a process with longer leases that completes a switch does not shorten the freeze", func(w *world) {
		_ = w.operator.Close() // it would complete the switch
		a := w.starts()
		a.granted(w.ask("k"))
		_ = a.Close() // so would this one; but its lease runs
		w.dies()
		b := w.starts(standby.LongestLease(2 * longest))
		time.Sleep(view)
		b.refused(w.ask("k"), engine.ErrUnavailable)
		time.Sleep(freeze + 2*view)
		b.granted(w.ask("k"))
	})
	inWorld(t, "a side without a record is not trusted before the other side was read", func(w *world) {
		_ = w.operator.Close() // it would write it again
		a := w.starts()
		if _, err := a.Switch(w.Context(), standby.Standby); err != nil {
			w.Fatal(err)
		}
		time.Sleep(freeze + 2*view)
		a.granted(w.ask("k"))
		cut(a.toFirst)
		w.primary = memory.New()
		b := &process{world: w, toFirst: enginetest.NewFaulty(w.primary), toSecond: enginetest.NewFaulty(w.secondary)}
		cut(b.toSecond)
		b.Engine = join(w, b.toFirst, b.toSecond, standby.LongestLease(longest), standby.View(view))
		time.Sleep(view)
		b.refused(w.ask("k"), engine.ErrUnavailable)
		b.toSecond.Heal()
		time.Sleep(view)
		if st := b.State(); st.Side != standby.Standby || st.Closed != nil {
			w.Errorf("the state is %+v", st)
		}
	})
	inWorld(t, "of two operators that end Local concurrently one gets a conflict", func(w *world) {
		w.switches(standby.Local)
		to := []standby.Side{standby.Primary, standby.Standby}
		var errs [2]error
		var both sync.WaitGroup
		for i := range to {
			p := w.starts(standby.Operator(), standby.Name(to[i].String()))
			for _, f := range []*enginetest.Faulty{p.toFirst, p.toSecond} {
				f.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Delay, After: time.Millisecond})
			}
			both.Go(func() { _, errs[i] = p.Switch(w.Context(), to[i]) })
		}
		both.Wait()
		lost := slices.IndexFunc(errs[:], func(err error) bool { return errors.Is(err, engine.ErrConflict) })
		if lost < 0 || errs[1-lost] != nil {
			w.Errorf("they were told %v and %v", errs[0], errs[1])
		}
	})
	inWorld(t, "a slow switch does not overwrite a newer record", func(w *world) {
		slow := w.starts(standby.Operator(), standby.Name("slow"))
		slow.toFirst.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Delay, After: time.Millisecond, Times: 1})
		slow.toFirst.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Hang}) // the written record
		time.AfterFunc(view/2, func() { w.switches(standby.Local) })
		if r, err := slow.Switch(w.Context(), standby.Standby, standby.Force()); !errors.Is(err, engine.ErrConflict) {
			w.Errorf("switch: %+v, %v", r, err)
		}
		if n, err := w.secondary.ReadNote(w.Context(), noteName); err != nil || !contains(n.Text, `"by":"ops"`) {
			w.Errorf("the standby says %+v, %v", n, err)
		}
	})
}

// dies is an operator that writes a switch to the primary only.
func (w *world) dies() {
	w.Helper()
	n, err := w.primary.ReadNote(w.Context(), noteName)
	if err != nil {
		w.Fatal(err)
	}
	text := strings.NewReplacer(`"epoch":0`, `"epoch":1`, `"side":"primary"`, `"side":"standby","by":"who died"`, `,"thawed":true`, "").Replace(n.Text)
	if err := w.primary.WriteNote(w.Context(), noteName, text, n.Version); err != nil || text == n.Text {
		w.Fatalf("writing %s: %v", text, err)
	}
}
