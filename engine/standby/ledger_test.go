package standby_test

import (
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/standby"
)

// recordLaws check records across a switch (requirement T13).
func recordLaws(t *testing.T) {
	inWorld(t, "work done before a switch is not done again", func(w *world) {
		a, b := w.start(), w.start()
		c := w.claim("order")
		a.wantClaim(c, engine.Running, "")
		a.settle(c)
		w.switchTo(standby.Standby)
		time.Sleep(freeze + 2*view)
		r := b.wantClaim(w.claim("order"), engine.Done, "paid")
		if r.Granted {
			w.Error("a claim of work that is done was granted")
		}
		cut(b.toPrimary) // the standby has the record by now
		time.Sleep(view)
		b.wantClaim(w.claim("order"), engine.Done, "paid")
		if n := b.Stats().Unverified; n != 0 {
			w.Errorf("Stats().Unverified = %d, want 0", n)
		}
		b.wantClaim(w.claim("another"), engine.Running, "")
		if n := b.Stats().Unverified; n != 1 {
			w.Errorf("Stats().Unverified = %d after a claim that only the standby could answer, want 1", n)
		}
	})
	inWorld(t, "work from before a switch is not done again because one lookup fails", func(w *world) {
		a := w.start()
		c := w.claim("order")
		a.wantClaim(c, engine.Running, "")
		a.settle(c)
		w.switchTo(standby.Standby)
		time.Sleep(freeze + 2*view)
		a.toPrimary.Inject(enginetest.Fault{Op: enginetest.OpLookup, Do: enginetest.Refuse, Times: 2})
		if r, err := a.Capabilities().Ledger.Lookup(w.Context(), "order"); !errors.Is(err, engine.ErrUnavailable) {
			w.Errorf("lookup while the primary is up and does not answer: %+v, %v; want %v", r, err, engine.ErrUnavailable)
		}
		d := w.claim("order")
		if r, err := a.Capabilities().Ledger.Claim(w.Context(), d); !errors.Is(err, engine.ErrUnknown) {
			w.Errorf("claim while the primary is up and does not answer: %+v, %v; want %v", r, err, engine.ErrUnknown)
		}
		d.Retry = true
		if r := a.wantClaim(d, engine.Done, "paid"); r.Granted {
			w.Error("the repeated claim was granted, although the work is done")
		}
	})
	inWorld(t, "an unknown outcome stays unknown across a switch, unless it is taken over", func(w *world) {
		a := w.start()
		a.wantClaim(w.claim("order"), engine.Running, "")
		w.switchTo(standby.Standby)
		time.Sleep(freeze + 2*view)
		a.wantClaim(w.claim("order"), engine.Unknown, "")
		c := w.claim("order")
		c.TakeOver = true
		if r := a.wantClaim(c, engine.Running, ""); !r.Granted || !r.TookOver {
			w.Errorf("claim = %+v, want a grant that took over", r)
		}
		a.settle(c)
		w.switchTo(standby.Primary)
		time.Sleep(freeze + 2*view)
		a.wantClaim(w.claim("order"), engine.Done, "paid")
	})
	inWorld(t, "a settlement after a switch reaches the side that granted the claim", func(w *world) {
		a := w.start()
		c, d := w.claim("order"), w.claim("undone")
		a.wantClaim(c, engine.Running, "")
		a.wantClaim(d, engine.Running, "")
		w.switchTo(standby.Standby)
		time.Sleep(view)
		a.settle(c)
		if o, err := a.Capabilities().Ledger.Settle(w.Context(), engine.Settlement{Key: d.Key, Attempt: d.Attempt, Abandon: true, Lease: longest}); err != nil || o != engine.Released {
			w.Errorf("abandon: %v, %v; want %v", o, err, engine.Released)
		}
		time.Sleep(freeze + 2*view)
		a.wantClaim(w.claim("order"), engine.Done, "paid")
		if r := a.wantClaim(w.claim("undone"), engine.Running, ""); !r.Granted {
			w.Errorf("claim of abandoned work = %+v, want a grant", r)
		}
	})
	inWorld(t, "another fingerprint is a mismatch across a switch", func(w *world) {
		a := w.start()
		c := w.claim("order")
		c.Fingerprint = "one"
		a.wantClaim(c, engine.Running, "")
		a.settle(c)
		w.switchTo(standby.Standby)
		time.Sleep(freeze + 2*view)
		d := w.claim("order")
		d.Fingerprint = "another"
		if r, err := a.Capabilities().Ledger.Claim(w.Context(), d); !errors.Is(err, engine.ErrMismatch) {
			w.Errorf("claim with another fingerprint: %+v, %v; want %v", r, err, engine.ErrMismatch)
		}
		e := w.claim("order") // without a fingerprint, which leaves the record's fingerprint unchanged
		a.wantClaim(e, engine.Done, "paid")
		a.wantClaim(retried(c, "again"), engine.Done, "paid")
		if r, err := a.Capabilities().Ledger.Claim(w.Context(), retried(d, "more")); !errors.Is(err, engine.ErrMismatch) {
			w.Errorf("second claim with another fingerprint: %+v, %v; want %v", r, err, engine.ErrMismatch)
		}
	})
	inWorld(t, "records from before a switch are found and listed", func(w *world) {
		a := w.start()
		c := w.claim("order:1")
		a.wantClaim(c, engine.Running, "")
		a.settle(c)
		w.switchTo(standby.Standby)
		time.Sleep(freeze + 2*view)
		d := w.claim("order:2")
		a.wantClaim(d, engine.Running, "")
		l := a.Capabilities().Ledger
		if r, err := l.Lookup(w.Context(), "order:1"); err != nil || r.State != engine.Done || string(r.Result) != "paid" {
			w.Errorf("lookup: %+v, %v; want the outcome from before the switch", r, err)
		}
		var keys []string
		for cursor, pages := "", 0; ; pages++ {
			records, next, err := l.List(w.Context(), "order:*", cursor)
			if err != nil || pages > 10 {
				w.Fatalf("page %d of the list: %v", pages, err)
			}
			for _, r := range records {
				keys = append(keys, r.Key)
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		if len(keys) != 2 || keys[0] != "order:2" || keys[1] != "order:1" {
			w.Errorf("the list has keys %q, want order:2, then order:1", keys)
		}
	})
}

// retried returns c with another attempt.
func retried(c engine.Claim, attempt string) engine.Claim {
	c.Attempt = attempt
	return c
}
