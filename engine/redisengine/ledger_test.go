package redisengine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
)

// claim returns a claim of a key named after the test.
func claim(t testing.TB, attempt string) engine.Claim {
	t.Helper()
	return engine.Claim{Key: key(t), Attempt: attempt, Fingerprint: "pay", Lease: 30 * time.Second, Retain: 5 * time.Minute}
}

// done returns the settlement of a claim with a result.
func done(c engine.Claim, result string) engine.Settlement {
	return engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Result: []byte(result), Retain: time.Minute}
}

// abandon returns the settlement that abandons a claim.
func abandon(c engine.Claim) engine.Settlement {
	return engine.Settlement{Key: c.Key, Attempt: c.Attempt, Abandon: true, Lease: c.Lease}
}

func claimed(t testing.TB, e *redisengine.Engine, c engine.Claim) engine.Record {
	t.Helper()
	r, err := e.Capabilities().Ledger.Claim(context.Background(), c)
	if err != nil || !r.Granted || r.State != engine.Running {
		t.Fatalf("claim by %s: %+v, %v; want a grant", c.Attempt, r, err)
	}
	return r
}

// claimRefused checks that a claim is refused because the record has that state.
func claimRefused(t testing.TB, e *redisengine.Engine, c engine.Claim, want engine.State) engine.Record {
	t.Helper()
	r, err := e.Capabilities().Ledger.Claim(context.Background(), c)
	if err != nil || r.Granted || r.State != want {
		t.Fatalf("claim by %s: %+v, %v; want a refusal because the record is %s", c.Attempt, r, err, want)
	}
	return r
}

func settled(t testing.TB, e *redisengine.Engine, s engine.Settlement, want engine.Outcome) {
	t.Helper()
	if o, err := e.Capabilities().Ledger.Settle(context.Background(), s); err != nil || o != want {
		t.Errorf("settlement by %s: %v, %v; want %v", s.Attempt, o, err, want)
	}
}

func claimRenewed(t testing.TB, e *redisengine.Engine, c engine.Claim, want error) {
	t.Helper()
	if err := e.Capabilities().Ledger.Renew(context.Background(), []engine.Claim{c})[0]; !errors.Is(err, want) {
		t.Errorf("renewal by %s: %v, want %v", c.Attempt, err, want)
	}
}

func lookedUp(t testing.TB, e *redisengine.Engine, key string, want engine.State) engine.Record {
	t.Helper()
	r, err := e.Capabilities().Ledger.Lookup(context.Background(), key)
	if err != nil || r.State != want {
		t.Errorf("lookup of %s: %+v, %v; want the state %s", key, r, err, want)
	}
	return r
}
