package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/mysql"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/mysqltest"
)

// loseReply makes a call whose effect happens, and whose reply is lost: it holds the reply
// to the second request, which commits.
func loseReply(t testing.TB, e *mysql.Engine, p *faultnet.Proxy, call func() error, happened func() bool) {
	t.Helper()
	mysql.BeforeCommit(e, func() { p.BlackHole(faultnet.Replies, true) })
	failed := make(chan error, 1)
	go func() { failed <- call() }()
	eventually(t, "the call has its effect", happened)
	mysql.BeforeCommit(e, nil)
	p.Reset()
	p.BlackHole(faultnet.Replies, false)
	wantUnknown(t, <-failed)
}

func TestLostReplies(t *testing.T) {
	t.Parallel()
	ctx, d := context.Background(), sharedDatabase(t)
	direct := open(t, d.URL())
	held := func(r engine.Request) func() bool {
		return func() bool {
			l, err := direct.Inspect(ctx, r.Key)
			return err == nil && len(l.Holders) == 1
		}
	}
	t.Run("a grant whose reply was lost is found by the repeated attempt", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d)
		r := request(t, "ann:1", "1")
		loseReply(t, e, p, func() error { _, err := e.Acquire(ctx, r); return err }, held(r))
		lock, err := direct.Inspect(ctx, r.Key)
		if err != nil {
			t.Fatal(err)
		}
		r.Retry = true
		if g := granted(t, e, r); g.Fence != lock.Holders[0].Fence || g.Count != 1 {
			t.Errorf("got %+v, want fence %d and a count of 1", g, lock.Holders[0].Fence)
		}
	})
	t.Run("a grant whose reply was lost is abandoned", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d)
		r := request(t, "ann:1", "1")
		loseReply(t, e, p, func() error { _, err := e.Acquire(ctx, r); return err }, held(r))
		if res, err := e.Abandon(ctx, r); err != nil || res.Outcome != engine.Released {
			t.Errorf("abandon: %+v, error %v; want %v", res, err, engine.Released)
		}
		granted(t, e, request(t, "bob:1", "1"))
	})
	t.Run("a release whose reply was lost has released", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d)
		r := request(t, "ann:1", "1")
		granted(t, e, r)
		loseReply(t, e, p, func() error { _, err := e.Release(ctx, r); return err }, func() bool { return !held(r)() })
		if res, err := e.Release(ctx, r); err != nil || res.Outcome != engine.AlreadyFree {
			t.Errorf("release: %+v, error %v; want %v", res, err, engine.AlreadyFree)
		}
	})
	t.Run("a claim and a settlement whose replies were lost are recognised", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d)
		l, c := e.Capabilities().Ledger, claim(t, "1")
		is := func(state engine.State) func() bool {
			return func() bool {
				r, err := direct.Capabilities().Ledger.Lookup(ctx, c.Key)
				return err == nil && r.State == state
			}
		}
		loseReply(t, e, p, func() error { _, err := l.Claim(ctx, c); return err }, is(engine.Running))
		c.Retry = true
		if r, err := l.Claim(ctx, c); err != nil || !r.Granted {
			t.Fatalf("claim: %+v, error %v; want a grant", r, err)
		}
		loseReply(t, e, p, func() error { _, err := l.Settle(ctx, done(c)); return err }, is(engine.Done))
		if o, err := l.Settle(ctx, done(c)); err != nil || o != engine.Released {
			t.Errorf("settle: %v, error %v; want %v", o, err, engine.Released)
		}
	})
	t.Run("a unit whose reply was lost is taken once", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d)
		q := engine.Quota{Key: key(t), Attempt: "1", Limit: 2, Window: time.Minute}
		look := q
		look.Attempt = ""
		loseReply(t, e, p, func() error { _, err := e.Capabilities().Quotas.Take(ctx, q); return err }, func() bool {
			use, err := direct.Capabilities().Quotas.Take(ctx, look)
			return err == nil && use.Used == 1
		})
		if use, err := e.Capabilities().Quotas.Take(ctx, q); err != nil || use.Used != 1 || !use.Granted {
			t.Errorf("take: %+v, error %v; want one unit", use, err)
		}
	})
	t.Run("a call whose connection is cut before the commit has done nothing", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d, mysql.Timeout(5*time.Second))
		r := request(t, "ann:1", "1")
		granted(t, direct, other(r))
		p.Refuse(true)
		p.Reset()
		_, err := e.Acquire(ctx, r)
		wantNothingDone(t, err)
		p.Refuse(false)
		if g := granted(t, e, r); g.Count != 1 {
			t.Errorf("the count is %d, want 1", g.Count)
		}
	})
	t.Run("a commit that arrives late is that of an attempt that can be abandoned", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d, mysql.Timeout(4*time.Second))
		r := request(t, "ann:1", "1")
		arrive := make(chan func(), 1)
		mysql.BeforeCommit(e, func() { arrive <- p.Hold(faultnet.Requests) })
		_, err := e.Acquire(ctx, r)
		wantUnknown(t, err)
		mysql.BeforeCommit(e, nil)
		(<-arrive)()
		// The server executes it before it notices that its client is gone, or rolls back.
		eventually(t, "the attempt is abandoned", func() bool {
			_, err := direct.Abandon(ctx, r)
			return err == nil
		})
		granted(t, direct, request(t, "bob:1", "1"))
		r.Retry = true
		if _, err := direct.Acquire(ctx, r); !errors.Is(err, engine.ErrAbandoned) {
			t.Errorf("acquire: error %v, want %v", err, engine.ErrAbandoned)
		}
	})
	t.Run("a caller that gives up after sending does not know the outcome", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d)
		limited, cancel := context.WithCancel(ctx)
		mysql.BeforeCommit(e, func() {
			p.BlackHole(faultnet.Replies, true)
			cancel()
		})
		_, err := e.Acquire(limited, request(t, "ann:1", "1"))
		wantUnknown(t, err)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want %v", err, context.Canceled)
		}
		p.Reset()
	})
	t.Run("a call without a reply ends with the engine's timeout", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d, mysql.Timeout(4*time.Second))
		var (
			mu   sync.Mutex
			last engine.ServerCall
		)
		defer e.Capabilities().Observe(func(c engine.ServerCall) {
			mu.Lock()
			defer mu.Unlock()
			last = c
		})()
		mysql.BeforeCommit(e, func() { p.BlackHole(faultnet.Replies, true) })
		began := time.Now()
		_, err := e.Acquire(ctx, request(t, "ann:1", "1"))
		wantUnknown(t, err)
		if took := time.Since(began); errors.Is(err, context.DeadlineExceeded) || took < 3900*time.Millisecond || took > 20*time.Second {
			t.Errorf("error %v after %v, want no context error after about 4s", err, took)
		}
		eventually(t, "observers see a timeout", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return last.Problem() == "timeout"
		})
	})
	t.Run("a waiter is notified again after its connection was cut", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d)
		r := request(t, "ann:1", "1")
		wake, stop := e.Notify(r)
		defer stop()
		awaitWake(t, wake)
		p.Refuse(true)
		p.Reset()
		granted(t, direct, r)
		if _, err := direct.Release(ctx, r); err != nil {
			t.Fatal(err)
		}
		p.Refuse(false)
		awaitWake(t, wake)
	})
}

// other returns a request for another key.
func other(r engine.Request) engine.Request {
	r.Key += "other"
	return r
}

func TestServerFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("a stopped server does not block a call for longer than the timeout", func(t *testing.T) {
		t.Parallel()
		s, e, _ := ownServer(t, time.Second)
		r := request(t, "ann:1", "1")
		g := granted(t, e, r)
		s.Stop(t)
		var (
			began time.Time
			err   error
		)
		eventually(t, "the threads of the server have stopped", func() bool {
			began = time.Now()
			_, err = e.Acquire(ctx, request(t, "bob:1", "1"))
			return !errors.As(err, new(*engine.BusyError))
		})
		wantNothingDone(t, err)
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("the call took %v, want about 1s", took)
		}
		s.Cont(t)
		r.Retry = true
		eventually(t, "the server answers", func() bool {
			again, err := e.Acquire(ctx, r)
			return err == nil && again == g
		})
	})
	t.Run("locks, records and fences survive a crash, and notices come back", func(t *testing.T) {
		t.Parallel()
		s, e, _ := ownServer(t, 3*time.Second)
		r, c := request(t, "ann:1", "1"), claim(t, "1")
		g := granted(t, e, r)
		if _, err := e.Capabilities().Ledger.Claim(ctx, c); err != nil {
			t.Fatal(err)
		}
		first, err := e.Incarnation(ctx)
		if err != nil {
			t.Fatal(err)
		}
		wake, stop := e.Notify(r)
		defer stop()
		awaitWake(t, wake)
		connections := e.Connections()
		s.Kill(t)
		_, err = e.Acquire(ctx, request(t, "bob:1", "1"))
		wantNothingDone(t, err)
		s.Restart(t)
		awaitWake(t, wake)
		eventually(t, "the server answers", func() bool { return e.Renew(ctx, []engine.Request{r})[0] == nil })
		var busy *engine.BusyError
		if _, err := e.Acquire(ctx, request(t, "bob:1", "2")); !errors.As(err, &busy) {
			t.Errorf("acquire: error %v, want a *engine.BusyError", err)
		}
		wantState(t, e, c.Key, engine.Running)
		if _, err := e.Release(ctx, r); err != nil {
			t.Fatal(err)
		}
		awaitWake(t, wake)
		if next := granted(t, e, request(t, "bob:1", "3")); next.Fence <= g.Fence {
			t.Errorf("fence %d follows fence %d, want a higher one", next.Fence, g.Fence)
		}
		second, err := e.Incarnation(ctx)
		if err != nil || e.Connections() == connections {
			t.Errorf("the incarnation went from %+v to %+v with %d and %d connections, error %v; want new connections", first, second, connections, e.Connections(), err)
		}
	})
	t.Run("fences rise although the row was deleted and the server restarted", func(t *testing.T) {
		t.Parallel()
		s, e, d := ownServer(t, 5*time.Second)
		var last uint64
		for i := range 4 {
			r := request(t, "ann:1", fmt.Sprint(i))
			g := granted(t, e, r)
			if g.Fence <= last {
				t.Errorf("fence %d follows fence %d, want a higher one", g.Fence, last)
			}
			last = g.Fence
			if _, err := e.Release(ctx, r); err != nil {
				t.Fatal(err)
			}
			d.Exec(t, "UPDATE interlock_document SET expires = 0")
			if n, err := mysql.Sweep(e); err != nil || n == 0 {
				t.Fatalf("sweep: %d rows, error %v; want the row deleted", n, err)
			}
			if i == 1 {
				s.Shutdown(t)
				s.Restart(t)
				eventually(t, "the server answers", func() bool { _, err := e.Inspect(ctx, r.Key); return err == nil })
			}
		}
		if n := d.Exec(t, "SELECT COUNT(*) FROM interlock_serial"); n != "0" {
			t.Errorf("%s serials are left, want 0", n)
		}
	})
	t.Run("no work runs in transactions that a server rolls back since its restart", func(t *testing.T) {
		t.Parallel()
		s, e, d := ownServer(t, 30*time.Second)
		granted(t, e, request(t, "ann:1", "1"))
		s.Restart(t, "--innodb-rollback-on-timeout")
		eventually(t, "the server answers", func() bool { _, err := e.Inspect(ctx, "any"); return err == nil })
		db := connect(t, d)
		claimedTx(t, e, begin(t, db, sql.LevelDefault), claim(t, "1"))
		if r, err := e.Tx(begin(t, db, sql.LevelDefault)).Claim(ctx, claim(t, "2"), 0); err == nil || !strings.Contains(err.Error(), "innodb_rollback_on_timeout") {
			t.Errorf("claim of a locked key: %+v, error %v; want an error that names innodb_rollback_on_timeout", r, err)
		}
		if r, err := e.Tx(begin(t, db, sql.LevelDefault)).Claim(ctx, claim(t, "3"), 0); err == nil {
			t.Errorf("the next claim: %+v, want an error at once", r)
		}
	})
	t.Run("an error while expired rows are read deletes none", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		e := open(t, d.URL())
		for i := range 3 {
			r := request(t, "ann:1", "1")
			r.Key += fmt.Sprint(i)
			granted(t, e, r)
		}
		d.Exec(t, `UPDATE interlock_document SET expires = 0; UPDATE interlock_document SET expires = 1 LIMIT 1;
			ALTER TABLE interlock_document RENAME TO documents`)
		// The row that expires last cannot be read at first.
		if _, err := connect(t, d).ExecContext(ctx, `CREATE FUNCTION readable(id binary(32), expires bigint) RETURNS binary(32) NO SQL BEGIN
				IF expires = 1 AND @failed IS NULL THEN
					SET @failed = 1;
					SIGNAL SQLSTATE '45000';
				END IF;
				RETURN id;
			END`); err != nil {
			t.Fatal(err)
		}
		d.Exec(t, "CREATE VIEW interlock_document AS SELECT readable(id, expires) AS id, expires FROM documents")
		if n, err := mysql.Sweep(e); err == nil {
			t.Errorf("sweep: %d rows, want an error", n)
		}
		if n := d.Exec(t, "SELECT COUNT(*) FROM documents"); n != "3" {
			t.Errorf("%s rows are left, want 3", n)
		}
	})
	t.Run("a deadlock is retried", func(t *testing.T) {
		t.Parallel()
		_, e, d := ownServer(t, testTimeout)
		r := request(t, "client:1", "client:1")
		granted(t, e, r)
		if err := e.Register(ctx, engine.Member{ID: "client"}, time.Minute); err != nil {
			t.Fatal(err)
		}
		// A transaction that has changed many rows is not the one that the server aborts.
		d.Exec(t, "CREATE TABLE many (n int PRIMARY KEY) ENGINE=InnoDB")
		tx := begin(t, connect(t, d), 0)
		for n := range 50 {
			if _, err := tx.ExecContext(ctx, "INSERT INTO many VALUES (?)", n); err != nil {
				t.Fatal(err)
			}
		}
		lock := func(class string) {
			t.Helper()
			if _, err := tx.ExecContext(ctx, "UPDATE interlock_document SET name = name WHERE class = ?", class); err != nil {
				t.Fatal(err)
			}
		}
		lock("clients")
		released := make(chan error, 1)
		go func() {
			l, err := e.ForceRelease(ctx, r.Key)
			if err == nil && len(l.Holders) != 1 {
				err = fmt.Errorf("released %+v, want one holder", l)
			}
			released <- err
		}()
		eventually(t, "the engine waits for the client", func() bool {
			return waits(t, d)
		})
		lock("locks")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-released; err != nil {
			t.Errorf("force release: %v", err)
		}
		granted(t, e, request(t, "bob:1", "1"))
	})
	t.Run("a call whose connection the server ends has done nothing", func(t *testing.T) {
		t.Parallel()
		_, e, d := ownServer(t, testTimeout)
		r, tx := request(t, "ann:1", "1"), begin(t, connect(t, d), 0)
		g := granted(t, e, r)
		lockRows(t, tx)
		renewed := make(chan error, 1)
		go func() { renewed <- e.Renew(ctx, []engine.Request{r})[0] }()
		eventually(t, "the waiting call is ended", func() bool {
			ids := strings.Fields(d.Exec(t, "SELECT id FROM information_schema.processlist WHERE info LIKE '%interlock_document%FOR UPDATE%' AND id <> CONNECTION_ID()"))
			if len(ids) == 0 || !waits(t, d) {
				return false
			}
			_, err := d.Server.Query(d.Name, "KILL "+ids[0])
			return err == nil
		})
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := <-renewed; err != nil {
			t.Errorf("renew: %v", err)
		}
		r.Retry = true
		if again := granted(t, e, r); again != g {
			t.Errorf("the grant went from %+v to %+v", g, again)
		}
	})
	t.Run("claims that wait for another claim of a locked key find it running, too", func(t *testing.T) {
		t.Parallel()
		_, e, d := ownServer(t, 9*time.Second)
		tx := begin(t, connect(t, d), 0)
		claimedTx(t, e, tx, claim(t, "1"))
		looked := make(chan struct{}, 10_000)
		defer e.Capabilities().Observe(func(engine.ServerCall) { looked <- struct{}{} })()
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				r, err := e.Capabilities().Ledger.Claim(ctx, claim(t, fmt.Sprint(i+2)))
				if err != nil || r.Granted || r.State != engine.Running {
					t.Errorf("claim: %+v, error %v; want it running", r, err)
				}
			})
			<-looked // the first claim has found the key locked
		}
		all.Wait()
	})
	t.Run("a claim of a locked key keeps no connection while it waits", func(t *testing.T) {
		t.Parallel()
		_, e, d := ownServer(t, testTimeout)
		tx := begin(t, connect(t, d), 0)
		claimedTx(t, e, tx, claim(t, "1"))
		looked := make(chan struct{}, 10_000)
		defer e.Capabilities().Observe(func(engine.ServerCall) { looked <- struct{}{} })()
		claimed := make(chan error, 1)
		go func() {
			r, err := e.Capabilities().Ledger.Claim(ctx, claim(t, "2"))
			if err == nil && !r.Granted {
				err = fmt.Errorf("the key is %v", r.State)
			}
			claimed <- err
		}()
		for range 3 {
			<-looked
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := <-claimed; err != nil {
			t.Errorf("claim: %v", err)
		}
		if n := d.Exec(t, "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'"); n != "Innodb_row_lock_waits\t0" {
			t.Errorf("the server counts %q, want no wait", n)
		}
	})
	t.Run("a call that waited for a row reads the clock afterwards", func(t *testing.T) {
		t.Parallel()
		_, e, d := ownServer(t, time.Minute)
		tx, q := begin(t, connect(t, d), 0), engine.Quota{Key: key(t), Limit: 1, Window: time.Hour, Attempt: "1"}
		if _, err := e.Capabilities().Quotas.Take(ctx, q); err != nil {
			t.Fatal(err)
		}
		lockRows(t, tx)
		taken := make(chan engine.Usage, 1)
		go func() {
			use, err := e.Capabilities().Quotas.Take(ctx, q)
			if err != nil {
				t.Errorf("take: %v", err)
			}
			taken <- use
		}()
		eventually(t, "the call waits", func() bool { return waits(t, d) })
		// By now the clock shows a later time than when the call began to wait.
		time.Sleep(5 * time.Millisecond)
		now, err := strconv.ParseInt(d.Exec(t, "SELECT ms FROM interlock_clock"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if use := <-taken; !use.Granted || use.Now.UnixMilli() < now {
			t.Errorf("take: %+v, want a unit at %d or later", use, now)
		}
	})
	t.Run("a transaction that lost its client is rolled back", func(t *testing.T) {
		t.Parallel()
		d := sharedDatabase(t)
		e, p := proxied(t, d, mysql.Timeout(4*time.Second))
		direct, r := open(t, d.URL()), request(t, "ann:1", "1")
		mysql.BeforeCommit(e, p.Silence)
		_, err := e.Acquire(ctx, r)
		wantUnknown(t, err)
		eventually(t, "the key is not locked any more", func() bool {
			_, err := direct.Acquire(ctx, request(t, "bob:1", "1"))
			return err == nil
		})
	})
	t.Run("many first calls on a silent server end with the timeout", func(t *testing.T) {
		t.Parallel()
		p := faultnet.New(t, sharedDatabase(t).Server.Addr())
		p.BlackHole(faultnet.Requests, true)
		e := open(t, at(sharedDatabase(t), p.Addr()), mysql.Lazy(), mysql.Timeout(time.Second))
		began := time.Now()
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() {
				_, err := e.Acquire(ctx, request(t, "ann:1", "1"))
				wantNothingDone(t, err)
			})
		}
		all.Wait()
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the calls took %v, want about 1s", took)
		}
	})
	t.Run("a new connection that is never answered does not keep its slot in the pool", func(t *testing.T) {
		t.Parallel()
		const timeout = 2 * time.Second
		// This server does not end a connection whose client is silent, as if its packets were lost.
		s := mysqltest.StartServer(t, "--connect-timeout=3600")
		d := s.Create(t)
		migrate(t, d.URL())
		e, p := proxied(t, d, mysql.Timeout(timeout))
		r := request(t, "ann:1", "1")
		granted(t, e, r)
		p.BlackHole(faultnet.Replies, true)
		// The second call waits for the only connection. When the first gives it up, the pool
		// makes a new one, on behalf of no call.
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				_, err := e.Inspect(ctx, r.Key)
				if err == nil {
					t.Error("a call on a silent server succeeded")
				}
			})
			time.Sleep(timeout / 2)
		}
		all.Wait()
		p.Silence()
		p.BlackHole(faultnet.Replies, false)
		eventually(t, "the engine connects again", func() bool {
			_, err := e.Inspect(ctx, r.Key)
			return err == nil
		})
	})
	t.Run("a server without free connections is overloaded", func(t *testing.T) {
		t.Parallel()
		s := mysqltest.StartServer(t, "--max-connections=10")
		d := s.Create(t)
		migrate(t, d.URL())
		d.Exec(t, "CREATE USER app@127.0.0.1 IDENTIFIED BY 'app'; GRANT ALL ON "+d.Name+".* TO app@127.0.0.1")
		u := strings.Replace(d.URL(), "interlock:interlock@", "app:app@", 1)
		db := connect(t, d)
		for range 10 {
			if tx, err := db.BeginTx(ctx, nil); err == nil {
				defer tx.Rollback()
			}
		}
		_, err := mysql.Open(ctx, u, mysql.Timeout(testTimeout))
		if !errors.Is(err, engine.ErrOverloaded) || errors.Is(err, engine.ErrUnknown) {
			t.Errorf("open: error %v, want %v", err, engine.ErrOverloaded)
		}
	})
	t.Run("an exhausted pool is overloaded", func(t *testing.T) {
		t.Parallel()
		d := migrated(t) // the transaction below locks all rows
		e, slow := open(t, d.URL()+"?pool=1", mysql.Timeout(time.Second)), request(t, "ann:1", "1")
		granted(t, e, slow)
		tx := begin(t, connect(t, d), 0)
		if _, err := tx.ExecContext(ctx, "UPDATE interlock_document SET name = name WHERE name = ?", []byte(slow.Key)); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() { failed <- e.Renew(ctx, []engine.Request{slow})[0] }() // it waits with the only connection
		eventually(t, "a call waits", func() bool { return mysql.InUse(e) == 1 })
		_, err := e.Acquire(ctx, other(slow))
		wantNothingDone(t, err)
		wantNothingDone(t, <-failed)
	})
	t.Run("a call that only reads and finds no free connection is overloaded, too", func(t *testing.T) {
		t.Parallel()
		e := open(t, sharedDatabase(t).URL()+"?pool=1", mysql.Timeout(2*time.Second))
		holds, release, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		mysql.BeforeCommit(e, func() {
			close(holds)
			<-release
		})
		go func() {
			defer close(ended)
			_, _ = e.Acquire(ctx, request(t, "ann:1", "1"))
		}()
		<-holds // the only connection
		_, inspected := e.Inspect(ctx, key(t))
		_, _, listed := e.List(ctx, "*", "")
		for _, err := range []error{inspected, listed} {
			if !errors.Is(err, engine.ErrOverloaded) || errors.Is(err, engine.ErrUnknown) {
				t.Errorf("error %v, want %v", err, engine.ErrOverloaded)
			}
		}
		close(release)
		<-ended
	})
	t.Run("a read-only server is unavailable", func(t *testing.T) {
		t.Parallel()
		_, e, d := ownServer(t, 3*time.Second)
		r := request(t, "ann:1", "1")
		granted(t, e, r)
		d.Exec(t, "CREATE USER app@127.0.0.1 IDENTIFIED BY 'app'; GRANT SELECT, INSERT, UPDATE, DELETE ON "+d.Name+".* TO app@127.0.0.1; SET GLOBAL read_only = 1")
		app := open(t, strings.Replace(d.URL(), "interlock:interlock@", "app:app@", 1))
		if _, err := app.Acquire(ctx, r); !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrUnknown) || !strings.Contains(err.Error(), "primary") {
			t.Errorf("acquire: error %v, want %v", err, engine.ErrUnavailable)
		}
	})
	t.Run("a user who lacks a permission learns which", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		d.Exec(t, "CREATE USER "+d.Name+"@127.0.0.1 IDENTIFIED BY 'app'; GRANT SELECT ON "+d.Name+".* TO "+d.Name+"@127.0.0.1")
		u := strings.Replace(d.URL(), "interlock:interlock@", d.Name+":app@", 1)
		e := open(t, u)
		_, err := e.Acquire(ctx, request(t, "ann:1", "1"))
		if err == nil || engine.Temporary(err) || !strings.Contains(err.Error(), "docs/mysql.md") {
			t.Errorf("acquire: error %v, want one that names the permissions", err)
		}
		h, err := e.Probe(ctx)
		if err != nil || len(h.Nodes[0].Denied) != 5 || h.Nodes[0].Err != nil {
			t.Errorf("probe: %+v, error %v; want five permissions that are denied", h, err)
		}
	})
	for packet, size := range map[string]int{"1M": 2 << 20, "256M": 50 << 20} { // the driver sends no more than 64M
		t.Run("a result that is larger than a packet is refused, with max_allowed_packet="+packet, func(t *testing.T) {
			t.Parallel()
			s := mysqltest.StartServer(t, "--max-allowed-packet="+packet)
			d := s.Create(t)
			migrate(t, d.URL())
			e, c := open(t, d.URL()), claim(t, "1")
			l := e.Capabilities().Ledger
			if r, err := l.Claim(ctx, c); err != nil || !r.Granted {
				t.Fatalf("claim: %+v, error %v", r, err)
			}
			x := done(c)
			x.Result = make([]byte, size)
			if _, err := l.Settle(ctx, x); !errors.Is(err, engine.ErrFull) {
				t.Errorf("settle: error %.200v, want %v", err, engine.ErrFull)
			}
			if o, err := l.Settle(ctx, done(c)); err != nil || o != engine.Released {
				t.Errorf("settle: %v, error %v; want %v", o, err, engine.Released)
			}
		})
	}
}

// TestErrorsOfTheServer lets every call that reads the clock fail with an error of the server.
func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	ctx, d := context.Background(), migrated(t)
	e, db := open(t, d.URL()), connect(t, d)
	for number, want := range map[int]error{
		1021: engine.ErrFull, 1114: engine.ErrFull, 1153: engine.ErrFull,
		1037: engine.ErrOverloaded, 1040: engine.ErrOverloaded, 1041: engine.ErrOverloaded, 1135: engine.ErrOverloaded, 1637: engine.ErrOverloaded,
		1047: engine.ErrUnavailable, 1053: engine.ErrUnavailable, 1129: engine.ErrUnavailable, 1290: engine.ErrUnavailable, 1317: engine.ErrUnavailable,
		1969: engine.ErrUnavailable, 3032: engine.ErrUnavailable,
		1142: nil, 1105: nil,
	} {
		for _, statement := range []string{
			fmt.Sprintf(`CREATE OR REPLACE FUNCTION failing() RETURNS bigint NO SQL BEGIN
				SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'injected';
				RETURN 0;
			END`, number),
			"CREATE OR REPLACE VIEW interlock_clock AS SELECT failing() AS ms",
		} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				t.Fatal(err)
			}
		}
		_, err := e.Acquire(ctx, request(t, "ann:1", "1"))
		if err == nil || errors.Is(err, engine.ErrUnknown) || want != nil && !errors.Is(err, want) || want == nil && engine.Temporary(err) {
			t.Errorf("error %d: error %v, want %v and never an unknown outcome", number, err, want)
		}
	}
}

// lockRows locks all rows of the engine in a transaction.
func lockRows(t testing.TB, tx *sql.Tx) {
	t.Helper()
	if _, err := tx.ExecContext(context.Background(), "UPDATE interlock_document SET name = name"); err != nil {
		t.Fatal(err)
	}
}

// waits reports whether a transaction waits for a row. The table innodb_trx would show an old
// state to a client that asks often.
func waits(t testing.TB, d *mysqltest.Database) bool {
	t.Helper()
	return !strings.HasSuffix(d.Exec(t, "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'"), "\t0")
}

// ownServer returns a server of the test, an engine on it and its database.
func ownServer(t testing.TB, timeout time.Duration) (*mysqltest.Server, *mysql.Engine, *mysqltest.Database) {
	t.Helper()
	s := mysqltest.StartServer(t)
	d := s.Create(t)
	migrate(t, d.URL())
	return s, open(t, d.URL(), mysql.Timeout(timeout)), d
}
