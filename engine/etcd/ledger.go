package etcd

import (
	"context"
	"errors"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

// A ledger implements [engine.Ledger]. It is a separate type, because the methods Renew,
// List and Watch of Engine are for locks.
type ledger struct{ *Engine }

var (
	_ engine.Ledger = ledger{}
	_ engine.Eraser = ledger{}
)

var errNoKey = errors.New("etcd: the key of the record is empty: set it")

// Renew implements [engine.Ledger].
func (l ledger) Renew(ctx context.Context, cs []engine.Claim) []error {
	errs := make([]error, len(cs))
	ctx, cancel, err := l.begin(ctx)
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	defer cancel()
	l.renewEach(ctx, len(cs), func(i int) {
		if errs[i] = checkClaim(&cs[i]); errs[i] == nil {
			errs[i] = l.renew(ctx, &cs[i])
		}
	})
	return errs
}

// renew extends a claim that is still running. An expired claim is lost even if no other
// attempt has taken it over, because readers may have seen it as unknown.
func (l ledger) renew(ctx context.Context, c *engine.Claim) error {
	x, err := l.readEntry(ctx, c.Key)
	for err == nil && x != nil {
		if x.state() != engine.Running || x.record.Attempt != text(c.Attempt) {
			return fail(c.Key, "renew: the attempt does not hold the claim", engine.ErrNotHolder)
		}
		x, err = l.renewEntry(ctx, c, x)
	}
	if errors.Is(err, errLeaseGone) {
		return fail(c.Key, "renew: the lease has expired", engine.ErrNotHolder)
	}
	return err
}

// Lookup implements [engine.Ledger].
func (l ledger) Lookup(ctx context.Context, key string) (engine.Record, error) {
	if key == "" {
		return engine.Record{}, errNoKey
	}
	ctx, cancel, err := l.begin(ctx)
	if err != nil {
		return engine.Record{}, err
	}
	defer cancel()
	x, err := l.readEntry(ctx, key)
	if err != nil {
		return engine.Record{}, err
	}
	return l.snapshot(ctx, x)
}

// List implements [engine.Ledger]. The cursor is the name after which to continue.
func (l ledger) List(ctx context.Context, pattern, cursor string) (records []engine.Record, next string, err error) {
	ctx, cancel, err := l.begin(ctx)
	if err != nil {
		return nil, "", err
	}
	defer cancel()
	names, next, err := l.names(ctx, l.keys.records(), pattern, cursor)
	if err != nil {
		return nil, "", err
	}
	found, errs := make([]engine.Record, len(names)), make([]error, len(names))
	parallel(len(names), lookups, func(i int) {
		var x *entry
		if x, errs[i] = l.readEntry(ctx, names[i]); errs[i] == nil {
			found[i], errs[i] = l.snapshot(ctx, x)
		}
	})
	for _, r := range found {
		if r.State != engine.Absent {
			r.Result = nil
			records = append(records, r)
		}
	}
	return records, next, firstError(errs)
}

// Watch implements [engine.Ledger].
func (l ledger) Watch(key string) (wake <-chan struct{}, stop func()) {
	return l.notifier.subscribe(watchID{l.keys.record(key), recordEvents{}}, &subscription{})
}

// recordEvents are the ends of claims and records.
type recordEvents struct{}

func (recordEvents) options() []clientv3.OpOption {
	return []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithFilterPut()}
}

func (recordEvents) examine(_ context.Context, _ *Engine, events []*clientv3.Event) func(*subscription) bool {
	ended := false
	for _, event := range events {
		ended = ended || strings.HasSuffix(string(event.Kv.Key), "/claim") || strings.HasSuffix(string(event.Kv.Key), "/result")
	}
	return func(*subscription) bool { return ended }
}

// Erase implements [engine.Eraser].
func (l ledger) Erase(ctx context.Context, key string) (engine.Record, error) {
	if key == "" {
		return engine.Record{}, errNoKey
	}
	ctx, cancel, err := l.begin(ctx)
	if err != nil {
		return engine.Record{}, err
	}
	defer cancel()
	for {
		x, err := l.readEntry(ctx, key)
		if err != nil {
			return engine.Record{}, err
		}
		before, err := l.snapshot(ctx, x)
		before.Result = nil
		// A running claim stays: its attempt will settle it.
		if err != nil || before.State == engine.Absent || before.State == engine.Running {
			return before, err
		}
		resp, err := l.commit(ctx, &change{
			name: key, operation: "erase", when: []clientv3.Cmp{x.record.unchanged(), absent(l.keys.claim(key))},
			do: []clientv3.Op{clientv3.OpDelete(x.record.key)},
		})
		if err != nil || resp.Succeeded {
			return before, err
		}
	}
}
