package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

// raising makes every call that reads the clock fail with a SQLSTATE, the first n times.
func raising(t testing.TB, d *postgrestest.Database, code string, n int) {
	t.Helper()
	d.Exec(t, fmt.Sprintf(`DROP SEQUENCE IF EXISTS tries; CREATE SEQUENCE tries;
CREATE OR REPLACE FUNCTION interlock.clock() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('public.tries') <= %d THEN RAISE 'injected' USING ERRCODE = '%s'; END IF;
  RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
END $$`, n, code))
}

func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	d := migrated(t)
	e := open(t, d.URL())
	r := request(t, "ann:1", "1")
	for code, want := range map[string]error{
		"53100": engine.ErrFull, "53200": engine.ErrOverloaded, "53300": engine.ErrOverloaded, "53400": engine.ErrOverloaded, "54000": engine.ErrOverloaded,
		"25006": engine.ErrUnavailable, "25P03": engine.ErrUnavailable, "25P04": engine.ErrUnavailable, "57014": engine.ErrUnavailable, "57P01": engine.ErrUnavailable, "57P03": engine.ErrUnavailable,
		"08006": engine.ErrUnavailable, "55P03": engine.ErrUnavailable, "40001": engine.ErrUnavailable, "40P01": engine.ErrUnavailable,
		"58030": engine.ErrUnavailable, "42501": nil, "XX000": nil,
	} {
		raising(t, d, code, 1_000_000)
		_, err := e.Acquire(context.Background(), r)
		if err == nil || errors.Is(err, engine.ErrUnknown) || want != nil && !errors.Is(err, want) || want == nil && engine.Temporary(err) {
			t.Errorf("SQLSTATE %s: error %v, want %v and never an unknown outcome", code, err, want)
		}
		raising(t, d, code, 0)
		if l, err := e.Inspect(context.Background(), r.Key); err != nil || len(l.Holders) != 0 {
			t.Errorf("SQLSTATE %s: the lock is %+v, error %v; want it free", code, l, err)
		}
	}
}

func TestConcurrencyFailuresAreRepeated(t *testing.T) {
	t.Parallel()
	d := migrated(t)
	e := open(t, d.URL())
	for i, code := range []string{"40001", "40P01"} {
		r := request(t, "ann:1", "1")
		r.Key += code
		raising(t, d, code, 2)
		if g, err := e.Acquire(context.Background(), r); err != nil || g.Count != 1 {
			t.Errorf("%d: acquire: %+v, error %v; want a grant", i, g, err)
		}
	}
}

func TestAReadOnlyServerIsUnavailable(t *testing.T) {
	t.Parallel()
	d := migrated(t)
	e := open(t, d.URL())
	r := request(t, "ann:1", "1")
	granted(t, e, r)
	d.Exec(t, "ALTER DATABASE "+d.Name+" SET default_transaction_read_only = on")
	// The connections of the pool know the setting from before.
	other := open(t, d.URL())
	if _, err := other.Acquire(context.Background(), r); !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "primary") {
		t.Errorf("acquire: error %v, want %v", err, engine.ErrUnavailable)
	}
	d.Server.Exec(t, "postgres", "ALTER DATABASE "+d.Name+" RESET default_transaction_read_only")
	// The failed call has dropped its connection, so the next one finds a server that writes.
	if _, err := other.Acquire(context.Background(), r); err != nil {
		t.Errorf("acquire: %v, want a grant", err)
	}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	d := migrated(t)
	d.Exec(t, "CREATE ROLE "+d.Name+" LOGIN; GRANT USAGE ON SCHEMA interlock TO "+d.Name+"; GRANT SELECT ON interlock.meta TO "+d.Name)
	url := strings.Replace(d.URL(), "postgres@", d.Name+"@", 1)
	e := open(t, url)
	_, err := e.Acquire(context.Background(), request(t, "ann:1", "1"))
	if err == nil || engine.Temporary(err) || !strings.Contains(err.Error(), "docs/postgres.md") {
		t.Errorf("acquire: error %v, want one that names the page with the permissions", err)
	}
	h, err := e.Probe(context.Background())
	if err != nil || len(h.Nodes) != 1 || !strings.Contains(strings.Join(h.Nodes[0].Denied, ", "), "INSERT ON interlock.hold") {
		t.Errorf("probe: %+v, error %v; want the missing permissions", h, err)
	}
	d.Exec(t, strings.ReplaceAll(documentedGrants(t), "app", d.Name))
	granted(t, e, request(t, "ann:1", "1"))
	everyOperation(t, e)
	if h, err = e.Probe(context.Background()); err != nil || len(h.Nodes[0].Denied) > 0 || h.Nodes[0].Err != nil {
		t.Errorf("probe: %+v, error %v; want no missing permission", h, err)
	}
}

// everyOperation uses every function of the schema.
func everyOperation(t testing.TB, e *postgres.Engine) {
	t.Helper()
	ctx, c := context.Background(), e.Capabilities()
	r := request(t, "cat:1", "1")
	r.Key += rand.Text()
	g := granted(t, e, r)
	_, errRelease := e.Abandon(ctx, r)
	r.Attempt = "2"
	granted(t, e, r)
	errRaise := e.Raise(ctx, r, g.Fence+1000)
	_, _, errList := e.List(ctx, "*", "")
	_, errForce := e.ForceRelease(ctx, r.Key)
	latch := r
	latch.Kind, latch.Limit, latch.Key = engine.Latch, 2, r.Key+"latch"
	_, errLatch := e.CountDown(ctx, latch)
	cl := claim(t, "1")
	cl.Key = r.Key
	_, errClaim := c.Ledger.Claim(ctx, cl)
	errRenew := c.Ledger.Renew(ctx, []engine.Claim{cl})[0]
	_, errSettle := c.Ledger.Settle(ctx, done(cl))
	_, _, errRecords := c.Ledger.List(ctx, "*", "")
	_, errErase := c.Eraser.Erase(ctx, cl.Key)
	q := engine.Quota{Key: r.Key, Attempt: "1", Limit: 1, Window: 1e9}
	_, errTake := c.Quotas.Take(ctx, q)
	_, errReturn := c.Quotas.Return(ctx, q)
	errNote := c.Notes.WriteNote(ctx, r.Key, "text", 0)
	errRegister := c.Inspector.Register(ctx, engine.Member{ID: "id"}, 1e9)
	_, errIncarnation := c.Incarnations.Incarnation(ctx)
	wake, stop := c.Ledger.Watch(cl.Key)
	defer stop()
	awaitWake(t, wake)
	if err := errors.Join(errRelease, errRaise, errList, errForce, errLatch, errClaim, errRenew, errSettle, errRecords, errErase,
		errTake, errReturn, errNote, errRegister, errIncarnation); err != nil {
		t.Error(err)
	}
}
