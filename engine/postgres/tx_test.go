package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx of database/sql

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/postgres"
)

// claim returns a claim of a key of the test.
func claim(t testing.TB, attempt string) engine.Claim {
	t.Helper()
	return engine.Claim{Key: key(t), Attempt: attempt, Lease: time.Minute, Retain: time.Hour}
}

// done returns a settlement of a claim.
func done(c engine.Claim) engine.Settlement {
	return engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Result: []byte("result"), Retain: time.Hour}
}

// begin begins a transaction, which the test ends, or its clean-up.
func begin(t testing.TB, url string, isolation pgx.TxIsoLevel) pgx.Tx {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.BeginTx(context.Background(), pgx.TxOptions{IsoLevel: isolation})
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func claimedTx(t testing.TB, e *postgres.Engine, q postgres.Tx, c engine.Claim) {
	t.Helper()
	r, err := e.Tx(q).Claim(context.Background(), c, 0)
	if err != nil || !r.Granted {
		t.Fatalf("claim: %+v, error %v; want a grant", r, err)
	}
}

func settledTx(t testing.TB, e *postgres.Engine, q postgres.Tx, x engine.Settlement) {
	t.Helper()
	if o, err := e.Tx(q).Settle(context.Background(), x); err != nil || o != engine.Released {
		t.Fatalf("settle: %v, error %v; want %v", o, err, engine.Released)
	}
}

func wantState(t testing.TB, e *postgres.Engine, key string, want engine.State) engine.Record {
	t.Helper()
	r, err := e.Capabilities().Ledger.Lookup(context.Background(), key)
	if err != nil || r.State != want {
		t.Fatalf("look up: %s, error %v; want %s", r.State, err, want)
	}
	return r
}

func TestTransactions(t *testing.T) {
	t.Parallel()
	ctx, url := context.Background(), sharedDatabase(t).URL()
	e := open(t, url)
	l := e.Capabilities().Ledger
	t.Run("a claim, the work and its outcome commit together", func(t *testing.T) {
		t.Parallel()
		tx, c := begin(t, url, pgx.ReadCommitted), claim(t, "1")
		claimedTx(t, e, tx, c)
		settledTx(t, e, tx, done(c))
		wantState(t, e, c.Key, engine.Absent)
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if r := wantState(t, e, c.Key, engine.Done); string(r.Result) != "result" {
			t.Errorf("the result is %q", r.Result)
		}
	})
	t.Run("a transaction that is rolled back leaves nothing", func(t *testing.T) {
		t.Parallel()
		tx, c := begin(t, url, pgx.ReadCommitted), claim(t, "1")
		claimedTx(t, e, tx, c)
		settledTx(t, e, tx, done(c))
		if err := tx.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		wantState(t, e, c.Key, engine.Absent)
		if r, err := l.Claim(ctx, claim(t, "2")); err != nil || !r.Granted {
			t.Errorf("claim: %+v, error %v; want a grant", r, err)
		}
	})
	t.Run("a record that a transaction has locked is for its own work only", func(t *testing.T) {
		t.Parallel()
		c := claim(t, "1")
		c.Fingerprint = "2 shoes"
		if r, err := l.Claim(ctx, c); err != nil || !r.Granted {
			t.Fatalf("claim: %+v, error %v; want a grant", r, err)
		}
		if o, err := l.Settle(ctx, done(c)); err != nil || o != engine.Released {
			t.Fatalf("settle: %v, error %v", o, err)
		}
		tx := begin(t, url, pgx.ReadCommitted)
		if r, err := e.Tx(tx).Claim(ctx, c, 0); err != nil || r.State != engine.Done {
			t.Fatalf("claim: %+v, error %v; want the outcome", r, err)
		}
		other := c
		other.Attempt, other.Fingerprint = "2", "3 shoes"
		if r, err := e.Tx(begin(t, url, pgx.ReadCommitted)).Claim(ctx, other, 0); !errors.Is(err, engine.ErrMismatch) {
			t.Errorf("claim in a transaction: %+v, error %v; want %v", r, err, engine.ErrMismatch)
		}
		if r, err := l.Claim(ctx, other); !errors.Is(err, engine.ErrMismatch) {
			t.Errorf("claim: %+v, error %v; want %v", r, err, engine.ErrMismatch)
		}
	})
	t.Run("a claim without a retention lasts as long as its transaction", func(t *testing.T) {
		t.Parallel()
		tx, c := begin(t, url, pgx.ReadCommitted), claim(t, "1")
		c.Lease, c.Retain = time.Millisecond, 0
		claimedTx(t, e, tx, c)
		time.Sleep(50 * time.Millisecond)
		settledTx(t, e, tx, done(c))
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		wantState(t, e, c.Key, engine.Done)
	})
	t.Run("a claim may wait for any time", func(t *testing.T) {
		t.Parallel()
		first, c := begin(t, url, pgx.ReadCommitted), claim(t, "1")
		claimedTx(t, e, first, c)
		second := begin(t, url, pgx.ReadCommitted)
		got := make(chan error, 1)
		go func() {
			r, err := e.Tx(second).Claim(ctx, claim(t, "2"), 1000*24*time.Hour)
			if err == nil && !r.Granted {
				err = fmt.Errorf("the record is %+v, want a grant", r)
			}
			got <- err
		}()
		eventually(t, "the second transaction waits", func() bool {
			return sharedDatabase(t).Exec(t, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND pid = "+
				fmt.Sprint(second.Conn().PgConn().PID())) == "1" || len(got) > 0
		})
		if err := first.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
	})
	t.Run("a transaction of database/sql can claim and settle", func(t *testing.T) {
		t.Parallel()
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := claim(t, "1")
		claimedTx(t, e, postgres.SQL(tx), c)
		settledTx(t, e, postgres.SQL(tx), done(c))
		r, err := e.Tx(postgres.SQL(tx)).Claim(ctx, claim(t, "2"), 0)
		if err != nil || r.State != engine.Done || string(r.Result) != "result" {
			t.Errorf("claim: %+v, error %v; want the outcome", r, err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		wantState(t, e, c.Key, engine.Done)
	})
	t.Run("a claim outside of the transaction finds the key running", func(t *testing.T) {
		t.Parallel()
		impatient := open(t, url, postgres.Timeout(2*time.Second))
		tx, c := begin(t, url, pgx.ReadCommitted), claim(t, "1")
		claimedTx(t, e, tx, c)
		r, err := impatient.Capabilities().Ledger.Claim(ctx, claim(t, "2"))
		if err != nil || r.Granted || r.State != engine.Running || r.Left <= 0 || r.Began.IsZero() {
			t.Errorf("claim: %+v, error %v; want it running", r, err)
		}
		if _, err := impatient.Capabilities().Ledger.Settle(ctx, done(claim(t, "2"))); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("settle: error %v, want %v", err, engine.ErrUnavailable)
		}
		if _, err := impatient.Capabilities().Eraser.Erase(ctx, c.Key); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("erase: error %v, want %v", err, engine.ErrUnavailable)
		}
		granted(t, impatient, request(t, "ann:1", "1")) // the lock of the same name is free
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		wantState(t, e, c.Key, engine.Running)
	})
	t.Run("a claim in another transaction waits for the first one", func(t *testing.T) {
		t.Parallel()
		first, second, c := begin(t, url, pgx.ReadCommitted), begin(t, url, pgx.ReadCommitted), claim(t, "1")
		claimedTx(t, e, first, c)
		settledTx(t, e, first, done(c))
		found := make(chan engine.Record, 1)
		go func() {
			r, err := e.Tx(second).Claim(ctx, claim(t, "2"), 2*time.Minute)
			if err != nil {
				t.Error(err)
			}
			found <- r
		}()
		select {
		case r := <-found:
			t.Fatalf("the second claim did not wait: %+v", r)
		case <-time.After(200 * time.Millisecond):
		}
		if err := first.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if r := <-found; r.Granted || r.State != engine.Done || string(r.Result) != "result" {
			t.Errorf("the second claim found %+v, want the outcome", r)
		}
	})
	t.Run("a claim that times out waiting for another transaction leaves its own transaction usable", func(t *testing.T) {
		t.Parallel()
		first, second := begin(t, url, pgx.ReadCommitted), begin(t, url, pgx.ReadCommitted)
		claimedTx(t, e, first, claim(t, "1"))
		for _, wait := range []time.Duration{0, 100 * time.Millisecond} {
			start := time.Now()
			r, err := e.Tx(second).Claim(ctx, claim(t, "2"), wait)
			if err != nil || r.Granted || r.State != engine.Running || r.Left <= 0 || time.Since(start) < wait {
				t.Errorf("claim after %v: %+v, error %v; want it running after %v", time.Since(start), r, err, wait)
			}
		}
		if err := first.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		claimedTx(t, e, second, claim(t, "2"))
	})
	t.Run("a claim does not expire while its transaction is open", func(t *testing.T) {
		t.Parallel()
		tx, c := begin(t, url, pgx.ReadCommitted), claim(t, "1")
		c.Lease = time.Millisecond
		claimedTx(t, e, tx, c)
		time.Sleep(5 * time.Millisecond)
		settledTx(t, e, tx, done(c))
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		wantState(t, e, c.Key, engine.Done)
	})
	t.Run("a refused claim in a transaction does not stop renewals", func(t *testing.T) {
		t.Parallel()
		impatient, c := open(t, url, postgres.Timeout(2*time.Second)), claim(t, "1")
		ledger := impatient.Capabilities().Ledger
		if r, err := ledger.Claim(ctx, c); err != nil || !r.Granted {
			t.Fatalf("claim: %+v, error %v", r, err)
		}
		tx := begin(t, url, pgx.ReadCommitted)
		if r, err := e.Tx(tx).Claim(ctx, claim(t, "2"), 0); err != nil || r.State != engine.Running || r.Granted {
			t.Fatalf("claim: %+v, error %v; want it running", r, err)
		}
		if err := ledger.Renew(ctx, []engine.Claim{c})[0]; err != nil {
			t.Errorf("renew: %v", err)
		}
		if err := tx.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a locked claim fails alone in a batch of renewals", func(t *testing.T) {
		t.Parallel()
		impatient, locked, other := open(t, url, postgres.Timeout(2*time.Second)), claim(t, "1"), claim(t, "1")
		other.Key += "other"
		ledger := impatient.Capabilities().Ledger
		for _, c := range []engine.Claim{locked, other} {
			if r, err := ledger.Claim(ctx, c); err != nil || !r.Granted {
				t.Fatalf("claim: %+v, error %v", r, err)
			}
		}
		tx := begin(t, url, pgx.ReadCommitted)
		settledTx(t, e, tx, done(locked))
		errs := ledger.Renew(ctx, []engine.Claim{locked, other})
		if !errors.Is(errs[0], engine.ErrUnavailable) || errs[1] != nil {
			t.Errorf("renew: %v, want only the first to be unavailable", errs)
		}
		if err := tx.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
	})
	for _, isolation := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		t.Run("of two "+string(isolation)+" transactions one claims", func(t *testing.T) {
			t.Parallel()
			first, second := begin(t, url, isolation), begin(t, url, isolation)
			// Both see the time before the first claim.
			for _, tx := range []pgx.Tx{first, second} {
				if _, err := tx.Exec(ctx, "SELECT count(*) FROM interlock.record"); err != nil {
					t.Fatal(err)
				}
			}
			claimedTx(t, e, first, claim(t, "1"))
			if err := first.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			r, err := e.Tx(second).Claim(ctx, claim(t, "2"), 0)
			var reply *pgconn.PgError
			if !errors.As(err, &reply) || reply.Code != "40001" {
				t.Errorf("claim: %+v, error %v; want a serialization failure", r, err)
			}
		})
	}
	t.Run("a transaction wakes watchers when it commits", func(t *testing.T) {
		t.Parallel()
		tx, c := begin(t, url, pgx.ReadCommitted), claim(t, "1")
		wake, stop := l.Watch(c.Key)
		defer stop()
		awaitWake(t, wake)
		claimedTx(t, e, tx, c)
		settledTx(t, e, tx, done(c))
		select {
		case <-wake:
			t.Error("the watcher was notified before the commit")
		case <-time.After(50 * time.Millisecond):
		}
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		awaitWake(t, wake)
	})
}

func awaitWake(t testing.TB, wake <-chan struct{}) {
	t.Helper()
	select {
	case <-wake:
	case <-time.After(30 * time.Second):
		t.Fatal("no wake-up within 30s")
	}
}

func TestClaimsOfLockedKeysDelayNoOtherCalls(t *testing.T) {
	t.Parallel()
	ctx, d := context.Background(), sharedDatabase(t)
	e, tx, r := open(t, d.URL()), begin(t, d.URL(), pgx.ReadCommitted), request(t, "ann:1", "1")
	granted(t, e, r)
	claims, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for i := range 40 {
		c := claim(t, "1")
		c.Key += fmt.Sprint(i)
		claimedTx(t, e, tx, c)
		c.Attempt = "2"
		all.Go(func() {
			for claims.Err() == nil {
				_, _ = e.Capabilities().Ledger.Claim(claims, c)
			}
		})
	}
	for i := range 3 {
		if err := e.Renew(ctx, []engine.Request{r})[0]; err != nil {
			t.Error(err)
		}
		free := claim(t, fmt.Sprint(i))
		free.Key = t.Name() + fmt.Sprint("/free/", i)
		if r, err := e.Capabilities().Ledger.Claim(ctx, free); err != nil || !r.Granted {
			t.Errorf("claim of a free key: %+v, error %v; want a grant", r, err)
		}
	}
}
