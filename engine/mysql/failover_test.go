package mysql_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/mysql"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/mysqltest"
)

// replicated returns a primary, its replica, and an engine whose address can move from one to
// the other, as that of a proxy does.
func replicated(t testing.TB) (primary, replica *mysqltest.Server, d *mysqltest.Database, e *mysql.Engine, failOver func()) {
	t.Helper()
	mysqltest.SkipIfShort(t)
	primary = mysqltest.StartPrimary(t)
	replica = primary.StartReplica(t)
	d = primary.Create(t)
	migrate(t, d.URL())
	p := faultnet.New(t, primary.Addr())
	e = open(t, at(d, p.Addr()))
	return primary, replica, d, e, func() {
		t.Helper()
		primary.Kill(t)
		replica.Promote(t)
		p.Redirect(replica.Addr())
		p.Reset()
	}
}

// A commit waits until the replica has received it.
func TestFailoverToASemiSynchronousReplica(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, replica, d, e, failOver := replicated(t)
	r, c := request(t, "ann:1", "1"), claim(t, "1")
	r.FenceReserve = 100
	swept := r
	swept.Key += "swept"
	g, last := granted(t, e, r), granted(t, e, swept)
	if _, err := e.Release(ctx, swept); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Capabilities().Ledger.Claim(ctx, c); err != nil {
		t.Fatal(err)
	}
	d.Exec(t, "UPDATE interlock_document SET expires = 0 WHERE body NOT LIKE '%\"h\":%' AND class = 'locks'")
	if n, err := mysql.Sweep(e); err != nil || n == 0 {
		t.Fatalf("sweep: %d rows, error %v; want the row deleted", n, err)
	}
	before, err := e.Incarnation(ctx)
	if err != nil {
		t.Fatal(err)
	}
	standby, err := mysql.Open(ctx, replica.URL(d.Name), mysql.Timeout(testTimeout))
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Close()
	if h, err := standby.Probe(ctx); err != nil || h.Nodes[0].Role != engine.Replica {
		t.Errorf("probe of a replica: %+v, error %v", h, err)
	}
	wake, stop := e.Notify(r)
	defer stop()
	awaitWake(t, wake)

	failOver()
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
	swept.Attempt = "2"
	if next := granted(t, e, swept); next.Fence <= last.Fence+swept.FenceReserve {
		t.Errorf("after its row was deleted, fence %d follows fence %d, want a higher one", next.Fence, last.Fence)
	}
	if after, err := e.Incarnation(ctx); err != nil || after.ID == before.ID {
		t.Errorf("the incarnation went from %+v to %+v, error %v; want a new one", before, after, err)
	}
}

// An asynchronous replica may lack a grant. Its holder learns that it has lost the lock.
func TestFailoverToAReplicaThatMissedAGrant(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	primary, replica, _, e, failOver := replicated(t)
	kept, missed, c := request(t, "ann:1", "1"), request(t, "ann:2", "1"), claim(t, "1")
	missed.Key += "missed"
	granted(t, e, kept)
	replica.AwaitReplay(t, primary)
	replica.Detach(t, primary)
	granted(t, e, missed)
	if _, err := e.Capabilities().Ledger.Claim(ctx, c); err != nil {
		t.Fatal(err)
	}

	failOver()
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

// A replica is read-only, so nothing is granted there.
func TestAReplicaGrantsNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	primary, replica, d, _, _ := replicated(t)
	// A user with all permissions may write although the server is read-only.
	d.Exec(t, "CREATE USER app@127.0.0.1 IDENTIFIED BY 'app'; GRANT SELECT, INSERT, UPDATE, DELETE ON "+d.Name+".* TO app@127.0.0.1")
	replica.AwaitReplay(t, primary)
	e, err := mysql.Open(ctx, "mysql://app:app@"+replica.Addr()+"/"+d.Name, mysql.Timeout(testTimeout))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r := request(t, "ann:1", "1")
	r.Lease = time.Minute
	if _, err := e.Acquire(ctx, r); !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrUnknown) {
		t.Errorf("acquire on a replica: error %v, want %v", err, engine.ErrUnavailable)
	}
}
