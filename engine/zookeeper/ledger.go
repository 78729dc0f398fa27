package zookeeper

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// A ledger implements [engine.Ledger]. It is a separate type, because the methods Renew,
// List and Watch of Engine are for locks.
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
	return l.complete(ctx, c.Key, keystate.ClaimCommand(keystate.DoClaim, &c))
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

// Settle implements [engine.Ledger].
func (l ledger) Settle(ctx context.Context, x engine.Settlement) (engine.Outcome, error) {
	if err := l.check(ctx, x.Key, keystate.CheckSettlement(&x)); err != nil {
		return 0, err
	}
	c := keystate.SettleCommand(&x)
	if len(c.Result) <= maxInline {
		return ask[engine.Outcome](ctx, l.Engine, keystate.Records, x.Key, c)
	}
	return l.settleLarge(ctx, x.Key, c)
}

// settleLarge settles a claim with a large result, which it stores first.
func (l ledger) settleLarge(ctx context.Context, key string, c keystate.Command) (engine.Outcome, error) {
	result, deadline := c.Result, time.Now().Add(l.timeout)
	c.Result, c.Blob = nil, newBlob(c.Attempt, result)
	if err := l.store(ctx, deadline, key, c.Blob, result); err != nil {
		return 0, err
	}
	o, err := askUntil[engine.Outcome](ctx, deadline, l.Engine, keystate.Records, key, c)
	if err == nil && o != engine.Released { // no record has the result
		l.discard(key, c.Blob)
	}
	return o, err
}

// Lookup implements [engine.Ledger].
func (l ledger) Lookup(ctx context.Context, key string) (engine.Record, error) {
	if err := l.checkKey(ctx, key); err != nil {
		return engine.Record{}, err
	}
	return l.complete(ctx, key, keystate.Command{Do: keystate.DoLookup})
}

// Erase implements [engine.Eraser].
func (l ledger) Erase(ctx context.Context, key string) (engine.Record, error) {
	if err := l.checkKey(ctx, key); err != nil {
		return engine.Record{}, err
	}
	return l.complete(ctx, key, keystate.Command{Do: keystate.DoErase})
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
	return l.topics.subscribe(topicName(keystate.RecordTopic(key)))
}
