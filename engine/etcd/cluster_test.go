package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
)

// clusterTimeout is the timeout of engines on a cluster that loses members. It is longer
// than an election on a busy machine.
const clusterTimeout = 15 * time.Second

// A patient engine repeats calls whose outcome an election has left open.
type patient struct{ *etcd.Engine }

func (p patient) Acquire(ctx context.Context, r engine.Request) (g engine.Grant, err error) {
	for range 20 {
		if g, err = p.Engine.Acquire(ctx, r); !errors.Is(err, engine.ErrUnknown) && !errors.Is(err, engine.ErrUnavailable) {
			break
		}
		r.Retry = true
	}
	return g, err
}

// mustRelease releases r, whose release may have to be repeated.
func (p patient) mustRelease(t testing.TB, r engine.Request) {
	t.Helper()
	eventually(t, func() error {
		_, err := p.Release(t.Context(), r)
		return err
	})
}

// undisturbed runs f until it returns nil, up to five times: an election or a busy machine may
// disturb it.
func undisturbed(t testing.TB, f func() error) {
	t.Helper()
	var errs []error
	for range 5 {
		err := f()
		if err == nil {
			return
		}
		errs = append(errs, err)
	}
	t.Fatal(errors.Join(errs...))
}

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
		e.mustRelease(t, r)
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
		// A connection is closed after 12s of silence. Calls must not wait for that.
		quick := open(t, etcdtest.URL(members), etcd.Timeout(9*time.Second))
		undisturbed(t, func() (err error) {
			follower := others(members, leader(t, client))[0]
			follower.Stop()
			defer follower.Cont()
			for range 5 {
				err = errors.Join(err, quick.Renew(t.Context(), []engine.Request{r})[0])
			}
			return err
		})
		at := leader(t, client)
		members[at].Stop()
		eventually(t, func() error { return e.Renew(t.Context(), []engine.Request{r})[0] })
		busy(t, e, by(bob, r))
		members[at].Cont()
		e.mustRelease(t, r) // a transaction that the old leader takes just now is lost
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
		undisturbed(t, func() error {
			// In another raft term each renewal needs a new lease and a transaction, which is sent once.
			eventually(t, func() error { return errors.Join(quick.Renew(t.Context(), all)...) })
			follower := others(members, leader(t, client))[0]
			follower.Stop()
			defer follower.Cont()
			lost := 0
			for _, err := range quick.Renew(t.Context(), all) {
				if err != nil {
					lost++
				}
			}
			if lost > len(all)*3/4 {
				return fmt.Errorf("%d of %d renewals failed, want few", lost, len(all))
			}
			return nil
		})
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
		_, err := e.Engine.Acquire(t.Context(), by(bob, r))
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
		_, e, client := cluster(t, etcd.Timeout(clusterTimeout))
		undisturbed(t, func() error {
			at := leader(t, client)
			h, err := e.Probe(t.Context())
			if err != nil || h.Topology != engine.Ensemble || len(h.Nodes) != 3 {
				return fmt.Errorf("probe: %+v, %w", h, err)
			}
			for i, n := range h.Nodes {
				if (n.Role == engine.Primary) != (i == at) || n.Version == "" || n.Err != nil || !n.Linked || n.UsedMemory == 0 {
					err = errors.Join(err, fmt.Errorf("member %d is %+v", i, n))
				}
			}
			return err
		})
	})
}
