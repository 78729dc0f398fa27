package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/engine"
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
	if err := l.usable(ctx); err != nil {
		return engine.Record{}, err
	}
	if err := checkClaim(&c); err != nil {
		return engine.Record{}, err
	}
	s := l.claimCall(&c, firstWait)
	var a claimAnswer
	s.locked = func() bool {
		s.args[len(s.args)-1] = int64(0) // another try does not wait on the server
		return a.code == claimLocked
	}
	if err := l.row(ctx, s, a.fields()...); err != nil {
		return engine.Record{}, err
	}
	return a.result(s, &c)
}

// firstWait is how many ms a claim first waits on the server for a locked key: another claim has
// ended by then, unless it is in a transaction of a caller.
const firstWait = 5

// Settle implements [engine.Ledger].
func (l ledger) Settle(ctx context.Context, x engine.Settlement) (engine.Outcome, error) {
	if err := l.usable(ctx); err != nil {
		return 0, err
	}
	if err := checkSettlement(&x); err != nil {
		return 0, err
	}
	s := l.settleCall(&x, l.wait())
	var code int64
	if err := l.row(ctx, s, &code); err != nil {
		return 0, err
	}
	return settleResult(s, code)
}

// Renew implements [engine.Ledger].
func (l ledger) Renew(ctx context.Context, cs []engine.Claim) []error {
	return l.renewAll(ctx, len(cs), func(i int) error { return checkClaim(&cs[i]) }, func(valid []int) ([]int64, *statement, error) {
		var (
			keys, attempts  [][]byte
			leases, retains []int64
		)
		for _, i := range valid {
			c := &cs[i]
			keys, attempts = append(keys, []byte(c.Key)), append(attempts, []byte(c.Attempt))
			leases, retains = append(leases, micros(c.Lease)), append(retains, micros(c.Retain))
		}
		s := l.call("renew_claims", cs[valid[0]].Key, keys, attempts, leases, retains, l.shareOfWait(len(valid)))
		var codes []int64
		err := l.row(ctx, s, &codes)
		return codes, s, err
	})
}

// Lookup implements [engine.Ledger].
func (l ledger) Lookup(ctx context.Context, key string) (engine.Record, error) {
	return l.read(ctx, key, l.call("lookup", key, []byte(key)))
}

// Erase implements [engine.Eraser].
func (l ledger) Erase(ctx context.Context, key string) (engine.Record, error) {
	return l.read(ctx, key, l.call("erase", key, []byte(key), l.wait()))
}

// codeRecordLocked is the state that the SQL function erase returns for a locked key.
const codeRecordLocked = 6

// read runs a call that returns one record or none.
func (l ledger) read(ctx context.Context, key string, s *statement) (engine.Record, error) {
	if err := l.usable(ctx); err != nil {
		return engine.Record{}, err
	}
	if key == "" {
		return engine.Record{}, fmt.Errorf("postgres: %s: the key of the record is empty: set it", s.name)
	}
	record, locked := engine.Record{Key: key}, false
	s.scan = func(rows pgx.Rows) error {
		var a recordAnswer
		if err := rows.Scan(a.fields()...); err != nil {
			return err
		}
		locked = a.state == codeRecordLocked
		record = a.record(key)
		return nil
	}
	err := l.run(ctx, s)
	if err == nil && locked {
		err = lockedError(s)
	}
	if err != nil {
		return engine.Record{}, err
	}
	return record, nil
}

// Watch implements [engine.Ledger].
func (l ledger) Watch(key string) (wake <-chan struct{}, stop func()) {
	return l.notices.subscribe(topic("r", key))
}

// A recordAnswer is a record as the SQL function snapshot returns it.
type recordAnswer struct {
	state, fence, began, age, left int64
	fingerprint, result            []byte
}

func (a *recordAnswer) fields() []any {
	return []any{&a.state, &a.fence, &a.began, &a.age, &a.left, &a.fingerprint, &a.result}
}

// record returns the record of a key.
func (a *recordAnswer) record(key string) engine.Record {
	return engine.Record{
		Key: key, State: engine.State(a.state), Fence: uint64(a.fence), Began: time.UnixMicro(a.began),
		Age: time.Duration(a.age) * time.Microsecond, Left: duration(a.left),
		Fingerprint: string(a.fingerprint), Result: a.result,
	}
}
