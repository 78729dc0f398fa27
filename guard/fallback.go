package guard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
)

// A fallback is the ledger of this process, for a policy whose OnDown is Local. It
// also knows what this process has settled while the engine was there, so that an
// outage does not make it forget.
type fallback struct {
	once   sync.Once
	ledger engine.Ledger
	used   atomic.Bool // something was decided here that the engine does not know
}

func (f *fallback) open() engine.Ledger {
	f.once.Do(func() { f.ledger = memory.New().Capabilities().Ledger })
	return f.ledger
}

// knows tells whether this process has decided something about a key by itself.
func (f *fallback) knows(key string) bool {
	if !f.used.Load() {
		return false
	}
	rec, err := f.open().Lookup(context.Background(), key)
	return err == nil && rec.State != engine.Absent && rec.State != engine.Unknown // that the engine may know
}

// at returns the ledger of this process, or that of the engine.
func (c *core) at(local bool) engine.Ledger {
	if local {
		return c.local.open()
	}
	return c.ledger
}

// mirror notes in this process what became of a claim that the engine granted.
func (c *core) mirror(k *claim, s engine.Settlement) {
	if c.policy.OnDown != Local || k.local || s.Outcome == engine.Absent {
		return
	}
	if s.FromStart {
		s.Retain, s.FromStart = s.Retain-time.Since(k.begun), false
		if s.Retain <= 0 {
			return
		}
	}
	ctx := context.Background()
	rec, err := c.local.open().Claim(ctx, engine.Claim{
		Key: s.Key, Attempt: s.Attempt, Fingerprint: k.req.Fingerprint, Lease: c.policy.Lease, Take: true,
	})
	if err == nil && rec.Granted {
		_, _ = c.local.open().Settle(ctx, s) // it has no reason to fail, and nobody would know what to do
	}
}
