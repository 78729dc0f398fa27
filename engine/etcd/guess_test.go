package etcd_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
)

// TestGuesses checks that an engine notices when it has guessed wrong. With an unused lease
// at hand, Acquire assumes that the lock is free. Release assumes that the hold has not
// changed. In most tests, another client has changed the lock.
func TestGuesses(t *testing.T) {
	// warm returns an engine with unused leases, which therefore guesses. operations returns
	// the operations that the engine has sent since its last call.
	warm := func(t *testing.T, m *etcdtest.Member, opts ...etcd.Option) (e *etcd.Engine, operations func() string) {
		t.Helper()
		e = open(t, m.URL(), opts...)
		var rs []engine.Request
		for range 3 {
			rs = append(rs, request(ann))
			granted(t, e, rs[len(rs)-1])
		}
		for _, r := range rs {
			released(t, e, r, engine.Released)
		}
		var mu sync.Mutex
		var seen []string
		t.Cleanup(e.Capabilities().Observe(func(c engine.ServerCall) {
			mu.Lock()
			defer mu.Unlock()
			if c.Operation != "term" { // follows a renewal that took long, on a busy machine
				seen = append(seen, c.Operation)
			}
		}))
		return e, func() string {
			mu.Lock()
			defer mu.Unlock()
			defer func() { seen = nil }()
			return strings.Join(seen, " ")
		}
	}
	wantCalls := func(t *testing.T, operations func() string, want string) {
		t.Helper()
		if got := operations(); got != want {
			t.Errorf("the engine sent %q, want %q", got, want)
		}
	}
	sharedTests(t, map[string]func(*testing.T, *etcdtest.Member){
		"a free lock takes three calls": func(t *testing.T, m *etcdtest.Member) {
			e, operations := warm(t, m)
			r := request(ann)
			granted(t, e, r)
			released(t, e, r, engine.Released)
			wantCalls(t, operations, "lease-keep-alive acquire release")
		},
		"a held lock is refused although it was guessed to be free": func(t *testing.T, m *etcdtest.Member) {
			e, operations := warm(t, m)
			for _, kind := range []engine.Kind{engine.Exclusive, engine.Fair, engine.Read, engine.Write, engine.Permit} {
				r := request(bob)
				if r.Kind, r.Limit = kind, 1; kind == engine.Read {
					r.Kind = engine.Write
				}
				granted(t, open(t, m.URL()), r)
				mine := by(ann, r)
				mine.Kind = kind
				if b := busy(t, e, mine); b.Holder != bob {
					t.Errorf("the lock is held by %s, want bob", b.Holder)
				}
			}
			wantCalls(t, operations, strings.TrimSpace(strings.Repeat("lease-keep-alive acquire lease-time-to-live ", 5)))
		},
		"a guess does not overtake a waiter": func(t *testing.T, m *etcdtest.Member) {
			e, operations := warm(t, m)
			other, r := open(t, m.URL()), request(bob)
			r.Kind, r.QueueLease = engine.Fair, time.Minute
			granted(t, other, r)
			busy(t, other, by("c:1", r))
			released(t, other, r, engine.Released)
			mine := by(ann, r)
			mine.QueueLease = 0
			busy(t, e, mine)
			wantCalls(t, operations, "lease-keep-alive acquire lease-time-to-live")
		},
		"a guess does not revive an abandoned attempt": func(t *testing.T, m *etcdtest.Member) {
			e, operations := warm(t, m)
			r := request(ann)
			if _, err := open(t, m.URL()).Abandon(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			_, err := e.Acquire(t.Context(), r)
			wantError(t, err, engine.ErrAbandoned)
			wantCalls(t, operations, "lease-keep-alive acquire")
		},
		"a guess does not miss a raised fence": func(t *testing.T, m *etcdtest.Member) {
			own := etcd.Prefix("raised/") // the fences of the other tests stay
			e, _ := warm(t, m, own)
			other, r := open(t, m.URL(), own), request(bob)
			g := granted(t, other, r)
			if err := other.Raise(t.Context(), r, g.Fence+1_000_000); err != nil {
				t.Fatal(err)
			}
			released(t, other, r, engine.Released)
			if mine := granted(t, e, by(ann, r)); mine.Fence <= g.Fence+1_000_000 {
				t.Errorf("fence %d follows the raised fence %d", mine.Fence, g.Fence+1_000_000)
			}
		},
		"a release reads the lock if the hold has changed": func(t *testing.T, m *etcdtest.Member) {
			e, operations := warm(t, m)
			r := request(ann)
			granted(t, e, r)
			second := by(ann, r)
			granted(t, open(t, m.URL()), second)
			operations()
			p, err := e.Release(t.Context(), r)
			if err != nil || p.Outcome != engine.Released || p.Count != 1 {
				t.Errorf("release: %+v, %v; want one entry left", p, err)
			}
			wantCalls(t, operations, "release release")
			released(t, e, second, engine.Released)
		},
		"a release after a forced release does not end the next hold": func(t *testing.T, m *etcdtest.Member) {
			e, _ := warm(t, m)
			other, r := open(t, m.URL()), request(ann)
			granted(t, e, r)
			if _, err := other.ForceRelease(t.Context(), r.Key); err != nil {
				t.Fatal(err)
			}
			next := by(bob, r)
			granted(t, other, next)
			released(t, e, r, engine.NotYours)
			renewed(t, other, next)
		},
		"a lease that is used again lasts for its full length": func(t *testing.T, m *etcdtest.Member) {
			e, r := open(t, m.URL()), request(ann)
			r.Lease = 8 * time.Second
			for range 3 {
				granted(t, e, r)
				released(t, e, r, engine.Released)
				time.Sleep(4500 * time.Millisecond)
			}
			granted(t, e, r)
			time.Sleep(4500 * time.Millisecond)
			renewed(t, e, r)
		},
		"the lease of a claim that is used again lasts for its full length": func(t *testing.T, m *etcdtest.Member) {
			l, c := open(t, m.URL()).Capabilities().Ledger, claim()
			c.Lease, c.Retain = 8*time.Second, 0
			undo := engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Absent}
			for i := range 3 {
				if r, err := l.Claim(t.Context(), c); err != nil || !r.Granted {
					t.Fatalf("claim %d: %+v, %v", i, r, err)
				}
				time.Sleep(4500 * time.Millisecond)
				if o, err := l.Settle(t.Context(), undo); err != nil || o != engine.Released {
					t.Fatalf("settle %d: %v, %v; want released", i, o, err)
				}
			}
		},
		"an abandon ends a remembered hold": func(t *testing.T, m *etcdtest.Member) {
			e, _ := warm(t, m)
			r := request(ann)
			granted(t, e, r)
			if p, err := e.Abandon(t.Context(), r); err != nil || p.Outcome != engine.Released {
				t.Errorf("abandon: %+v, %v", p, err)
			}
			_, err := e.Acquire(t.Context(), r)
			wantError(t, err, engine.ErrAbandoned)
		},
	})
}
