package etcd_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
)

// TestSharedLease lets two engines remove the same expired position. Its lease must not keep
// two locks alive: the one would last as long as the holder of the other renews it.
func TestSharedLease(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	first, second, client := open(t, m.URL()), open(t, m.URL()), connect(t, m.Addr())
	r := request(ann)
	r.Kind, r.QueueLease = engine.Read, 30*time.Second
	granted(t, first, r)
	w := by(bob, r)
	w.Kind = engine.Write
	busy(t, second, w)
	// The position has expired, and is not forgotten yet.
	if _, err := client.Delete(t.Context(), "interlock/lock/"+r.Key+"/turn/", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	// Both have read the lock before one of them changes it.
	var both sync.WaitGroup
	both.Add(2)
	for _, e := range []engine.Engine{first, second} {
		var once sync.Once
		t.Cleanup(e.Capabilities().Observe(func(c engine.ServerCall) {
			if c.Operation == "read-lock" {
				once.Do(func() { both.Done(); both.Wait() })
			}
		}))
	}
	var readers sync.WaitGroup
	for i, e := range []engine.Engine{first, second} {
		reader := by([]string{"c:1", "d:1"}[i], r)
		readers.Go(func() {
			if _, err := e.Acquire(t.Context(), reader); err != nil {
				t.Error(err)
			}
		})
	}
	readers.Wait()
	leases := make(map[int64]string)
	for _, e := range []engine.Engine{first, second} {
		for range 4 { // more than the leases in the pool
			x := request(ann)
			granted(t, e, x)
			resp, err := client.Get(t.Context(), "interlock/lock/"+x.Key+"/hold/", clientv3.WithPrefix())
			if err != nil || len(resp.Kvs) != 1 {
				t.Fatal(resp, err)
			}
			if other := leases[resp.Kvs[0].Lease]; other != "" {
				t.Errorf("%s and %s have the same lease", strings.TrimPrefix(other, "interlock/"), x.Key)
			}
			leases[resp.Kvs[0].Lease] = x.Key
		}
	}
}

// The age of a note is that of a lease that would last for 285 years.
func TestNotesLeaveNoLeases(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	e := open(t, m.URL())
	for version := range uint64(5) {
		if err := e.WriteNote(t.Context(), "side", "text", version); err != nil {
			t.Fatal(err)
		}
	}
	all, err := connect(t, m.Addr()).Leases(t.Context())
	if err != nil || len(all.Leases) != 1 {
		t.Errorf("there are %d leases, error %v; want 1", len(all.Leases), err)
	}
}
