package etcd_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
)

// clusterTimeout is the timeout of engines on a cluster that loses members. It is longer
// than an election on a busy machine.
const clusterTimeout = 15 * time.Second

// TestCluster loses members of a cluster.
func TestCluster(t *testing.T) {
	t.Parallel()
	t.Run("a hold survives the death of the leader", func(t *testing.T) {
		t.Parallel()
		members, e, client := cluster(t, etcd.Timeout(clusterTimeout))
		r := request(ann)
		g := granted(t, e, r)
		old := leader(t, client)
		members[old].Kill()
		eventually(t, func() error { return e.Renew(t.Context(), []engine.Request{r})[0] })
		busy(t, e, by(bob, r))
		if again := granted(t, e, r); again != g {
			t.Errorf("the grant went from %+v to %+v", g, again)
		}
		released(t, e, r, engine.Released)
		if next := granted(t, e, by(bob, r)); next.Fence <= g.Fence {
			t.Errorf("fence %d follows fence %d", next.Fence, g.Fence)
		}
		members[old].Restart()
	})
	t.Run("a lease that was not renewed expires although the leader died", func(t *testing.T) {
		t.Parallel()
		members, e, client := cluster(t, etcd.Timeout(clusterTimeout))
		r := request(ann)
		r.Lease = 3 * time.Second
		granted(t, e, r)
		wake, stop := e.Notify(by(bob, r))
		defer stop()
		notified(t, wake)
		members[leader(t, client)].Kill()
		eventually(t, func() error {
			_, err := e.Acquire(t.Context(), by(bob, r))
			return err
		})
		notified(t, wake)
	})
	t.Run("calls go on while a member does not answer", func(t *testing.T) {
		t.Parallel()
		members, e, client := cluster(t, etcd.Timeout(clusterTimeout))
		r := request(ann)
		granted(t, e, r)
		at := leader(t, client)
		// A connection is closed after 12s of silence. Calls must not wait for that.
		quick := open(t, etcdtest.URL(members), etcd.Timeout(9*time.Second))
		follower := others(members, at)[0]
		follower.Stop()
		for range 5 {
			renewed(t, quick, r)
		}
		follower.Cont()
		members[at].Stop()
		eventually(t, func() error { return e.Renew(t.Context(), []engine.Request{r})[0] })
		busy(t, e, by(bob, r))
		members[at].Cont()
		// A transaction that the old leader takes just now is lost, and its outcome unknown.
		eventually(t, func() error {
			_, err := e.Release(t.Context(), r)
			return err
		})
		granted(t, e, by(bob, r))
	})
	t.Run("most of many holds are renewed while a member does not answer", func(t *testing.T) {
		t.Parallel()
		members, e, client := cluster(t, etcd.Timeout(clusterTimeout))
		all, errs := make([]engine.Request, 400), make([]error, 400)
		for i := range all {
			all[i] = request(ann)
		}
		eventually(t, func() error {
			var callers sync.WaitGroup
			for from := range 20 {
				callers.Go(func() {
					for i := from; i < len(all); i += 20 {
						_, errs[i] = e.Acquire(t.Context(), all[i])
					}
				})
			}
			callers.Wait()
			return errors.Join(errs...)
		})
		// A connection is closed after 12s of silence. The call ends before that, and a third of its
		// requests wait for 3s first.
		quick := open(t, etcdtest.URL(members), etcd.Timeout(9*time.Second))
		for range 3 {
			// In another raft term each renewal needs a new lease and a transaction, which is sent once.
			eventually(t, func() error { return errors.Join(quick.Renew(t.Context(), all)...) })
			before := term(t, client)
			follower := others(members, leader(t, client))[0]
			follower.Stop()
			lost := 0
			for _, err := range quick.Renew(t.Context(), all) {
				if err != nil {
					lost++
				}
			}
			follower.Cont()
			if lost <= len(all)*3/4 {
				return
			}
			if after := term(t, client); after == before {
				t.Fatalf("%d of %d renewals failed, want few", lost, len(all))
			}
		}
		t.Error("most renewals failed three times, each time during an election")
	})
	t.Run("without a majority nothing is granted and nothing is lost", func(t *testing.T) {
		t.Parallel()
		members, e, client := cluster(t, etcd.Timeout(short))
		r := request(ann)
		granted(t, e, r)
		down := others(members, leader(t, client))
		for _, m := range down {
			m.Kill()
		}
		start := time.Now()
		_, err := e.Acquire(t.Context(), by(bob, r))
		wantError(t, err, engine.ErrUnavailable, engine.ErrUnknown)
		if took := time.Since(start); took > 3*short {
			t.Errorf("the refusal took %v, with a timeout of %v", took, short)
		}
		h, err := e.Probe(t.Context())
		if err != nil || len(h.Nodes) != 3 {
			t.Errorf("probe: %+v, %v; want three nodes", h, err)
		}
		for _, m := range down {
			if err := m.Start(); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, func() error { return e.Renew(t.Context(), []engine.Request{r})[0] })
		var b *engine.BusyError
		eventually(t, func() error {
			if _, err := e.Acquire(t.Context(), by(bob, r)); !errors.As(err, &b) {
				return errors.New("not refused yet")
			}
			return nil
		})
	})
	t.Run("a probe names the leader", func(t *testing.T) {
		t.Parallel()
		_, e, client := cluster(t)
		at := leader(t, client)
		h, err := e.Probe(t.Context())
		if err != nil || h.Topology != engine.Ensemble || len(h.Nodes) != 3 {
			t.Fatalf("probe: %+v, %v", h, err)
		}
		for i, n := range h.Nodes {
			if (n.Role == engine.Primary) != (i == at) || n.Version == "" || n.Err != nil || !n.Linked || n.UsedMemory == 0 {
				t.Errorf("member %d is %+v", i, n)
			}
		}
	})
}

// term returns the raft term, which rises with each election.
func term(t testing.TB, client *clientv3.Client) (term uint64) {
	t.Helper()
	eventually(t, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), clusterTimeout)
		defer cancel()
		resp, err := client.Get(ctx, "interlock/fence")
		if err == nil {
			term = resp.Header.RaftTerm
		}
		return err
	})
	return term
}
