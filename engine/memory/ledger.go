package memory

import (
	"context"
	"errors"

	"github.com/interlock-go/interlock/engine"
)

// A ledger implements [engine.Ledger]. It is a separate type, because the methods Renew,
// List and Watch of Engine are for locks.
type ledger struct{ *Engine }

var _ engine.Ledger = ledger{}

// Claim implements [engine.Ledger].
func (l ledger) Claim(ctx context.Context, c engine.Claim) (engine.Record, error) {
	if err := checkClaim(ctx, &c); err != nil {
		return engine.Record{}, err
	}
	r, err := l.claim(&c)
	if err == nil {
		return r, nil
	}
	if errors.Is(err, errFull) {
		l.sweepAll()
		r, err = l.claim(&c)
	}
	return r, l.explain(err)
}

// claim makes one try under the shard's mutex. If the engine is full, Claim repeats it
// after sweepAll.
func (l ledger) claim(c *engine.Claim) (engine.Record, error) {
	s, hash, now := l.find(c.Key)
	defer s.mu.Unlock()
	return s.claim(c, hash, now)
}

// Renew implements [engine.Ledger].
func (l ledger) Renew(ctx context.Context, cs []engine.Claim) []error {
	errs := make([]error, len(cs))
	for i := range cs {
		if errs[i] = checkClaim(ctx, &cs[i]); errs[i] == nil {
			errs[i] = l.renew(&cs[i])
		}
	}
	return errs
}

// renew extends a claim that is still running. An expired claim is lost even if no other
// attempt has taken it over, because readers may have seen it as unknown.
func (l ledger) renew(c *engine.Claim) error {
	s, hash, now := l.find(c.Key)
	defer s.mu.Unlock()
	r := s.record(c.Key, hash, now)
	if r == nil || !r.isRunning(c.Attempt, now) {
		return engine.ErrNotHolder
	}
	s.renewClaim(r, c, now)
	return nil
}

// Settle implements [engine.Ledger].
func (l ledger) Settle(ctx context.Context, x engine.Settlement) (engine.Outcome, error) {
	if err := checkSettlement(ctx, &x); err != nil {
		return 0, err
	}
	o, err := l.settle(&x)
	if err == nil {
		return o, nil
	}
	if errors.Is(err, errFull) {
		l.sweepAll()
		o, err = l.settle(&x)
	}
	return o, l.explain(err)
}

// settle makes one try; see claim. Only abandoning needs capacity, for the tombstone.
func (l ledger) settle(x *engine.Settlement) (engine.Outcome, error) {
	s, hash, now := l.find(x.Key)
	defer s.mu.Unlock()
	r := s.record(x.Key, hash, now)
	if x.Abandon {
		return s.abandonClaim(r, x, now)
	}
	return s.settle(r, x, now), nil
}

// Lookup implements [engine.Ledger].
func (l ledger) Lookup(ctx context.Context, key string) (engine.Record, error) {
	if err := checkLookup(ctx, key); err != nil {
		return engine.Record{}, err
	}
	s, hash, now := l.find(key)
	defer s.mu.Unlock()
	r := s.record(key, hash, now)
	if r == nil {
		return engine.Record{Key: key}, nil
	}
	return r.snapshot(key, now), nil
}

// List implements [engine.Ledger]. The cursor is the number of the next shard.
func (l ledger) List(ctx context.Context, pattern, cursor string) (records []engine.Record, next string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	from, err := shardAt(cursor)
	if err != nil {
		return nil, "", err
	}
	for ; from < shards && len(records) < page; from++ {
		records = append(records, l.list(from, pattern)...)
	}
	return records, cursorAt(from), nil
}

// list returns the records of one shard, without their results. It does not remove
// expired ones: erasing may move records during the iteration.
func (l ledger) list(shard int, pattern string) (records []engine.Record) {
	s := &l.shards[shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	now := l.now()
	for r := range s.store.records.all {
		if key := string(r.key()); now < r.expires && engine.Match(pattern, key) {
			records = append(records, r.outline(key, string(r.fingerprint()), now))
		}
	}
	return records
}

// Watch implements [engine.Ledger].
func (l ledger) Watch(key string) (wake <-chan struct{}, stop func()) {
	return l.subscribe(topic{key: key, record: true})
}
