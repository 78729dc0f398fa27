package etcd_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
)

// TestWatches cuts the connection of waiters.
func TestWatches(t *testing.T) {
	sharedTests(t, map[string]func(*testing.T, *etcdtest.Member){
		"a release during a cut notifies the waiter after it": func(t *testing.T, m *etcdtest.Member) {
			n, direct, r := behindProxy(t, m.Addr()), open(t, m.URL()), request(ann)
			granted(t, direct, r)
			wake, stop := n.Notify(by(bob, r))
			defer stop()
			notified(t, wake)
			n.Refuse(true)
			n.Reset()
			released(t, direct, r, engine.Released)
			n.Refuse(false)
			notified(t, wake)
		},
		"the end of a lease notifies the waiter": func(t *testing.T, m *etcdtest.Member) {
			e, r := open(t, m.URL()), request(ann)
			r.Lease = time.Second
			granted(t, e, r)
			wake, stop := e.Notify(by(bob, r))
			defer stop()
			notified(t, wake)
			notified(t, wake)
			granted(t, e, by(bob, r))
		},
		"only the first waiter of a queue is notified": func(t *testing.T, m *etcdtest.Member) {
			e, r := open(t, m.URL()), request(ann)
			r.Kind, r.QueueLease = engine.Fair, time.Minute
			granted(t, e, r)
			first, second := by(bob, r), by("c:1", r)
			busy(t, e, first)
			busy(t, e, second)
			wakeFirst, stopFirst := e.Notify(first)
			defer stopFirst()
			wakeSecond, stopSecond := e.Notify(second)
			defer stopSecond()
			notified(t, wakeFirst)
			notified(t, wakeSecond)
			released(t, e, r, engine.Released)
			notified(t, wakeFirst)
			granted(t, e, first)
			select {
			case <-wakeSecond:
				t.Error("the second waiter was notified, although the first one had not given up")
			case <-time.After(time.Second):
			}
		},
		"a watch of a settled record is notified by another engine": func(t *testing.T, m *etcdtest.Member) {
			e, other, c := open(t, m.URL()), open(t, m.URL()), claim()
			if _, err := e.Capabilities().Ledger.Claim(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			wake, stop := other.Capabilities().Ledger.Watch(c.Key)
			defer stop()
			notified(t, wake)
			s := engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Retain: time.Hour}
			if _, err := e.Capabilities().Ledger.Settle(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			notified(t, wake)
		},
		"a closed engine ends its watches": func(t *testing.T, m *etcdtest.Member) {
			e, r := open(t, m.URL()), request(ann)
			wake, stop := e.Notify(r)
			notified(t, wake)
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			stop()
			_, err := e.Acquire(t.Context(), r)
			wantError(t, err, engine.ErrClosed)
			if again, _ := e.Notify(r); len(again) > 0 {
				t.Error("a closed engine notified a waiter")
			}
		},
	})
	t.Run("a waiter whose revision was compacted is notified", func(t *testing.T) {
		t.Parallel()
		m := etcdtest.Start(t)
		n, direct, client, r := behindProxy(t, m.Addr()), open(t, m.URL()), connect(t, m.Addr()), request(ann)
		granted(t, direct, r)
		wake, stop := n.Notify(by(bob, r))
		defer stop()
		notified(t, wake)
		n.Refuse(true)
		n.Reset()
		released(t, direct, r, engine.Released)
		var last int64
		for i := range 10 {
			resp, err := client.Put(t.Context(), "other", fmt.Sprint(i))
			if err != nil {
				t.Fatal(err)
			}
			last = resp.Header.Revision
		}
		if _, err := client.Compact(t.Context(), last); err != nil {
			t.Fatal(err)
		}
		n.Refuse(false)
		notified(t, wake)
	})
}
