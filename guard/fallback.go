package guard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
)

// A fallback is what this process knows by itself, for a policy whose OnDown is
// Local.
type fallback struct {
	once sync.Once

	// own is the ledger of this process: what it has decided while the engine was
	// down, and what the engine could not be told.
	own  *memory.Engine
	used atomic.Bool // there is something

	// seen is what became of claims that the engine granted, so that an outage
	// does not make this process forget it. The engine knows better while it is
	// there.
	seen *memory.Engine
}

const (
	mostOwn  = 100_000 // keys: more than that in one outage is refused
	mostSeen = 10_000  // keys: what does not fit is not remembered

	// largestSeen is how large a result is, in bytes, that is remembered. Of a
	// larger one, that it was there.
	largestSeen = 4 << 10
)

func (f *fallback) open() *fallback {
	f.once.Do(func() { f.own, f.seen = memory.New(memory.MaxKeys(mostOwn)), memory.New(memory.MaxKeys(mostSeen)) })
	return f
}

func (f *fallback) ledger() engine.Ledger { return f.open().own.Capabilities().Ledger }

// decided returns how this process has decided about a key by itself.
func (f *fallback) decided(key string) engine.State {
	if !f.used.Load() {
		return engine.Absent
	}
	return recordIn(f.open().own, key).State
}

// remembers returns what this process knows of a key while the engine is down, if
// it has not decided about it since.
func (f *fallback) remembers(key string) engine.Record {
	if recordIn(f.open().own, key).State != engine.Absent {
		return engine.Record{Key: key}
	}
	return recordIn(f.seen, key)
}

func recordIn(e *memory.Engine, key string) engine.Record {
	rec, err := e.Capabilities().Ledger.Lookup(context.Background(), key)
	if err != nil {
		return engine.Record{Key: key}
	}
	return rec
}

// at returns the ledger of this process, or that of the engine.
func (c *core) at(local bool) engine.Ledger {
	if local {
		return c.local.ledger()
	}
	return c.ledger
}

// mirror notes in this process what became of a claim that the engine granted, and
// was told about or not.
func (c *core) mirror(k *claim, s engine.Settlement, told bool) {
	if c.policy.OnDown != Local || k.local {
		return
	}
	f := c.local.open()
	f.seen.Evict(s.Key)
	if s.FromStart {
		s.Retain, s.FromStart = s.Retain-time.Since(k.begun), false
	}
	if s.Outcome == engine.Absent || s.Retain <= 0 {
		return
	}
	to := f.seen
	if !told {
		f.used.Store(true)
		to = f.own
	} else if len(s.Result) > largestSeen {
		s.Result = unsealed(s.Key, noRoom, nil)
	}
	ctx, l := context.Background(), to.Capabilities().Ledger
	rec, err := l.Claim(ctx, engine.Claim{
		Key: s.Key, Attempt: s.Attempt, Fingerprint: k.req.Fingerprint, Lease: c.policy.Lease,
	})
	if err == nil && rec.Granted {
		_, _ = l.Settle(ctx, s) // it has no reason to fail, and nobody would know what to do
	}
}
