package mysql

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// A ledger stores the engine's records. It is a type of its own because Engine has Renew and
// List for locks, and [engine.Ledger] has Renew and List for records.
type ledger struct{ *Engine }

var (
	_ engine.Ledger = ledger{}
	_ engine.Eraser = ledger{}
)

// Claim implements [engine.Ledger].
func (l ledger) Claim(ctx context.Context, c engine.Claim) (engine.Record, error) {
	if err := l.check(ctx, c.Key, keystate.CheckClaim(&c)); err != nil {
		return engine.Record{}, err
	}
	found, err := ask[keystate.Found](ctx, l.Engine, keystate.Records, c.Key, keystate.ClaimCommand(keystate.DoClaim, &c))
	return found.Record, err
}

// Settle implements [engine.Ledger].
func (l ledger) Settle(ctx context.Context, x engine.Settlement) (engine.Outcome, error) {
	if err := l.check(ctx, x.Key, keystate.CheckSettlement(&x)); err != nil {
		return 0, err
	}
	return ask[engine.Outcome](ctx, l.Engine, keystate.Records, x.Key, keystate.SettleCommand(&x))
}

// Renew implements [engine.Ledger].
func (l ledger) Renew(ctx context.Context, cs []engine.Claim) []error {
	return keystate.Each(cs, func(c *engine.Claim) error {
		if err := l.check(ctx, c.Key, keystate.CheckClaim(c)); err != nil {
			return err
		}
		_, err := l.run(ctx, keystate.Records, c.Key, keystate.ClaimCommand(keystate.DoRenewClaim, c))
		return err
	})
}

// Lookup implements [engine.Ledger].
func (l ledger) Lookup(ctx context.Context, key string) (engine.Record, error) {
	if err := l.check(ctx, key, nil); err != nil {
		return engine.Record{}, err
	}
	found, err := read[keystate.Found](ctx, l.Engine, keystate.Records, key, keystate.Command{Do: keystate.DoLookup})
	return found.Record, err
}

// Erase implements [engine.Eraser].
func (l ledger) Erase(ctx context.Context, key string) (engine.Record, error) {
	if err := l.check(ctx, key, nil); err != nil {
		return engine.Record{}, err
	}
	found, err := ask[keystate.Found](ctx, l.Engine, keystate.Records, key, keystate.Command{Do: keystate.DoErase})
	return found.Record, err
}

// List implements [engine.Ledger].
func (l ledger) List(ctx context.Context, pattern, cursor string) (records []engine.Record, next string, err error) {
	next, err = l.list(ctx, keystate.Records, pattern, cursor, func(s keystate.State, now int64) {
		if r, ok := keystate.RecordOf(s, now); ok {
			records = append(records, r)
		}
	})
	return records, next, err
}

// Watch implements [engine.Ledger].
func (l ledger) Watch(key string) (wake <-chan struct{}, stop func()) {
	return l.notices.subscribe(keystate.RecordTopic(key))
}

// lockedRecord returns the answer to a claim of a key that a caller's transaction has locked:
// the outcome that the record has, or a record that is running.
func (e *Engine) lockedRecord(ctx context.Context, key string, c *keystate.Command) (answer any, ok bool) {
	if c.Do != keystate.DoClaim {
		return nil, false
	}
	d, err := e.look(ctx, keystate.Records, key)
	if err != nil {
		return nil, false
	}
	s, err := d.state(keystate.Records, key)
	if err != nil {
		return nil, false
	}
	answers, _ := keystate.Execute(s.Clone(), []keystate.Command{{Do: keystate.DoLookup}}, d.moment())
	before, _ := answers[0].(keystate.Found)
	if before.State == engine.Done || before.State == engine.Failed {
		answers, _ = keystate.Execute(s, []keystate.Command{*c}, d.moment())
		return answers[0], true
	}
	return keystate.Found{Record: engine.Record{
		Key: key, State: engine.Running, Fence: before.Fence, Began: time.UnixMilli(d.now), Left: max(e.lockWait(), time.Second),
	}}, true
}
