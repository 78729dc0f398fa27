package etcd_test

import (
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
)

// interrupted returns an engine that calls do once, between the answer to an operation and
// what the engine does next.
func interrupted(t testing.TB, m *etcdtest.Member, operation string, do func()) *etcd.Engine {
	t.Helper()
	e := open(t, m.URL())
	once := sync.OnceFunc(do)
	t.Cleanup(e.Capabilities().Observe(func(c engine.ServerCall) {
		if c.Operation == operation {
			once()
		}
	}))
	return e
}

// TestInterleavings lets one engine change a lock or a record after another engine has read
// it and before that engine changes it.
func TestInterleavings(t *testing.T) {
	sharedTests(t, map[string]func(t *testing.T, m *etcdtest.Member){
		"a reader is refused if a writer came after its read": func(t *testing.T, m *etcdtest.Member) {
			other, w := open(t, m.URL()), request(ann)
			w.Kind = engine.Write
			r := by(bob, w)
			r.Kind, r.Retry = engine.Read, true // a first attempt would guess
			busy(t, interrupted(t, m, "read-lock", func() { granted(t, other, w) }), r)
		},
		"a second reader does not disturb the first": func(t *testing.T, m *etcdtest.Member) {
			other, r := open(t, m.URL()), request(ann)
			r.Kind, r.Retry = engine.Read, true
			granted(t, interrupted(t, m, "read-lock", func() { granted(t, other, by(bob, r)) }), r)
		},
		"an abandon ends a hold that was granted after its read": func(t *testing.T, m *etcdtest.Member) {
			other, r := open(t, m.URL()), request(ann)
			e := interrupted(t, m, "read-lock", func() { granted(t, other, r) })
			if p, err := e.Abandon(t.Context(), r); err != nil || p.Outcome != engine.Released {
				t.Errorf("abandon: %v, %v, want %v", p.Outcome, err, engine.Released)
			}
			granted(t, other, by(bob, r))
		},
		"an abandon ends a position that was taken after its read": func(t *testing.T, m *etcdtest.Member) {
			other, r := open(t, m.URL()), request(ann)
			r.Kind, r.QueueLease = engine.Fair, time.Minute
			first := by(bob, r)
			granted(t, other, first)
			e := interrupted(t, m, "read-lock", func() { busy(t, other, r) })
			if p, err := e.Abandon(t.Context(), r); err != nil || p.Outcome != engine.NotYours {
				t.Errorf("abandon: %v, %v, want %v", p.Outcome, err, engine.NotYours)
			}
			if b := busy(t, other, by("e4e00000-0000-4000-8000-00000000000e:1", r)); b.Ahead != 0 {
				t.Errorf("%d waiters are ahead, want 0", b.Ahead)
			}
		},
		"a waiter that leaves learns whether the lock is free then": func(t *testing.T, m *etcdtest.Member) {
			other, r := open(t, m.URL()), request(ann)
			r.Kind, r.QueueLease = engine.Fair, time.Minute
			holder := by(bob, r)
			granted(t, other, holder)
			leaves := func(meanwhile func(), want engine.Outcome) {
				e := interrupted(t, m, "read-lock", meanwhile)
				if p, err := e.Release(t.Context(), r); err != nil || p.Outcome != want {
					t.Errorf("release: %v, %v, want %v", p.Outcome, err, want)
				}
			}
			busy(t, other, r)
			leaves(func() { released(t, other, holder, engine.Released) }, engine.AlreadyFree)
			granted(t, other, holder)
			busy(t, other, r)
			released(t, other, holder, engine.Released)
			overtaking := holder
			overtaking.Kind, overtaking.QueueLease = engine.Exclusive, 0
			leaves(func() { granted(t, other, overtaking) }, engine.NotYours)
		},
		"a settlement does not replace one that came after its read": func(t *testing.T, m *etcdtest.Member) {
			other, c := open(t, m.URL()).Capabilities().Ledger, claim()
			if _, err := other.Claim(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			settle := func(l engine.Ledger, result string) {
				o, err := l.Settle(t.Context(), engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Result: []byte(result), Retain: time.Hour})
				if err != nil || o != engine.Released {
					t.Errorf("settle: %v, %v, want %v", o, err, engine.Released)
				}
			}
			e := interrupted(t, m, "read-record", func() { settle(other, "first") })
			settle(e.Capabilities().Ledger, "second")
			if r, err := other.Lookup(t.Context(), c.Key); err != nil || string(r.Result) != "first" {
				t.Errorf("the result is %q, %v, want that of the first settlement", r.Result, err)
			}
		},
		"a claim is not granted over one that came after its read": func(t *testing.T, m *etcdtest.Member) {
			other, c := open(t, m.URL()).Capabilities().Ledger, claim()
			e := interrupted(t, m, "read-record", func() {
				if r, err := other.Claim(t.Context(), c); err != nil || !r.Granted {
					t.Errorf("claim: %+v, %v, want a grant", r, err)
				}
			})
			late := c
			late.Attempt += "late"
			if r, err := e.Capabilities().Ledger.Claim(t.Context(), late); err != nil || r.Granted {
				t.Errorf("claim: %+v, %v, want none", r, err)
			}
		},
	})
}
