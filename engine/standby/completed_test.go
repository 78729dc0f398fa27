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
// (requirement T13).
func completionLaws(t *testing.T) {
	inWorld(t, "a process with longer leases that completes a switch does not shorten the freeze", func(w *world) {
		_ = w.operator.Close() // otherwise it would complete the switch
		a := w.start()
		a.granted(w.request("k"))
		_ = a.Close() // otherwise it would complete the switch, too; its lease is still valid
		w.switchPrimaryOnly()
		b := w.start(standby.LongestLease(2 * longest))
		time.Sleep(view)
		b.refused(w.request("k"), engine.ErrUnavailable)
		time.Sleep(freeze + 2*view)
		b.granted(w.request("k"))
	})
	inWorld(t, "a side without a record is not trusted before the other side was read", func(w *world) {
		_ = w.operator.Close() // otherwise it would write the record again
		a := w.start()
		if _, err := a.Switch(w.Context(), standby.Standby); err != nil {
			w.Fatal(err)
		}
		time.Sleep(freeze + 2*view)
		a.granted(w.request("k"))
		cut(a.toPrimary)
		w.primary = memory.New()
		b := &process{world: w, toPrimary: enginetest.NewFaulty(w.primary), toStandby: enginetest.NewFaulty(w.secondary)}
		cut(b.toStandby)
		b.Engine = newEngine(w, b.toPrimary, b.toStandby, standby.LongestLease(longest), standby.MaxRecordAge(view))
		time.Sleep(view)
		b.refused(w.request("k"), engine.ErrUnavailable)
		b.toStandby.Heal()
		time.Sleep(view)
		if st := b.State(); st.Side != standby.Standby || st.Closed != nil {
			w.Errorf("the state is %+v, want the standby active and open", st)
		}
	})
	inWorld(t, "of two operators that end Local concurrently one gets a conflict", func(w *world) {
		w.switchTo(standby.Local)
		to := []standby.Side{standby.Primary, standby.Standby}
		var errs [2]error
		var both sync.WaitGroup
		for i := range to {
			p := w.start(standby.Operator(), standby.Name(to[i].String()))
			for _, f := range []*enginetest.Faulty{p.toPrimary, p.toStandby} {
				f.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Delay, After: time.Millisecond})
			}
			both.Go(func() { _, errs[i] = p.Switch(w.Context(), to[i]) })
		}
		both.Wait()
		lost := slices.IndexFunc(errs[:], func(err error) bool { return errors.Is(err, engine.ErrConflict) })
		if lost < 0 || errs[1-lost] != nil {
			w.Errorf("the switches returned %v and %v, want one conflict", errs[0], errs[1])
		}
	})
	inWorld(t, "a slow switch does not overwrite a newer record", func(w *world) {
		slow := w.start(standby.Operator(), standby.Name("slow"))
		slow.toPrimary.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Delay, After: time.Millisecond, Times: 1})
		slow.toPrimary.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Hang}) // after the first read
		time.AfterFunc(view/2, func() { w.switchTo(standby.Local) })
		if r, err := slow.Switch(w.Context(), standby.Standby, standby.Force()); !errors.Is(err, engine.ErrConflict) {
			w.Errorf("switch: %+v, %v; want %v", r, err, engine.ErrConflict)
		}
		if n, err := w.secondary.ReadNote(w.Context(), noteName); err != nil || !contains(n.Text, `"by":"ops"`) {
			w.Errorf("the note of the standby is %+v, %v; want the record by ops", n, err)
		}
	})
}

// switchPrimaryOnly writes a switch to the primary only, like an operator that dies before it writes to
// the standby.
func (w *world) switchPrimaryOnly() {
	w.Helper()
	n, err := w.primary.ReadNote(w.Context(), noteName)
	if err != nil {
		w.Fatal(err)
	}
	text := strings.NewReplacer(`"epoch":0`, `"epoch":1`, `"side":"primary"`, `"side":"standby","by":"dead operator"`, `,"thawed":true`, "").Replace(n.Text)
	if err := w.primary.WriteNote(w.Context(), noteName, text, n.Version); err != nil || text == n.Text {
		w.Fatalf("writing %s: %v", text, err)
	}
}
