package etcd

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

// A state is a lock at one revision of etcd.
type state struct {
	name     string
	revision int64
	fences   fences
	holds    []*hold // in order of arrival
	waiters  []*waiter
	tombs    map[string]bool
	latch    *latch
}

// A version identifies a key as it was read.
type version struct {
	key      string
	created  int64 // the revision of the grant or of the arrival
	modified int64
	lease    clientv3.LeaseID
}

// unchanged is the condition that the key has not been changed or deleted.
func (v *version) unchanged() clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(v.key), "=", v.modified)
}

// present is the condition that the key was not deleted.
func (v *version) present() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(v.key), "=", v.created)
}

// absent is the condition that a key does not exist.
func absent(key string) clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
}

// terms are what a value says about the lease of its key.
type terms struct {
	TTL  int64  `json:"ttl"`  // in seconds
	Term uint64 `json:"term"` // see lease
}

func termsOf(l lease) terms                      { return terms{l.ttl, l.term} }
func (t terms) leased(id clientv3.LeaseID) lease { return lease{id, t.TTL, t.Term} }

// A hold is the value of a holder's key.
type hold struct {
	version  `json:"-"`
	Kind     string `json:"kind"`
	Holder   text   `json:"holder"`
	Attempts []text `json:"attempts"`
	terms
	Base  uint64 `json:"base,omitempty"`  // see fences
	Fence uint64 `json:"fence,omitempty"` // replaces the fence of the revision
}

// first returns the first attempt.
func (h *hold) first() string {
	if len(h.Attempts) == 0 {
		return ""
	}
	return string(h.Attempts[0])
}

func (h *hold) has(attempt string) bool { return slices.Contains(h.Attempts, text(attempt)) }
func (h *hold) grant() engine.Grant     { return engine.Grant{Fence: h.fence(), Count: len(h.Attempts)} }
func (h *hold) leased() lease           { return h.terms.leased(h.lease) }

// fence returns the fence of the hold.
func (h *hold) fence() uint64 {
	if h.Fence != 0 {
		return h.Fence
	}
	return fenceAt(h.Base, h.created)
}

// kind returns the kind of the hold.
func (h *hold) kind() engine.Kind { return kindOf(h.Kind) }

// kindOf returns the kind of that name.
func kindOf(name string) engine.Kind {
	for k := range engine.Latch {
		if k.String() == name {
			return k
		}
	}
	return engine.Exclusive
}

// A waiter is the value of a queue position's key. The position has expired if turn does
// not exist.
type waiter struct {
	version `json:"-"`
	turn    *turn
	Kind    string `json:"kind"`
	Holder  text   `json:"holder"`
	Attempt text   `json:"attempt"`
	terms
}

// A turn exists while a queue position has not expired.
type turn struct {
	version `json:"-"`
	terms
}

func (w *waiter) leased() lease { return w.terms.leased(w.lease) }
func (t *turn) leased() lease   { return t.terms.leased(t.lease) }
func (w *waiter) expired() bool { return w.turn == nil }

// readLock reads a lock.
func (e *Engine) readLock(ctx context.Context, name string) (*state, error) {
	resp, err := e.read(ctx, name, "read-lock", e.lockReads(name)...)
	if err != nil {
		return nil, err
	}
	return e.parse(name, resp)
}

// lockReads are the reads of which parse makes a state.
func (e *Engine) lockReads(name string) []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(e.keys.lock(name), clientv3.WithPrefix()), clientv3.OpGet(e.keys.fence())}
}

// parse makes a state of the last two reads of a transaction.
func (e *Engine) parse(name string, resp *clientv3.TxnResponse) (*state, error) {
	reads := resp.Responses[len(resp.Responses)-2:]
	s := &state{name: name, revision: resp.Header.Revision, fences: e.parseFences(kvsOf(reads[1])), tombs: make(map[string]bool)}
	if err := s.add(e.keys.lock(name), kvsOf(reads[0])); err != nil {
		return nil, err
	}
	return s, nil
}

func kvsOf(r *pb.ResponseOp) []*mvccpb.KeyValue { return r.GetResponseRange().GetKvs() }

// add sorts the keys of a lock into the state.
func (s *state) add(prefix string, kvs []*mvccpb.KeyValue) error {
	turns := make(map[string]*turn)
	for _, kv := range kvs {
		v := versionOf(kv)
		part, id, _ := strings.Cut(strings.TrimPrefix(v.key, prefix), "/")
		var into any
		switch part {
		case "hold":
			h := &hold{version: v}
			s.holds, into = append(s.holds, h), h
		case "wait":
			w := &waiter{version: v}
			s.waiters, into = append(s.waiters, w), w
		case "turn":
			t := &turn{version: v}
			turns[id], into = t, t
		case "tomb":
			s.tombs[id] = true
		case "latch":
			s.latch = &latch{version: v}
			into = s.latch
		}
		if into == nil {
			continue
		}
		if err := json.Unmarshal(kv.Value, into); err != nil {
			return fail(s.name, "the value of "+strconv.Quote(v.key)+" was not written by this engine: "+err.Error(), engine.ErrKind)
		}
	}
	for _, w := range s.waiters {
		_, id, _ := strings.Cut(strings.TrimPrefix(w.key, prefix), "/")
		w.turn = turns[id]
	}
	slices.SortFunc(s.holds, func(a, b *hold) int { return cmp.Compare(a.created, b.created) })
	slices.SortFunc(s.waiters, func(a, b *waiter) int { return cmp.Compare(a.created, b.created) })
	return nil
}

func versionOf(kv *mvccpb.KeyValue) version {
	return version{string(kv.Key), kv.CreateRevision, kv.ModRevision, clientv3.LeaseID(kv.Lease)}
}

// value renders the value of a key.
func value(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the values consist of texts and numbers
	}
	return string(b)
}

// held returns the name of the family that the lock is held as, or "" if it is free.
func (s *state) held() string {
	switch {
	case s.latch != nil:
		return engine.Latch.String()
	case len(s.holds) > 0:
		return s.holds[0].Kind
	}
	return ""
}

// otherFamily reports whether r requests a lock of another family than the one that is held.
func (s *state) otherFamily(r *engine.Request) bool {
	return s.latch != nil || len(s.holds) > 0 && family(s.holds[0].kind()) != family(r.Kind)
}

// abandoned reports whether r's attempt has a tombstone.
func (s *state) abandoned(r *engine.Request) bool { return s.tombs[tombID(r.Holder, r.Attempt)] }

// holdOf returns the hold of r's holder and kind, or nil.
func (s *state) holdOf(r *engine.Request) *hold {
	kind := storedKind(r.Kind)
	for _, h := range s.holds {
		if h.Kind == kind && h.Holder == text(r.Holder) && (r.Kind != engine.Permit || h.has(r.Attempt)) {
			return h
		}
	}
	return nil
}

// holdOfAttempt returns the hold of r's attempt, or nil.
func (s *state) holdOfAttempt(r *engine.Request) *hold {
	if h := s.holdOf(r); h != nil && h.has(r.Attempt) {
		return h
	}
	return nil
}

// writer returns the write hold, or nil.
func (s *state) writer() *hold {
	for _, h := range s.holds {
		if h.Kind == engine.Write.String() {
			return h
		}
	}
	return nil
}

// reads reports whether holder has a read hold.
func (s *state) reads(holder string) bool {
	return slices.ContainsFunc(s.holds, func(h *hold) bool { return h.Kind == engine.Read.String() && h.Holder == text(holder) })
}

// readers returns the number of read holds.
func (s *state) readers() (n int) {
	for _, h := range s.holds {
		if h.Kind == engine.Read.String() {
			n++
		}
	}
	return n
}

// waiterOf returns the queue position of r, or nil.
func (s *state) waiterOf(r *engine.Request) *waiter {
	for _, w := range s.waiters {
		if w.Kind == r.Kind.String() && w.Holder == text(r.Holder) && (r.Kind != engine.Permit || w.Attempt == text(r.Attempt)) {
			return w
		}
	}
	return nil
}

// queue returns the positions of r's family, in order.
func (s *state) queue(r *engine.Request) []*waiter {
	return slices.DeleteFunc(slices.Clone(s.waiters), func(w *waiter) bool { return family(kindOf(w.Kind)) != family(r.Kind) })
}

// before returns the positions before that of r, or all of them if r has none.
func (s *state) before(r *engine.Request) []*waiter {
	all, own := s.queue(r), s.waiterOf(r)
	if at := slices.Index(all, own); own != nil && at >= 0 {
		return all[:at]
	}
	return all
}
