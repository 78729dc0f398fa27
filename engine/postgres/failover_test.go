package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

func TestFailover(t *testing.T) {
	t.Parallel()
	ctx, primary := context.Background(), postgrestest.StartServer(t)
	d := primary.Create(t)
	migrate(t, d.URL())
	replica := primary.StartReplica(t)
	// The replica is named first, so the engine must look for the primary.
	url := strings.Replace(d.URL(), primary.Addr(), replica.Addr()+","+primary.Addr(), 1)
	e := open(t, url, postgres.Timeout(3*time.Second))
	r, c := request(t, "ann:1", "1"), claim(t, "1")
	r.FenceReserve = 100
	g := granted(t, e, r)
	if _, err := e.Capabilities().Ledger.Claim(ctx, c); err != nil {
		t.Fatal(err)
	}
	before, err := e.Incarnation(ctx)
	if err != nil {
		t.Fatal(err)
	}
	h, err := e.Probe(ctx)
	if err != nil || h.Nodes[0].Role != engine.Primary || h.Nodes[0].Replicas != 1 {
		t.Errorf("probe: %+v, error %v; want a primary with one replica", h, err)
	}
	standby := open(t, replica.URL(d.Name), postgres.Timeout(3*time.Second))
	if _, err := standby.Acquire(ctx, r); !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrUnknown) {
		t.Errorf("acquire on a replica: error %v, want %v", err, engine.ErrUnavailable)
	}
	if h, err := standby.Probe(ctx); err != nil || h.Nodes[0].Role != engine.Replica {
		t.Errorf("probe of a replica: %+v, error %v", h, err)
	}
	wake, stop := e.Notify(r)
	defer stop()
	awaitWake(t, wake)
	replica.AwaitReplay(t, primary)

	primary.Kill(t)
	replica.Promote(t)
	awaitWake(t, wake) // on a connection to the new primary
	eventually(t, "the new primary answers", func() bool { return e.Renew(ctx, []engine.Request{r})[0] == nil })
	var busy *engine.BusyError
	if _, err := e.Acquire(ctx, request(t, "bob:1", "1")); !errors.As(err, &busy) {
		t.Errorf("acquire: error %v, want a *engine.BusyError", err)
	}
	wantState(t, e, c.Key, engine.Running)
	if _, err := e.Release(ctx, r); err != nil {
		t.Fatal(err)
	}
	awaitWake(t, wake)
	if next := granted(t, e, request(t, "bob:1", "2")); next.Fence <= g.Fence+r.FenceReserve {
		t.Errorf("fence %d follows fence %d with a reserve of %d, want a higher one", next.Fence, g.Fence, r.FenceReserve)
	}
	if after, err := e.Incarnation(ctx); err != nil || after.ID == before.ID {
		t.Errorf("the incarnation went from %+v to %+v, error %v; want a new one", before, after, err)
	}
}

// An asynchronous replica may lack a grant. Its holder learns that it has lost the lock.
func TestFailoverToAReplicaThatMissedAGrant(t *testing.T) {
	t.Parallel()
	ctx, primary := context.Background(), postgrestest.StartServer(t)
	d := primary.Create(t)
	migrate(t, d.URL())
	replica := primary.StartReplica(t)
	e := open(t, strings.Replace(d.URL(), primary.Addr(), primary.Addr()+","+replica.Addr(), 1), postgres.Timeout(3*time.Second))
	kept, missed, c := request(t, "ann:1", "1"), request(t, "ann:2", "1"), claim(t, "1")
	missed.Key += "missed"
	granted(t, e, kept)
	replica.AwaitReplay(t, primary)
	replica.Stop(t)
	primary.Exec(t, "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_replication") // data in flight would still arrive
	granted(t, e, missed)
	if _, err := e.Capabilities().Ledger.Claim(ctx, c); err != nil {
		t.Fatal(err)
	}
	primary.Kill(t)
	replica.Cont(t)
	replica.Promote(t)

	eventually(t, "the new primary answers", func() bool { return e.Renew(ctx, []engine.Request{kept})[0] == nil })
	if err := e.Renew(ctx, []engine.Request{missed})[0]; !errors.Is(err, engine.ErrNotHolder) {
		t.Errorf("renew: error %v, want %v", err, engine.ErrNotHolder)
	}
	if err := e.Capabilities().Ledger.Renew(ctx, []engine.Claim{c})[0]; !errors.Is(err, engine.ErrNotHolder) {
		t.Errorf("renew the claim: error %v, want %v", err, engine.ErrNotHolder)
	}
	if o, err := e.Capabilities().Ledger.Settle(ctx, done(c)); err != nil || o != engine.AlreadyFree {
		t.Errorf("settle: %v, error %v; want %v", o, err, engine.AlreadyFree)
	}
	next := missed
	next.Holder = "bob:1"
	granted(t, e, next)
	if res, err := e.Release(ctx, missed); err != nil || res.Outcome != engine.NotYours {
		t.Errorf("release: %+v, error %v; want %v", res, err, engine.NotYours)
	}
}
