package etcd_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// short is a timeout for calls that are not answered. The engine gives each server call a third
// of it.
const short = 6 * time.Second

// TestLostAnswers loses answers, which no law does below the engine.
func TestLostAnswers(t *testing.T) {
	sharedTests(t, map[string]func(*testing.T, *etcdtest.Member){
		"a grant whose reply was lost is unknown and found again": func(t *testing.T, m *etcdtest.Member) {
			n, r := behindProxy(t, m.Addr(), etcd.Timeout(short)), request(ann)
			n.then(n.loseReplies, "lease-grant")
			_, err := n.Acquire(t.Context(), r)
			wantError(t, err, engine.ErrUnknown, engine.ErrUnavailable)
			n.heal()
			direct := open(t, m.URL())
			busy(t, direct, by(bob, r))
			r.Retry = true
			if g := granted(t, direct, r); g.Count != 1 {
				t.Errorf("the repeated attempt has entered %d times, want once", g.Count)
			}
			released(t, direct, r, engine.Released)
		},
		"an enqueued request whose reply was lost keeps its position": func(t *testing.T, m *etcdtest.Member) {
			n, direct, r := behindProxy(t, m.Addr(), etcd.Timeout(short)), open(t, m.URL()), request(ann)
			r.Kind, r.QueueLease = engine.Fair, time.Minute
			granted(t, direct, r)
			first, second := by(bob, r), by("c:1", r)
			n.then(n.loseReplies, "lease-grant", "lease-grant") // the second one is for the turn
			_, err := n.Acquire(t.Context(), first)
			wantError(t, err, engine.ErrUnknown)
			n.heal()
			if b := busy(t, direct, second); b.Ahead != 1 {
				t.Errorf("%d waiters are ahead, want 1", b.Ahead)
			}
		},
		"a request in the queue is refused although the rest of the lease cannot be read": func(t *testing.T, m *etcdtest.Member) {
			n, direct, r := behindProxy(t, m.Addr(), etcd.Timeout(short)), open(t, m.URL()), request(ann)
			r.Kind, r.QueueLease = engine.Fair, time.Minute
			granted(t, direct, r)
			n.then(n.loseReplies, "enqueue")
			if b := busy(t, n, by(bob, r)); b.Holder != ann || b.Left != 0 {
				t.Errorf("the refusal is %+v, want the holder %s and no rest of the lease", b, ann)
			}
			if b := busy(t, direct, by("c:1", r)); b.Ahead != 1 {
				t.Errorf("%d waiters are ahead, want 1", b.Ahead)
			}
		},
		"the outcome of a request in the queue that others keep from the lock is unknown": func(t *testing.T, m *etcdtest.Member) {
			e, direct, client, r := open(t, m.URL(), etcd.Timeout(short)), open(t, m.URL()), connect(t, m.Addr()), request(ann)
			r.Kind, r.QueueLease = engine.Fair, time.Minute
			granted(t, direct, r)
			stop := e.Capabilities().Observe(func(c engine.ServerCall) {
				switch c.Operation {
				case "read-lock":
					released(t, direct, r, engine.Released)
				case "enqueue", "acquire":
					if _, err := client.Put(t.Context(), "interlock/lock/"+r.Key+"/tomb/other/attempt", ""); err != nil {
						t.Error(err)
					}
				}
			})
			defer stop()
			_, err := e.Acquire(t.Context(), by(bob, r))
			wantError(t, err, engine.ErrUnknown)
		},
		"a release whose reply was lost is unknown": func(t *testing.T, m *etcdtest.Member) {
			n, r := behindProxy(t, m.Addr(), etcd.Timeout(short)), request(ann)
			granted(t, n, r)
			n.loseReplies()
			_, err := n.Release(t.Context(), r)
			wantError(t, err, engine.ErrUnknown, engine.ErrUnavailable)
			granted(t, open(t, m.URL()), by(bob, r))
		},
		"a renewal whose reply was lost is unknown": func(t *testing.T, m *etcdtest.Member) {
			n, r := behindProxy(t, m.Addr(), etcd.Timeout(short)), request(ann)
			granted(t, n, r)
			n.then(n.loseReplies, "read-holds")
			wantError(t, n.Renew(t.Context(), []engine.Request{r})[0], engine.ErrUnknown, engine.ErrNotHolder)
		},
		"a settlement whose reply was lost is unknown and has the same answer again": func(t *testing.T, m *etcdtest.Member) {
			n, c := behindProxy(t, m.Addr(), etcd.Timeout(short)), claim()
			if r, err := n.Capabilities().Ledger.Claim(t.Context(), c); err != nil || !r.Granted {
				t.Fatalf("claim: %+v, %v", r, err)
			}
			s := engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Result: []byte("x"), Retain: time.Hour}
			n.then(n.loseReplies, "lease-keep-alive") // of the record's lease, which is kept
			_, err := n.Capabilities().Ledger.Settle(t.Context(), s)
			wantError(t, err, engine.ErrUnknown)
			if o, err := open(t, m.URL()).Capabilities().Ledger.Settle(t.Context(), s); err != nil || o != engine.Released {
				t.Errorf("the repeated settlement: %v, %v, want released", o, err)
			}
		},
		"a lost answer to a read changes nothing": func(t *testing.T, m *etcdtest.Member) {
			n, r := behindProxy(t, m.Addr(), etcd.Timeout(short)), request(ann)
			n.loseReplies()
			start := time.Now()
			_, err := n.Acquire(t.Context(), r)
			wantError(t, err, engine.ErrUnavailable, engine.ErrUnknown)
			if took := time.Since(start); took > 3*short {
				t.Errorf("the call took %v, with a timeout of %v", took, short)
			}
			n.heal()
			granted(t, n, r)
		},
		"a read that one connection does not answer is repeated": func(t *testing.T, m *etcdtest.Member) {
			n, r := behindProxy(t, m.Addr()), request(ann)
			n.CutAfterRequest()
			granted(t, n, r)
		},
		"a caller that gives up before the change changes nothing": func(t *testing.T, m *etcdtest.Member) {
			n, r := behindProxy(t, m.Addr()), request(ann)
			ctx, cancel := context.WithCancel(t.Context())
			n.then(cancel, "lease-grant")
			_, err := n.Acquire(ctx, r)
			wantError(t, err, context.Canceled, engine.ErrUnknown)
			granted(t, open(t, m.URL()), by(bob, r))
		},
		"a caller that gives up after the change does not know its outcome": func(t *testing.T, m *etcdtest.Member) {
			n, r := behindProxy(t, m.Addr()), request(ann)
			ctx, cancel := context.WithCancel(t.Context())
			n.then(func() {
				n.loseReplies()
				time.AfterFunc(500*time.Millisecond, cancel)
			}, "lease-grant")
			_, err := n.Acquire(ctx, r)
			wantError(t, err, engine.ErrUnknown)
			wantError(t, err, context.Canceled)
			n.heal()
		},
	})
}

// TestLateRequests delivers a transaction after its caller has given up.
func TestLateRequests(t *testing.T) {
	sharedTests(t, map[string]func(*testing.T, *etcdtest.Member){
		"a late grant of an abandoned attempt does not happen": func(t *testing.T, m *etcdtest.Member) {
			n, direct, r := behindProxy(t, m.Addr(), etcd.Timeout(short)), open(t, m.URL()), request(ann)
			deliver := n.holdAfter("lease-grant")
			_, err := n.Acquire(t.Context(), r)
			wantError(t, err, engine.ErrUnknown)
			if p, err := direct.Abandon(t.Context(), r); err != nil || p.Outcome != engine.AlreadyFree {
				t.Fatalf("abandon: %v, %v", p.Outcome, err)
			}
			deliver(t)
			granted(t, direct, by(bob, r))
		},
		"a late position of an abandoned attempt does not appear": func(t *testing.T, m *etcdtest.Member) {
			n, direct, r := behindProxy(t, m.Addr(), etcd.Timeout(short)), open(t, m.URL()), request(ann)
			r.Kind, r.QueueLease = engine.Fair, time.Minute
			granted(t, direct, r)
			late := by(bob, r)
			deliver := n.holdAfter("lease-grant", "lease-grant")
			_, err := n.Acquire(t.Context(), late)
			wantError(t, err, engine.ErrUnknown)
			if p, err := direct.Abandon(t.Context(), late); err != nil || p.Outcome != engine.NotYours {
				t.Fatalf("abandon: %v, %v", p.Outcome, err)
			}
			deliver(t)
			if b := busy(t, direct, by("c:1", r)); b.Ahead != 0 {
				t.Errorf("%d waiters are ahead, want none", b.Ahead)
			}
		},
		"a late grant does not overtake another holder": func(t *testing.T, m *etcdtest.Member) {
			n, direct, r := behindProxy(t, m.Addr(), etcd.Timeout(short)), open(t, m.URL()), request(ann)
			deliver := n.holdAfter("lease-grant")
			_, err := n.Acquire(t.Context(), r)
			wantError(t, err, engine.ErrUnknown)
			other := by(bob, r)
			granted(t, direct, other)
			deliver(t)
			renewed(t, direct, other)
			if b := busy(t, direct, by("c:1", r)); b.Holder != bob {
				t.Errorf("the lock is held by %s, want bob", b.Holder)
			}
		},
		"a late release does not end the next hold of the same attempt": func(t *testing.T, m *etcdtest.Member) {
			n, direct, r := behindProxy(t, m.Addr(), etcd.Timeout(short)), open(t, m.URL()), request(ann)
			granted(t, direct, r)
			deliver := n.holdAfter("read-lock")
			_, err := n.Release(t.Context(), r)
			wantError(t, err, engine.ErrUnknown)
			released(t, direct, r, engine.Released)
			granted(t, direct, r)
			deliver(t)
			renewed(t, direct, r)
		},
		"a late claim of an abandoned attempt is not granted": func(t *testing.T, m *etcdtest.Member) {
			n, direct, c := behindProxy(t, m.Addr(), etcd.Timeout(short)), open(t, m.URL()).Capabilities().Ledger, claim()
			deliver := n.holdAfter("lease-grant", "lease-grant")
			_, err := n.Capabilities().Ledger.Claim(t.Context(), c)
			wantError(t, err, engine.ErrUnknown)
			undo := engine.Settlement{Key: c.Key, Attempt: c.Attempt, Abandon: true, Lease: time.Minute}
			if o, err := direct.Settle(t.Context(), undo); err != nil || o != engine.AlreadyFree {
				t.Fatalf("abandon: %v, %v", o, err)
			}
			deliver(t)
			if r, err := direct.Lookup(t.Context(), c.Key); err != nil || r.State != engine.Absent {
				t.Errorf("the record is %+v, %v; want none", r, err)
			}
		},
	})
}

// holdAfter holds back requests after the given operations have been answered, one
// after the other. deliver lets the first one pass, although its caller has given up, and waits
// until the member has answered it. Its cancellation is dropped.
func (n *network) holdAfter(operations ...string) (deliver func(t testing.TB)) {
	open := make(chan func(), 1)
	n.then(func() { open <- n.Hold(faultnet.Requests) }, operations...)
	return func(t testing.TB) {
		t.Helper()
		release := <-open
		n.BlackHole(faultnet.Requests, true) // for chunks that are read from now on
		before := n.Chunks(faultnet.Replies)
		release()
		eventually(t, func() error {
			if n.Chunks(faultnet.Replies) == before {
				return errors.New("the member has not answered the late request")
			}
			return nil
		})
		time.Sleep(time.Second) // the first answer may only acknowledge the data
	}
}

// TestServers stops, kills and restarts servers.
func TestServers(t *testing.T) {
	t.Parallel()
	t.Run("calls to a stopped server end within the timeout", func(t *testing.T) {
		t.Parallel()
		m := etcdtest.Start(t)
		e, r := open(t, m.URL(), etcd.Timeout(short)), request(ann)
		granted(t, e, r)
		m.Stop()
		start := time.Now()
		_, acquireErr := e.Acquire(t.Context(), by(bob, r))
		_, releaseErr := e.Release(t.Context(), r)
		_, lookupErr := e.Capabilities().Ledger.Lookup(t.Context(), "k")
		for _, err := range []error{acquireErr, lookupErr, e.Renew(t.Context(), []engine.Request{r})[0]} {
			wantError(t, err, engine.ErrUnavailable, engine.ErrUnknown, engine.ErrNotHolder)
		}
		wantError(t, releaseErr, engine.ErrUnknown) // it is sent without a read before
		if took := time.Since(start); took > 4*short+short {
			t.Errorf("four calls took %v, with a timeout of %v each", took, short)
		}
		m.Cont()
		eventually(t, func() error { // the release may have arrived
			p, err := e.Release(t.Context(), r)
			if err == nil && p.Outcome == engine.NotYours {
				err = errors.New("another attempt holds the lock")
			}
			return err
		})
		granted(t, e, by(bob, r))
	})
	t.Run("locks and records survive a restart", func(t *testing.T) {
		t.Parallel()
		m := etcdtest.Start(t)
		e, r, c := open(t, m.URL()), request(ann), claim()
		g := granted(t, e, r)
		if _, err := e.Capabilities().Ledger.Claim(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		m.Restart()
		busy(t, e, by(bob, r))
		renewed(t, e, r)
		if again := granted(t, e, r); again != g {
			t.Errorf("the grant went from %+v to %+v", g, again)
		}
		if err := e.Capabilities().Ledger.Renew(t.Context(), []engine.Claim{c})[0]; err != nil {
			t.Errorf("renew the claim: %v", err)
		}
		released(t, e, r, engine.Released)
		if next := granted(t, e, by(bob, r)); next.Fence <= g.Fence {
			t.Errorf("fence %d follows fence %d", next.Fence, g.Fence)
		}
	})
	t.Run("a server that is down refuses at once or within the timeout", func(t *testing.T) {
		t.Parallel()
		m := etcdtest.Start(t)
		e, r := open(t, m.URL(), etcd.Timeout(short)), request(ann)
		m.Kill()
		_, err := e.Acquire(t.Context(), r)
		wantError(t, err, engine.ErrUnavailable, engine.ErrUnknown)
		_, err = etcd.Open(t.Context(), m.URL(), etcd.Timeout(short))
		wantError(t, err, engine.ErrUnavailable)
		lazy, err := etcd.Open(t.Context(), m.URL()+"?lazy=true", etcd.Timeout(short))
		if err != nil {
			t.Fatalf("a lazy engine: %v", err)
		}
		defer lazy.Close()
		m.Restart()
		eventually(t, func() error {
			_, err := lazy.Acquire(t.Context(), r)
			return err
		})
	})
	t.Run("calls wait for a free stream of the connection", func(t *testing.T) {
		t.Parallel()
		e := open(t, etcdtest.Start(t, "--max-concurrent-streams", "4").URL())
		r := request(ann)
		wake, stop := e.Notify(r) // keeps one of the streams
		defer stop()
		notified(t, wake)
		var all sync.WaitGroup
		for range 60 {
			all.Go(func() {
				if _, err := e.Acquire(t.Context(), request(bob)); err != nil {
					t.Errorf("acquire: %v, want a grant", err)
				}
			})
		}
		all.Wait()
		released(t, e, r, engine.AlreadyFree)
	})
	t.Run("a holder whose lease was revoked loses the lock", func(t *testing.T) {
		t.Parallel()
		m := etcdtest.Start(t)
		e, client, r := open(t, m.URL()), connect(t, m.Addr()), request(ann)
		granted(t, e, r)
		revokeAll(t, client)
		wantError(t, e.Renew(t.Context(), []engine.Request{r})[0], engine.ErrNotHolder, engine.ErrRevoked)
		released(t, e, r, engine.AlreadyFree)
		granted(t, e, by(bob, r)) // although leases in the pool were revoked as well
	})
	t.Run("nothing is left when all leases have expired", func(t *testing.T) {
		t.Parallel()
		m := etcdtest.Start(t)
		e, client := open(t, m.URL()), connect(t, m.Addr())
		useEverything(t, e)
		if n := len(keys(t, client, "interlock/")); n < 10 {
			t.Errorf("%d keys exist, want one of each sort", n)
		}
		eventually(t, func() error {
			if left := keys(t, client, "interlock/"); len(left) > 0 {
				return errors.New("keys are left: " + left[0])
			}
			return nil
		})
	})
	t.Run("leases are used again", func(t *testing.T) {
		t.Parallel()
		m := etcdtest.Start(t)
		e, client, r := open(t, m.URL()), connect(t, m.Addr()), request(ann)
		for range 50 {
			granted(t, e, r)
			released(t, e, r, engine.Released)
		}
		all, err := client.Leases(t.Context())
		if err != nil || len(all.Leases) != 1 {
			t.Errorf("after 50 locks there are the leases %v, %v; want one", all.Leases, err)
		}
	})
}
