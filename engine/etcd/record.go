package etcd

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

// A record is the value of a result key. The fence of its claim is derived from the
// revision of the key until the key is written again; then Fence has it.
//
// Began is the time on the clock of the process that made the claim, as etcd has no
// clock that can be read. No decision between processes depends on it.
type record struct {
	version     `json:"-"`
	Attempt     text   `json:"attempt"`
	Fingerprint text   `json:"fingerprint,omitempty"`
	State       string `json:"state"`
	TookOver    bool   `json:"took_over,omitempty"`
	Retained    bool   `json:"retained,omitempty"` // the claim asked for a retention
	Began       int64  `json:"began"`              // in nanoseconds
	Base        uint64 `json:"base,omitempty"`     // see fences
	Fence       uint64 `json:"fence,omitempty"`
	Result      []byte `json:"result,omitempty"`
	terms
}

func (r *record) fence() uint64 {
	if r.Fence != 0 {
		return r.Fence
	}
	return fenceAt(r.Base, r.modified)
}

func (r *record) leased() lease    { return r.terms.leased(r.lease) }
func (r *record) began() time.Time { return time.Unix(0, r.Began) }
func (r *record) running() bool    { return r.State == engine.Running.String() }

// matches reports whether the fingerprint is compatible with the record's.
func (r *record) matches(fingerprint string) bool {
	return fingerprint == "" || r.Fingerprint == "" || r.Fingerprint == text(fingerprint)
}

// rewritten returns a copy to be written again, which keeps its fence.
func (r *record) rewritten() record {
	x := *r
	x.Fence = r.fence()
	return x
}

// A claimMark is the value of a claim key. It exists while the claim is held.
type claimMark struct {
	version `json:"-"`
	terms
}

func (c *claimMark) leased() lease { return c.terms.leased(c.lease) }

// An entry is a record at one revision of etcd.
type entry struct {
	name     string
	revision int64
	fences   fences
	record   *record    // nil for an absent record
	claim    *claimMark // nil if no claim is held
	tombs    map[string]bool
}

// readEntry reads a record.
func (e *Engine) readEntry(ctx context.Context, name string) (*entry, error) {
	resp, err := e.read(ctx, name, "read-record", e.entryReads(name)...)
	if err != nil {
		return nil, err
	}
	return e.parseEntry(name, resp)
}

// entryReads are the reads of which parseEntry makes an entry.
func (e *Engine) entryReads(name string) []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(e.keys.record(name), clientv3.WithPrefix()), clientv3.OpGet(e.keys.fence())}
}

// parseEntry makes an entry of the last two reads of a transaction.
func (e *Engine) parseEntry(name string, resp *clientv3.TxnResponse) (*entry, error) {
	reads := resp.Responses[len(resp.Responses)-2:]
	x := &entry{name: name, revision: resp.Header.Revision, fences: e.parseFences(kvsOf(reads[1])), tombs: make(map[string]bool)}
	for _, kv := range kvsOf(reads[0]) {
		part, id, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), e.keys.record(name)), "/")
		var err error
		switch part {
		case "result":
			x.record = &record{version: versionOf(kv)}
			err = json.Unmarshal(kv.Value, x.record)
		case "claim":
			x.claim = &claimMark{version: versionOf(kv)}
			err = json.Unmarshal(kv.Value, x.claim)
		case "tomb":
			x.tombs[id] = true
		}
		if err != nil {
			return nil, fail(name, "the value of "+strconv.Quote(string(kv.Key))+" was not written by this engine: "+err.Error(), engine.ErrKind)
		}
	}
	return x, nil
}

// state returns the state of the record. A claim that has expired without an outcome is
// Unknown.
func (x *entry) state() engine.State {
	switch {
	case x.record == nil:
		return engine.Absent
	case x.record.running() && x.claim == nil:
		return engine.Unknown
	}
	return stateOf(x.record.State)
}

// stateOf returns the state of that name.
func stateOf(name string) engine.State {
	for s := engine.Absent; s <= engine.Unknown; s++ {
		if s.String() == name {
			return s
		}
	}
	return engine.Unknown
}

// leased returns the lease that ends the state: that of the claim, or of the record.
func (x *entry) leased() lease {
	if x.state() == engine.Running {
		return x.claim.leased()
	}
	return x.record.leased()
}

// unchanged is the condition that the record has not been changed. An absent record must
// still be absent.
func (x *entry) unchanged(k keyspace) clientv3.Cmp {
	if x.record == nil {
		return absent(k.result(x.name))
	}
	return x.record.unchanged()
}

// outline returns the record without its result and the time left.
func (x *entry) outline() engine.Record {
	if x.record == nil {
		return engine.Record{Key: x.name}
	}
	r := x.record
	return engine.Record{
		Key: x.name, State: x.state(), Fence: r.fence(), Began: r.began(),
		Age: max(0, time.Since(r.began())), Fingerprint: string(r.Fingerprint),
	}
}

// snapshot returns the record with its result and the time left. If its lease has expired
// since it was read, it is returned as it was, with a moment left.
func (e *Engine) snapshot(ctx context.Context, x *entry) (engine.Record, error) {
	r := x.outline()
	if x.record == nil {
		return r, nil
	}
	r.Result = x.record.Result
	left, err := e.left(ctx, x.name, x.leased())
	r.Left = max(left, time.Millisecond)
	return r, err
}
