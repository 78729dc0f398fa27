package enginetest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// ledger returns the ledger of the engine. Without one it skips the law.
func (b *testbed) ledger() engine.Ledger {
	l := b.Capabilities().Ledger
	if l == nil {
		b.skip("the engine has no ledger")
	}
	return l
}

// claim returns a new claim of the key of most laws, with a retention that outlasts
// every law.
func (b *testbed) claim() engine.Claim { return b.claimOf("k") }

// claimOf returns a new claim of one of several keys.
func (b *testbed) claimOf(name string) engine.Claim {
	b.ledger()
	b.attempts++
	return engine.Claim{
		Key: b.prefix + name, Attempt: fmt.Sprint("attempt-", b.attempts), Lease: b.Lease, Retain: 50 * b.Lease,
	}
}

// claimGranted requires that c is granted.
func (b *testbed) claimGranted(c engine.Claim) engine.Record {
	r, err := b.ledger().Claim(b.ctx, c)
	if err != nil || !r.Granted || r.State != engine.Running || r.Key != c.Key {
		b.fatalf("claim by %s: %s, error %v; want a grant", c.Attempt, describe(r), err)
	}
	return r
}

// claimFinds requires that c is not granted and finds the given state.
func (b *testbed) claimFinds(c engine.Claim, want engine.State) engine.Record {
	r, err := b.ledger().Claim(b.ctx, c)
	if err != nil || r.Granted || r.State != want || r.Key != c.Key {
		b.fatalf("claim by %s: %s, error %v; want %s and no grant", c.Attempt, describe(r), err, want)
	}
	return r
}

// claimRefused requires that c is refused with an error that matches want.
func (b *testbed) claimRefused(c engine.Claim, want error) {
	if r, err := b.ledger().Claim(b.ctx, c); !errors.Is(err, want) || r.Granted {
		b.fatalf("claim by %s: %s, error %v; want %v", c.Attempt, describe(r), err, want)
	}
}

// recordIs requires a state of the record of c.
func (b *testbed) recordIs(c engine.Claim, want engine.State) engine.Record {
	r := b.lookup(c.Key)
	if r.Granted || r.State != want || r.Key != c.Key {
		b.fatalf("the record is %s, want %s", describe(r), want)
	}
	return r
}

func (b *testbed) lookup(key string) engine.Record {
	r, err := b.ledger().Lookup(b.ctx, key)
	if err != nil {
		b.fatalf("look up: %v", err)
	}
	return r
}

// unchanged requires that the record has not changed, apart from the time left.
func (b *testbed) unchanged(was engine.Record) {
	if r := b.lookup(was.Key); !same(r, was) || r.Left > was.Left {
		b.fatalf("the record went from %s to %s", describe(was), describe(r))
	}
}

// same reports whether two records are equal, apart from the time left and Granted.
func same(r, s engine.Record) bool {
	return r.Key == s.Key && r.State == s.State && r.Fence == s.Fence && r.Began.Equal(s.Began) &&
		r.Fingerprint == s.Fingerprint && bytes.Equal(r.Result, s.Result)
}

// claimRenewed requires that c is renewed.
func (b *testbed) claimRenewed(c engine.Claim) {
	if err := b.renewClaim(c); err != nil {
		b.fatalf("renew by %s: error %v, want none", c.Attempt, err)
	}
}

// claimNotRenewed requires that the renewal of c fails with ErrNotHolder.
func (b *testbed) claimNotRenewed(c engine.Claim) {
	if err := b.renewClaim(c); !errors.Is(err, engine.ErrNotHolder) {
		b.fatalf("renew by %s: error %v, want %v", c.Attempt, err, engine.ErrNotHolder)
	}
}

func (b *testbed) renewClaim(c engine.Claim) error {
	errs := b.ledger().Renew(b.ctx, []engine.Claim{c})
	if len(errs) != 1 {
		b.fatalf("renew of one claim has %d answers", len(errs))
	}
	return errs[0]
}

// settles requires an outcome of a settlement.
func (b *testbed) settles(s engine.Settlement, want engine.Outcome) {
	if o, err := b.ledger().Settle(b.ctx, s); err != nil || o != want {
		b.fatalf("settle by %s as %s: %v, error %v; want %v", s.Attempt, s.Outcome, o, err, want)
	}
}

// settlement returns a settlement of c with a retention that outlasts every law.
func settlement(c engine.Claim, outcome engine.State) engine.Settlement {
	return engine.Settlement{
		Key: c.Key, Attempt: c.Attempt, Outcome: outcome, Result: []byte("the result"), Retain: 50 * c.Lease,
	}
}

// abandonment returns a settlement that abandons c.
func abandonment(c engine.Claim) engine.Settlement {
	return engine.Settlement{Key: c.Key, Attempt: c.Attempt, Abandon: true, Lease: c.Lease}
}

// asClaimRetry returns c marked as a retry.
func asClaimRetry(c engine.Claim) engine.Claim {
	c.Retry = true
	return c
}

// takingOver returns c with TakeOver.
func takingOver(c engine.Claim) engine.Claim {
	c.TakeOver = true
	return c
}

// withFingerprint returns c with a fingerprint.
func withFingerprint(c engine.Claim, fingerprint string) engine.Claim {
	c.Fingerprint = fingerprint
	return c
}

// withRetain returns c with another retention.
func withRetain(c engine.Claim, d time.Duration) engine.Claim {
	c.Retain = d
	return c
}

// describe prints a record, with a shortened result.
func describe(r engine.Record) string {
	return fmt.Sprintf("{%q %s granted:%t fence:%d left:%v about:%q %d bytes}",
		r.Key, r.State, r.Granted, r.Fence, r.Left, r.Fingerprint, len(r.Result))
}
