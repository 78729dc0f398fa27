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
