package guard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
)

// A fallback is the memory of this process, for a policy whose OnDown is Local.
type fallback struct {
	once sync.Once

	// decisions holds what this process decided while the engine was down, and
	// outcomes that the engine did not accept.
	decisions *memory.Engine
	used      atomic.Bool // decisions is not empty

	// outcomes holds the outcomes of claims that the engine granted, so that this process
	// knows them in an outage. While the engine is up, it is not read.
	outcomes *memory.Engine
}

const (
	maxDecisions = 100_000 // keys; further claims in one outage are refused
	maxOutcomes  = 10_000  // keys; further outcomes are not remembered

	// maxOutcomeBytes bounds a remembered result. For a larger one, a tombstone is
	// remembered.
	maxOutcomeBytes = 4 << 10
)

// open creates the two engines on first use: most guards never need them.
func (f *fallback) open() *fallback {
	f.once.Do(func() {
		f.decisions, f.outcomes = memory.New(memory.MaxKeys(maxDecisions)), memory.New(memory.MaxKeys(maxOutcomes))
	})
	return f
}

func (f *fallback) ledger() engine.Ledger { return f.open().decisions.Capabilities().Ledger }

// decided returns what this process decided about a key; Absent if nothing.
func (f *fallback) decided(key string) engine.State {
	if !f.used.Load() {
		return engine.Absent
	}
	return lookupIn(f.open().decisions, key).State
}

// recall returns the remembered outcome of a key while the engine is down, unless
// this process has decided about the key since.
func (f *fallback) recall(key string) engine.Record {
	if lookupIn(f.open().decisions, key).State != engine.Absent {
		return engine.Record{Key: key}
	}
	return lookupIn(f.outcomes, key)
}

func lookupIn(e *memory.Engine, key string) engine.Record {
	rec, err := e.Capabilities().Ledger.Lookup(context.Background(), key)
	if err != nil {
		return engine.Record{Key: key}
	}
	return rec
}

// ledgerFor returns the fallback's ledger if local, and otherwise the engine's.
func (c *core) ledgerFor(local bool) engine.Ledger {
	if local {
		return c.fallback.ledger()
	}
	return c.ledger
}

// mirror remembers the outcome of a claim that the engine granted. stored says whether
// the engine accepted the settlement.
func (c *core) mirror(k *claim, s engine.Settlement, stored bool) {
	if c.policy.OnDown != Local || k.local {
		return
	}
	f := c.fallback.open()
	f.outcomes.Evict(s.Key)
	if s.FromStart {
		s.Retain, s.FromStart = s.Retain-time.Since(k.startedAt), false
	}
	if s.Outcome == engine.Absent || s.Retain <= 0 {
		return
	}
	target := f.outcomes
	if !stored {
		f.used.Store(true)
		target = f.decisions
	} else if len(s.Result) > maxOutcomeBytes {
		s.Result = plainEnvelope(s.Key, noSpace, nil)
	}
	ctx, l := context.Background(), target.Capabilities().Ledger
	rec, err := l.Claim(ctx, engine.Claim{
		Key: s.Key, Attempt: s.Attempt, Fingerprint: k.req.Fingerprint, Lease: c.policy.Lease,
	})
	if err == nil && rec.Granted {
		_, _ = l.Settle(ctx, s) // in memory, right after the claim: it does not fail
	}
}
