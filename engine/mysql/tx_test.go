package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/mysql"
	"github.com/interlock-go/interlock/guard"
)

func claimedTx(t testing.TB, e *mysql.Engine, tx mysql.Tx, c engine.Claim) {
	t.Helper()
	r, err := e.Tx(tx).Claim(context.Background(), c, 0)
	if err != nil || !r.Granted {
		t.Fatalf("claim: %+v, error %v; want a grant", r, err)
	}
}

func settledTx(t testing.TB, e *mysql.Engine, tx mysql.Tx, x engine.Settlement) {
	t.Helper()
	if o, err := e.Tx(tx).Settle(context.Background(), x); err != nil || o != engine.Released {
		t.Fatalf("settle: %v, error %v; want %v", o, err, engine.Released)
	}
}

func TestTransactions(t *testing.T) {
	t.Parallel()
	ctx, d := context.Background(), sharedDatabase(t)
	e, db := open(t, d.URL()), connect(t, d)
	l := e.Capabilities().Ledger
	commit := func(t *testing.T, tx *sql.Tx) {
		t.Helper()
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	for _, isolation := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		t.Run("a claim, the work and its outcome commit together at "+isolation.String(), func(t *testing.T) {
			t.Parallel()
			tx, c := begin(t, db, isolation), claim(t, "1")
			claimedTx(t, e, tx, c)
			settledTx(t, e, tx, done(c))
			wantState(t, e, c.Key, engine.Absent)
			r, err := e.Tx(tx).Claim(ctx, claim(t, "2"), 0)
			if err != nil || r.State != engine.Done || string(r.Result) != "result" {
				t.Errorf("claim: %+v, error %v; want the outcome", r, err)
			}
			commit(t, tx)
			if r := wantState(t, e, c.Key, engine.Done); string(r.Result) != "result" {
				t.Errorf("the result is %q", r.Result)
			}
		})
		t.Run("of two transactions at "+isolation.String()+", only one gets the claim, even if both began before it", func(t *testing.T) {
			t.Parallel()
			first, second := begin(t, db, isolation), begin(t, db, isolation)
			// This read begins the snapshot of each transaction, if its isolation has one,
			// before the first claim.
			for _, tx := range []*sql.Tx{first, second} {
				if _, err := tx.ExecContext(ctx, "DO (SELECT COUNT(*) FROM interlock_meta)"); err != nil {
					t.Fatal(err)
				}
			}
			claimedTx(t, e, first, claim(t, "1"))
			settledTx(t, e, first, done(claim(t, "1")))
			commit(t, first)
			// A server with innodb_snapshot_isolation fails the claim instead.
			r, err := e.Tx(second).Claim(ctx, claim(t, "2"), 0)
			if err == nil && (r.Granted || r.State != engine.Done) {
				t.Errorf("claim: %+v, error %v; want the outcome of the first", r, err)
			}
		})
	}
	t.Run("a transaction that is rolled back leaves nothing", func(t *testing.T) {
		t.Parallel()
		tx, c := begin(t, db, sql.LevelDefault), claim(t, "1")
		claimedTx(t, e, tx, c)
		settledTx(t, e, tx, done(c))
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		wantState(t, e, c.Key, engine.Absent)
		if r, err := l.Claim(ctx, claim(t, "2")); err != nil || !r.Granted {
			t.Errorf("claim: %+v, error %v; want a grant", r, err)
		}
	})
	t.Run("a claim outside of the transaction finds the key running", func(t *testing.T) {
		t.Parallel()
		impatient := open(t, d.URL(), mysql.Timeout(4*time.Second))
		tx, c := begin(t, db, sql.LevelDefault), claim(t, "1")
		claimedTx(t, e, tx, c)
		r, err := impatient.Capabilities().Ledger.Claim(ctx, claim(t, "2"))
		if err != nil || r.Granted || r.State != engine.Running || r.Left <= 0 || r.Began.IsZero() {
			t.Errorf("claim: %+v, error %v; want it running", r, err)
		}
		_, err = impatient.Capabilities().Ledger.Settle(ctx, done(claim(t, "2")))
		wantNothingDone(t, err)
		_, err = impatient.Capabilities().Eraser.Erase(ctx, c.Key)
		wantNothingDone(t, err)
		granted(t, impatient, request(t, "ann:1", "1")) // the lock of the same name is free
		commit(t, tx)
		wantState(t, e, c.Key, engine.Running)
	})
	t.Run("a claim in another transaction waits for the first one", func(t *testing.T) {
		t.Parallel()
		first, second, c := begin(t, db, sql.LevelDefault), begin(t, db, sql.LevelDefault), claim(t, "1")
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
		commit(t, first)
		if r := <-found; r.Granted || r.State != engine.Done || string(r.Result) != "result" {
			t.Errorf("the second claim found %+v, want the outcome", r)
		}
	})
	t.Run("a claim that times out waiting for another transaction leaves its own transaction usable", func(t *testing.T) {
		t.Parallel()
		first, second := begin(t, db, sql.LevelDefault), begin(t, db, sql.LevelDefault)
		claimedTx(t, e, first, claim(t, "1"))
		for _, wait := range []time.Duration{0, 100 * time.Millisecond} {
			start := time.Now()
			r, err := e.Tx(second).Claim(ctx, claim(t, "2"), wait)
			if err != nil || r.Granted || r.State != engine.Running || r.Left <= 0 || time.Since(start) < wait {
				t.Errorf("claim after %v: %+v, error %v; want it running after %v", time.Since(start), r, err, wait)
			}
		}
		if err := first.Rollback(); err != nil {
			t.Fatal(err)
		}
		claimedTx(t, e, second, claim(t, "2"))
	})
	t.Run("a claim in a transaction does not wait for row locks on the server", func(t *testing.T) {
		t.Parallel()
		_, e, d := ownServer(t, testTimeout)
		db := connect(t, d)
		first, second := begin(t, db, sql.LevelDefault), begin(t, db, sql.LevelDefault)
		claimedTx(t, e, first, claim(t, "1"))
		if r, err := e.Tx(second).Claim(ctx, claim(t, "2"), 0); err != nil || r.Granted || r.State != engine.Running {
			t.Errorf("claim: %+v, error %v; want it running", r, err)
		}
		if n := d.Exec(t, "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'"); n != "Innodb_row_lock_waits\t0" {
			t.Errorf("the server counts %q, want no wait", n)
		}
	})
	t.Run("a claim does not expire while its transaction is open", func(t *testing.T) {
		t.Parallel()
		tx, c := begin(t, db, sql.LevelDefault), claim(t, "1")
		c.Lease = time.Millisecond
		claimedTx(t, e, tx, c)
		time.Sleep(5 * time.Millisecond)
		settledTx(t, e, tx, done(c))
		commit(t, tx)
		wantState(t, e, c.Key, engine.Done)
	})
	t.Run("a claim without retention does not expire while its transaction is open", func(t *testing.T) {
		t.Parallel()
		tx, c := begin(t, db, sql.LevelDefault), claim(t, "1")
		c.Lease, c.Retain = time.Millisecond, 0
		claimedTx(t, e, tx, c)
		time.Sleep(5 * time.Millisecond)
		settledTx(t, e, tx, done(c))
		commit(t, tx)
		wantState(t, e, c.Key, engine.Done)
	})
	t.Run("a refused claim in a transaction does not stop renewals", func(t *testing.T) {
		t.Parallel()
		c := claim(t, "1")
		if r, err := l.Claim(ctx, c); err != nil || !r.Granted {
			t.Fatalf("claim: %+v, error %v", r, err)
		}
		tx := begin(t, db, sql.LevelDefault)
		if r, err := e.Tx(tx).Claim(ctx, claim(t, "2"), 0); err != nil || r.State != engine.Running || r.Granted {
			t.Fatalf("claim: %+v, error %v; want it running", r, err)
		}
		if err := l.Renew(ctx, []engine.Claim{c})[0]; err != nil {
			t.Errorf("renew: %v", err)
		}
	})
	t.Run("a locked claim fails alone in a batch of renewals", func(t *testing.T) {
		t.Parallel()
		impatient, locked, other := open(t, d.URL(), mysql.Timeout(4*time.Second)), claim(t, "1"), claim(t, "1")
		other.Key += "other"
		ledger := impatient.Capabilities().Ledger
		for _, c := range []engine.Claim{locked, other} {
			if r, err := ledger.Claim(ctx, c); err != nil || !r.Granted {
				t.Fatalf("claim: %+v, error %v", r, err)
			}
		}
		tx := begin(t, db, sql.LevelDefault)
		settledTx(t, e, tx, done(locked))
		errs := ledger.Renew(ctx, []engine.Claim{locked, other})
		if !errors.Is(errs[0], engine.ErrUnavailable) || errs[1] != nil {
			t.Errorf("renew: %v, want only the first to be unavailable", errs)
		}
	})
	t.Run("a transaction wakes watchers when it commits", func(t *testing.T) {
		t.Parallel()
		tx, c := begin(t, db, sql.LevelDefault), claim(t, "1")
		wake, stop := l.Watch(c.Key)
		defer stop()
		awaitWake(t, wake)
		claimedTx(t, e, tx, c)
		settledTx(t, e, tx, done(c))
		select {
		case <-wake:
			t.Error("the watcher was notified before the commit")
		case <-time.After(200 * time.Millisecond):
		}
		commit(t, tx)
		awaitWake(t, wake)
	})
	t.Run("a claim and its settlement keep nothing else locked", func(t *testing.T) {
		t.Parallel()
		tx, c := begin(t, db, sql.LevelDefault), claim(t, "1")
		claimedTx(t, e, tx, c)
		settledTx(t, e, tx, done(c))
		for i := range 20 {
			other := claim(t, "1")
			other.Key += fmt.Sprint(i)
			if r, err := l.Claim(ctx, other); err != nil || !r.Granted {
				t.Errorf("claim of another key: %+v, error %v", r, err)
			}
		}
	})
}

// TestDoTx registers accounts: the account and the record of the request commit together.
func TestDoTx(t *testing.T) {
	t.Parallel()
	ctx, d := context.Background(), migrated(t)
	e, db := open(t, d.URL()), connect(t, d)
	d.Exec(t, "CREATE TABLE account (id bigint AUTO_INCREMENT PRIMARY KEY, phone varchar(40) NOT NULL)")
	signUp := guard.Must(guard.New[int64](interlock.New(e), guard.Policy{Name: "sign-up", Scope: guard.Global}))
	errCrash := errors.New("crash")
	register := func(phone string, crash bool) (id int64, err error) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return 0, err
		}
		defer tx.Rollback() // after Commit it does nothing
		id, err = signUp.DoTx(ctx, e.Tx(tx), guard.ID(phone), func(ctx context.Context) (int64, error) {
			result, err := tx.ExecContext(ctx, "INSERT INTO account (phone) VALUES (?)", phone)
			if err != nil {
				return 0, err
			}
			return result.LastInsertId()
		})
		if err != nil {
			return 0, err
		}
		if crash {
			return 0, errCrash
		}
		return id, tx.Commit()
	}
	const phones, callers = 5, 8
	var (
		all sync.WaitGroup
		ids sync.Map
	)
	for i := range phones * callers {
		all.Go(func() {
			phone := fmt.Sprint("+86 138 ", i%phones)
			for try := 0; ; try++ {
				id, err := register(phone, i%3 == 0 && try == 0)
				if errors.Is(err, errCrash) || err != nil && try < 1000 && !errors.Is(err, engine.ErrMismatch) {
					time.Sleep(5 * time.Millisecond)
					continue
				}
				if err != nil {
					t.Errorf("register %s: %v", phone, err)
					return
				}
				if before, ok := ids.LoadOrStore(phone, id); ok && before != id {
					t.Errorf("%s has account %d and account %d", phone, before, id)
				}
				return
			}
		})
	}
	all.Wait()
	if n := d.Exec(t, "SELECT COUNT(*) FROM account"); n != fmt.Sprint(phones) {
		t.Errorf("%s accounts were made for %d phones", n, phones)
	}
}
