package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

// proxied returns an engine behind a network with faults, and the network. The engine has
// one connection, which is open, and each call is one request: no statement is prepared.
func proxied(t testing.TB, d *postgrestest.Database, opts ...postgres.Option) (*postgres.Engine, *faultnet.Proxy) {
	t.Helper()
	p := faultnet.New(t, d.Server.Addr())
	url := strings.Replace(d.URL(), d.Server.Addr(), p.Addr(), 1) + "&pool_max_conns=1&default_query_exec_mode=exec"
	return open(t, url, opts...), p
}

func wantUnknown(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, engine.ErrUnknown) {
		t.Errorf("error %v, want %v", err, engine.ErrUnknown)
	}
}

// loseReply makes a call whose effect happens, and whose reply is lost.
func loseReply(t testing.TB, p *faultnet.Proxy, call func() error, happened func() bool) {
	t.Helper()
	pass := p.Hold(faultnet.Replies)
	defer pass()
	failed := make(chan error, 1)
	go func() { failed <- call() }()
	eventually(t, "the call has its effect", happened)
	p.Reset()
	wantUnknown(t, <-failed)
}

func TestLostRepliesOfEveryMode(t *testing.T) {
	t.Parallel()
	ctx, d := context.Background(), sharedDatabase(t)
	direct := open(t, d.URL())
	// In the other modes a call is two requests.
	for _, mode := range []string{"cache_statement", "cache_describe", "exec", "simple_protocol"} {
		for _, isolation := range []string{"read committed", "serializable"} {
			t.Run("a lost reply is an unknown outcome in the mode "+mode+", "+isolation, func(t *testing.T) {
				t.Parallel()
				p := faultnet.New(t, d.Server.Addr())
				e := open(t, strings.Replace(d.URL(), d.Server.Addr(), p.Addr(), 1)+"&pool_max_conns=1&default_query_exec_mode="+mode+
					"&default_transaction_isolation="+url.PathEscape(isolation))
				r := request(t, "ann:1", "1")
				granted(t, e, r) // prepares the statement
				if _, err := e.Release(ctx, r); err != nil {
					t.Fatal(err)
				}
				loseReply(t, p, func() error { _, err := e.Acquire(ctx, r); return err }, func() bool {
					l, err := direct.Inspect(ctx, r.Key)
					return err == nil && len(l.Holders) == 1
				})
			})
		}
	}
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
		loseReply(t, p, func() error { _, err := e.Acquire(ctx, r); return err }, held(r))
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
		loseReply(t, p, func() error { _, err := e.Acquire(ctx, r); return err }, held(r))
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
		free := func() bool { return !held(r)() }
		loseReply(t, p, func() error { _, err := e.Release(ctx, r); return err }, free)
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
		loseReply(t, p, func() error { _, err := l.Claim(ctx, c); return err }, is(engine.Running))
		c.Retry = true
		if r, err := l.Claim(ctx, c); err != nil || !r.Granted {
			t.Fatalf("claim: %+v, error %v; want a grant", r, err)
		}
		loseReply(t, p, func() error { _, err := l.Settle(ctx, done(c)); return err }, is(engine.Done))
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
		loseReply(t, p, func() error { _, err := e.Capabilities().Quotas.Take(ctx, q); return err }, func() bool {
			use, err := direct.Capabilities().Quotas.Take(ctx, look)
			return err == nil && use.Used == 1
		})
		if use, err := e.Capabilities().Quotas.Take(ctx, q); err != nil || use.Used != 1 || !use.Granted {
			t.Errorf("take: %+v, error %v; want one unit", use, err)
		}
	})
	t.Run("a call whose connection is cut at once is unknown, and was not half done", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d)
		r := request(t, "ann:1", "1")
		p.CutAfterRequest()
		_, err := e.Acquire(ctx, r)
		wantUnknown(t, err)
		r.Retry = true
		if g := granted(t, e, r); g.Count != 1 {
			t.Errorf("the count is %d, want 1", g.Count)
		}
	})
	t.Run("a late request of an abandoned attempt is refused", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d, postgres.Timeout(time.Second))
		direct := open(t, d.URL())
		r, c := request(t, "ann:1", "1"), claim(t, "1")
		arrive := p.Hold(faultnet.Requests)
		_, err := e.Acquire(ctx, r)
		wantUnknown(t, err)
		if res, err := direct.Abandon(ctx, r); err != nil || res.Outcome != engine.AlreadyFree {
			t.Errorf("abandon: %+v, error %v; want %v", res, err, engine.AlreadyFree)
		}
		arrive()
		// The late request is executed before the server notices that its client is gone.
		time.Sleep(300 * time.Millisecond)
		granted(t, direct, request(t, "bob:1", "1"))

		other := request(t, "cat:1", "1")
		other.Key += "other"
		granted(t, e, other) // on a new connection
		arrive = p.Hold(faultnet.Requests)
		_, err = e.Capabilities().Ledger.Claim(ctx, c)
		wantUnknown(t, err)
		if o, err := direct.Capabilities().Ledger.Settle(ctx, engine.Settlement{Key: c.Key, Attempt: c.Attempt, Abandon: true, Lease: time.Minute}); err != nil || o != engine.AlreadyFree {
			t.Errorf("abandon: %v, error %v; want %v", o, err, engine.AlreadyFree)
		}
		arrive()
		time.Sleep(300 * time.Millisecond)
		wantState(t, direct, c.Key, engine.Absent)
	})
	t.Run("a caller that gives up after sending does not know the outcome", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d)
		defer p.Hold(faultnet.Replies)()
		limited, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		_, err := e.Acquire(limited, request(t, "ann:1", "1"))
		wantUnknown(t, err)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
		}
	})
	t.Run("a call without a reply ends with the engine's timeout", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d, postgres.Timeout(700*time.Millisecond))
		defer p.Hold(faultnet.Replies)()
		var call engine.ServerCall
		defer e.Capabilities().Observe(func(c engine.ServerCall) { call = c })()
		began := time.Now()
		_, err := e.Acquire(ctx, request(t, "ann:1", "1"))
		wantUnknown(t, err)
		if took := time.Since(began); errors.Is(err, context.DeadlineExceeded) || took < 700*time.Millisecond || took > 15*time.Second {
			t.Errorf("error %v after %v, want no context error after about 700ms", err, took)
		}
		if call.Problem() != "timeout" {
			t.Errorf("the observed problem is %q, want timeout", call.Problem())
		}
	})
	t.Run("a waiter is notified again after its connection was cut", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d)
		direct := open(t, d.URL())
		r := request(t, "ann:1", "1")
		wake, stop := e.Notify(r)
		defer stop()
		awaitWake(t, wake)
		p.Reset()
		awaitWake(t, wake) // the new connection may have missed a release
		granted(t, direct, r)
		if _, err := direct.Release(ctx, r); err != nil {
			t.Fatal(err)
		}
		awaitWake(t, wake)
	})
	t.Run("a silent connection for notices is replaced", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d, postgres.Timeout(time.Second))
		wake, stop := e.Notify(request(t, "ann:1", "1"))
		defer stop()
		awaitWake(t, wake)
		p.Silence()
		awaitWake(t, wake)
	})
}

func TestServerFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("a stopped server does not block a call for longer than the timeout", func(t *testing.T) {
		t.Parallel()
		s := postgrestest.StartServer(t)
		d := s.Create(t)
		migrate(t, d.URL())
		e := open(t, d.URL()+"&pool_max_conns=1", postgres.Timeout(time.Second))
		r := request(t, "ann:1", "1")
		g := granted(t, e, r)
		s.Stop(t)
		_, err := e.Acquire(ctx, request(t, "bob:1", "1"))
		// On a busy machine the connection is idle for a second, so it is tested and nothing is sent.
		if !errors.Is(err, engine.ErrUnknown) && !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("error %v, want %v or %v", err, engine.ErrUnknown, engine.ErrUnavailable)
		}
		_, err = e.Acquire(ctx, request(t, "bob:1", "2")) // on a new connection, which the server does not answer
		if !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrUnknown) {
			t.Errorf("error %v, want %v", err, engine.ErrUnavailable)
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
		s := postgrestest.StartServer(t)
		d := s.Create(t)
		migrate(t, d.URL())
		e := open(t, d.URL(), postgres.Timeout(3*time.Second))
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
		if _, err := e.Acquire(ctx, request(t, "bob:1", "1")); !engine.Temporary(err) {
			t.Errorf("acquire: error %v, want a temporary one", err)
		}
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
		if err != nil || second.ID == first.ID || e.Connections() == connections {
			t.Errorf("the incarnation went from %+v to %+v with %d and %d connections, error %v; want a new one", first, second, connections, e.Connections(), err)
		}
	})
	t.Run("a planned restart keeps the incarnation", func(t *testing.T) {
		t.Parallel()
		s := postgrestest.StartServer(t)
		d := s.Create(t)
		migrate(t, d.URL())
		e := open(t, d.URL(), postgres.Timeout(3*time.Second))
		first, err := e.Incarnation(ctx)
		if err != nil {
			t.Fatal(err)
		}
		s.Shutdown(t)
		s.Restart(t)
		var second engine.Incarnation
		eventually(t, "the server answers", func() bool {
			second, err = e.Incarnation(ctx)
			return err == nil
		})
		if second.ID != first.ID || second.Age < first.Age {
			t.Errorf("the incarnation went from %+v to %+v", first, second)
		}
	})
	t.Run("a commit that waits for a missing replica is unknown and counts", func(t *testing.T) {
		t.Parallel()
		s := postgrestest.StartServer(t)
		d := s.Create(t)
		migrate(t, d.URL())
		e := open(t, d.URL(), postgres.Timeout(2*time.Second))
		d.Exec(t, "ALTER SYSTEM SET synchronous_standby_names = 'missing'")
		d.Exec(t, "SELECT pg_reload_conf()")
		eventually(t, "the setting is read", func() bool { return d.Exec(t, "SHOW synchronous_standby_names") == "missing" })
		r := request(t, "ann:1", "1")
		_, err := e.Acquire(ctx, r)
		wantUnknown(t, err)
		d.Exec(t, "ALTER SYSTEM RESET synchronous_standby_names")
		d.Exec(t, "SELECT pg_reload_conf()")
		l, err := e.Inspect(ctx, r.Key)
		if err != nil || len(l.Holders) != 1 {
			t.Fatalf("inspect: %+v, error %v; want one holder", l, err)
		}
		r.Retry = true
		if g := granted(t, e, r); g.Fence != l.Holders[0].Fence || g.Count != 1 {
			t.Errorf("got %+v, want fence %d and a count of 1", g, l.Holders[0].Fence)
		}
	})
	t.Run("a call whose connection the server ends has done nothing", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		e, c := open(t, d.URL()), claim(t, "1")
		tx := begin(t, d.URL(), "")
		claimedTx(t, e, tx, c)
		failed := make(chan error, 1)
		go func() {
			_, err := e.Capabilities().Ledger.Claim(ctx, claim(t, "2"))
			failed <- err
		}()
		// A call waits on the server for a few milliseconds at a time, so the server looks for it.
		d.Exec(t, `DO $$ BEGIN
			WHILE clock_timestamp() < now() + interval '50s' LOOP
				PERFORM pg_stat_clear_snapshot();
				PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory';
				EXIT WHEN FOUND;
			END LOOP;
			IF NOT FOUND THEN RAISE EXCEPTION 'no call waited'; END IF;
		END $$`)
		if err := <-failed; !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrUnknown) {
			t.Errorf("claim: error %v, want %v", err, engine.ErrUnavailable)
		}
	})
	t.Run("many first calls on a silent server end with the timeout", func(t *testing.T) {
		t.Parallel()
		p := faultnet.New(t, sharedDatabase(t).Server.Addr())
		p.BlackHole(faultnet.Requests, true)
		url := strings.Replace(sharedDatabase(t).URL(), sharedDatabase(t).Server.Addr(), p.Addr(), 1)
		e := open(t, url, postgres.Lazy(), postgres.Timeout(time.Second))
		began := time.Now()
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() {
				if _, err := e.Acquire(ctx, request(t, "ann:1", "1")); !engine.Temporary(err) || errors.Is(err, engine.ErrUnknown) {
					t.Errorf("acquire: error %v, want one that says that nothing was done", err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the calls took %v, want about 1s", took)
		}
	})
	t.Run("a server without free connections is overloaded", func(t *testing.T) {
		t.Parallel()
		s := postgrestest.StartServer(t, "-c", "max_connections=4", "-c", "superuser_reserved_connections=1")
		d := s.Create(t)
		migrate(t, d.URL())
		d.Exec(t, "CREATE ROLE app LOGIN; GRANT ALL ON SCHEMA interlock TO app; GRANT ALL ON ALL TABLES IN SCHEMA interlock TO app; GRANT ALL ON ALL SEQUENCES IN SCHEMA interlock TO app")
		url := strings.Replace(d.URL(), "postgres@", "app@", 1)
		for range 3 {
			begin(t, url, "")
		}
		_, err := postgres.Open(ctx, url, postgres.Timeout(testTimeout))
		if !errors.Is(err, engine.ErrOverloaded) || errors.Is(err, engine.ErrUnknown) {
			t.Errorf("open: error %v, want %v", err, engine.ErrOverloaded)
		}
	})
	t.Run("an exhausted pool is overloaded", func(t *testing.T) {
		t.Parallel()
		pool, err := pgxpool.New(ctx, sharedDatabase(t).URL()+"&pool_max_conns=1")
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		conn, err := pool.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		e := postgres.New(pool, postgres.Timeout(300*time.Millisecond))
		defer e.Close()
		_, err = e.Acquire(ctx, request(t, "ann:1", "1"))
		if !errors.Is(err, engine.ErrOverloaded) || errors.Is(err, engine.ErrUnknown) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("acquire: error %v, want %v", err, engine.ErrOverloaded)
		}
		limited, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, err = e.Acquire(limited, request(t, "ann:1", "1"))
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, engine.ErrUnknown) {
			t.Errorf("acquire: error %v, want %v", err, context.DeadlineExceeded)
		}
		conn.Release()
	})
}

// eventually waits up to 60 s until happened returns true.
func eventually(t testing.TB, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 1m: %s", what)
		}
	}
}
