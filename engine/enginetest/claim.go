package enginetest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// ledger is that of the engine. It ends the law if there is none.
func (b *bench) ledger() engine.Ledger {
	l := b.Capabilities().Ledger
	if l == nil {
		b.skip("the engine has no ledger")
	}
	return l
}

// claim is a new claim of the key that most laws are content with. That its work
// began is kept for so long that no law sees the end of it.
func (b *bench) claim() engine.Claim { return b.claimOf("k") }

// claimOf is a new claim of one of several keys.
func (b *bench) claimOf(name string) engine.Claim {
	b.ledger()
	b.attempts++
	return engine.Claim{
		Key: b.prefix + name, Attempt: fmt.Sprint("attempt-", b.attempts), Lease: b.Lease, Retain: 50 * b.Lease,
	}
}

// begins demands that c is granted.
func (b *bench) begins(c engine.Claim) engine.Record {
	r, err := b.ledger().Claim(b.ctx, c)
	if err != nil || !r.Granted || r.State != engine.Running || r.Key != c.Key {
		b.fatalf("claim by %s: %s, error %v; want a grant", c.Attempt, text(r), err)
	}
	return r
}

// finds demands that c is not granted, and what it is told instead.
func (b *bench) finds(c engine.Claim, want engine.State) engine.Record {
	r, err := b.ledger().Claim(b.ctx, c)
	if err != nil || r.Granted || r.State != want || r.Key != c.Key {
		b.fatalf("claim by %s: %s, error %v; want %s and no grant", c.Attempt, text(r), err, want)
	}
	return r
}

// disclaimed demands that c is refused with an error that matches want.
func (b *bench) disclaimed(c engine.Claim, want error) {
	if r, err := b.ledger().Claim(b.ctx, c); !errors.Is(err, want) || r.Granted {
		b.fatalf("claim by %s: %s, error %v; want %v", c.Attempt, text(r), err, want)
	}
}

// is demands a state of the record that c is about.
func (b *bench) is(c engine.Claim, want engine.State) engine.Record {
	r := b.lookup(c.Key)
	if r.Granted || r.State != want || r.Key != c.Key {
		b.fatalf("the record is %s, want %s", text(r), want)
	}
	return r
}

func (b *bench) lookup(key string) engine.Record {
	r, err := b.ledger().Lookup(b.ctx, key)
	if err != nil {
		b.fatalf("look up: %v", err)
	}
	return r
}

// unchanged demands that the record is as it was, but for the time that is left.
func (b *bench) unchanged(was engine.Record) {
	if r := b.lookup(was.Key); !same(r, was) || r.Left > was.Left {
		b.fatalf("the record went from %s to %s", text(was), text(r))
	}
}

// same reports whether two records differ in nothing but the time that is left and
// whom they were told.
func same(r, s engine.Record) bool {
	return r.Key == s.Key && r.State == s.State && r.Fence == s.Fence && r.Began.Equal(s.Began) &&
		r.Fingerprint == s.Fingerprint && bytes.Equal(r.Result, s.Result)
}

// keeps demands that c's lease begins anew.
func (b *bench) keeps(c engine.Claim) {
	if err := b.reclaim(c); err != nil {
		b.fatalf("renew by %s: %v, want none", c.Attempt, err)
	}
}

// unkept demands that c is told that it has no claim.
func (b *bench) unkept(c engine.Claim) {
	if err := b.reclaim(c); !errors.Is(err, engine.ErrNotHolder) {
		b.fatalf("renew by %s: error %v, want %v", c.Attempt, err, engine.ErrNotHolder)
	}
}

func (b *bench) reclaim(c engine.Claim) error {
	errs := b.ledger().Renew(b.ctx, []engine.Claim{c})
	if len(errs) != 1 {
		b.fatalf("renew of one claim has %d answers", len(errs))
	}
	return errs[0]
}

// settles demands an answer to a settlement.
func (b *bench) settles(s engine.Settlement, want engine.Outcome) {
	if o, err := b.ledger().Settle(b.ctx, s); err != nil || o != want {
		b.fatalf("settle by %s as %s: %v, error %v; want %v", s.Attempt, s.Outcome, o, err, want)
	}
}

// settled is what c's attempt says became of it, which is kept for so long that no
// law sees the end of it.
func settled(c engine.Claim, outcome engine.State) engine.Settlement {
	return engine.Settlement{
		Key: c.Key, Attempt: c.Attempt, Outcome: outcome, Result: []byte("the result"), Retain: 50 * c.Lease,
	}
}

// undone is c, abandoned.
func undone(c engine.Claim) engine.Settlement {
	return engine.Settlement{Key: c.Key, Attempt: c.Attempt, Abandon: true, Lease: c.Lease}
}

// resent is the same claim, sent once more.
func resent(c engine.Claim) engine.Claim {
	c.Retry = true
	return c
}

// taking is c, over an unknown outcome if need be.
func taking(c engine.Claim) engine.Claim {
	c.TakeOver = true
	return c
}

// about is c with a fingerprint.
func about(c engine.Claim, fingerprint string) engine.Claim {
	c.Fingerprint = fingerprint
	return c
}

// retaining is c, with another time for which its beginning is kept.
func retaining(c engine.Claim, d time.Duration) engine.Claim {
	c.Retain = d
	return c
}

// text is what a record says, without a result that would fill the page.
func text(r engine.Record) string {
	return fmt.Sprintf("{%q %s granted:%t fence:%d left:%v about:%q %d bytes}",
		r.Key, r.State, r.Granted, r.Fence, r.Left, r.Fingerprint, len(r.Result))
}
