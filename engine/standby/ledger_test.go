package standby_test

import (
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/standby"
)

// recordLaws check records across a switch (T13).
func recordLaws(t *testing.T) {
	inWorld(t, "work done before a switch is not done again", func(w *world) {
		a, b := w.starts(), w.starts()
		c := w.claim("order")
		a.found(c, engine.Running, "")
		a.settles(c)
		w.switches(standby.Standby)
		time.Sleep(freeze + 2*view)
		r := b.found(w.claim("order"), engine.Done, "paid")
		if r.Granted {
			w.Error("it was granted all the same")
		}
		cut(b.toFirst) // the side that counts knows it by now
		time.Sleep(view)
		b.found(w.claim("order"), engine.Done, "paid")
		if n := b.Stats().Unverified; n != 0 {
			w.Errorf("%d claims were granted without a word from the other side", n)
		}
		b.found(w.claim("another"), engine.Running, "")
		if n := b.Stats().Unverified; n != 1 {
			w.Errorf("%d claims were granted without a word from the other side, want 1", n)
		}
	})
	inWorld(t, "an unknown outcome stays unknown across a switch, unless it is taken over", func(w *world) {
		a := w.starts()
		a.found(w.claim("order"), engine.Running, "")
		w.switches(standby.Standby)
		time.Sleep(freeze + 2*view)
		a.found(w.claim("order"), engine.Unknown, "")
		c := w.claim("order")
		c.TakeOver = true
		if r := a.found(c, engine.Running, ""); !r.Granted || !r.TookOver {
			w.Errorf("got %+v", r)
		}
		a.settles(c)
		w.switches(standby.Primary)
		time.Sleep(freeze + 2*view)
		a.found(w.claim("order"), engine.Done, "paid")
	})
	inWorld(t, "a settlement after a switch reaches the side of the claim", func(w *world) {
		a := w.starts()
		c, d := w.claim("order"), w.claim("undone")
		a.found(c, engine.Running, "")
		a.found(d, engine.Running, "")
		w.switches(standby.Standby)
		time.Sleep(view)
		a.settles(c)
		if o, err := a.Capabilities().Ledger.Settle(w.Context(), engine.Settlement{Key: d.Key, Attempt: d.Attempt, Abandon: true, Lease: longest}); err != nil || o != engine.Released {
			w.Errorf("abandon: %v, %v", o, err)
		}
		time.Sleep(freeze + 2*view)
		a.found(w.claim("order"), engine.Done, "paid")
		if r := a.found(w.claim("undone"), engine.Running, ""); !r.Granted {
			w.Errorf("got %+v", r)
		}
	})
	inWorld(t, "another fingerprint is a mismatch across a switch", func(w *world) {
		a := w.starts()
		c := w.claim("order")
		c.Fingerprint = "one"
		a.found(c, engine.Running, "")
		a.settles(c)
		w.switches(standby.Standby)
		time.Sleep(freeze + 2*view)
		d := w.claim("order")
		d.Fingerprint = "another"
		if r, err := a.Capabilities().Ledger.Claim(w.Context(), d); !errors.Is(err, engine.ErrMismatch) {
			w.Errorf("got %+v, %v", r, err)
		}
		e := w.claim("order") // it does not know, and takes nothing away
		a.found(e, engine.Done, "paid")
		a.found(retried(c, "again"), engine.Done, "paid")
		if r, err := a.Capabilities().Ledger.Claim(w.Context(), retried(d, "more")); !errors.Is(err, engine.ErrMismatch) {
			w.Errorf("got %+v, %v", r, err)
		}
	})
	inWorld(t, "records from before a switch are found and listed", func(w *world) {
		a := w.starts()
		c := w.claim("order:1")
		a.found(c, engine.Running, "")
		a.settles(c)
		w.switches(standby.Standby)
		time.Sleep(freeze + 2*view)
		d := w.claim("order:2")
		a.found(d, engine.Running, "")
		l := a.Capabilities().Ledger
		if r, err := l.Lookup(w.Context(), "order:1"); err != nil || r.State != engine.Done || string(r.Result) != "paid" {
			w.Errorf("got %+v, %v", r, err)
		}
		var keys []string
		for cursor, pages := "", 0; ; pages++ {
			records, next, err := l.List(w.Context(), "order:*", cursor)
			if err != nil || pages > 10 {
				w.Fatal(err)
			}
			for _, r := range records {
				keys = append(keys, r.Key)
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		if len(keys) != 2 || keys[0] != "order:2" || keys[1] != "order:1" {
			w.Errorf("listed are %q", keys)
		}
	})
}

// retried returns c marked as a retry.
func retried(c engine.Claim, attempt string) engine.Claim {
	c.Attempt = attempt
	return c
}
