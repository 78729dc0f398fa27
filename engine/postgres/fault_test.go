package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

// proxied returns an engine behind a network with faults, and the network. The engine has
// one connection, which is open.
func proxied(t testing.TB, d *postgrestest.Database, opts ...postgres.Option) (*postgres.Engine, *faultnet.Proxy) {
	t.Helper()
	p := faultnet.New(t, d.Server.Addr())
	url := strings.Replace(d.URL(), d.Server.Addr(), p.Addr(), 1) + "&pool_max_conns=1"
	e := open(t, url, opts...)
	r := request(t, "warm:1", "1")
	r.Key += ":warm"
	// The statements are prepared now, so each call is one request.
	granted(t, e, r)
	_, _ = e.Abandon(context.Background(), r)
	c := claim(t, "1")
	c.Key += ":warm"
	_, _ = e.Capabilities().Ledger.Claim(context.Background(), c)
	_, _ = e.Capabilities().Ledger.Settle(context.Background(), done(c))
	_, _ = e.Capabilities().Quotas.Take(context.Background(), engine.Quota{Key: c.Key, Attempt: "1", Limit: 1, Window: time.Minute})
	return e, p
}

func wantUnknown(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, engine.ErrUnknown) {
		t.Errorf("error %v, want %v", err, engine.ErrUnknown)
	}
}

func TestLostReplies(t *testing.T) {
	t.Parallel()
	ctx, d := context.Background(), sharedDatabase(t)
	t.Run("a grant whose reply was lost is found by the repeated attempt", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d)
		r := request(t, "ann:1", "1")
		p.CutAfterRequest()
		_, err := e.Acquire(ctx, r)
		wantUnknown(t, err)
		lock, err := e.Inspect(ctx, r.Key)
		if err != nil || len(lock.Holders) != 1 {
			t.Fatalf("inspect: %+v, error %v; want one holder", lock, err)
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
		p.CutAfterRequest()
		_, err := e.Acquire(ctx, r)
		wantUnknown(t, err)
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
		p.CutAfterRequest()
		_, err := e.Abandon(ctx, r)
		wantUnknown(t, err)
		if res, err := e.Abandon(ctx, r); err != nil || res.Outcome != engine.AlreadyFree {
			t.Errorf("abandon: %+v, error %v; want %v", res, err, engine.AlreadyFree)
		}
	})
	t.Run("a claim and a settlement whose replies were lost are recognised", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d)
		l, c := e.Capabilities().Ledger, claim(t, "1")
		p.CutAfterRequest()
		_, err := l.Claim(ctx, c)
		wantUnknown(t, err)
		c.Retry = true
		if r, err := l.Claim(ctx, c); err != nil || !r.Granted {
			t.Fatalf("claim: %+v, error %v; want a grant", r, err)
		}
		_, _ = l.Settle(ctx, done(claim(t, "2"))) // prepares the statement on the new connection
		p.CutAfterRequest()
		_, err = l.Settle(ctx, done(c))
		wantUnknown(t, err)
		if o, err := l.Settle(ctx, done(c)); err != nil || o != engine.Released {
			t.Errorf("settle: %v, error %v; want %v", o, err, engine.Released)
		}
		wantState(t, e, c.Key, engine.Done)
	})
	t.Run("a unit whose reply was lost is taken once", func(t *testing.T) {
		t.Parallel()
		e, p := proxied(t, d)
		q := engine.Quota{Key: t.Name(), Attempt: "1", Limit: 2, Window: time.Minute}
		p.CutAfterRequest()
		_, err := e.Capabilities().Quotas.Take(ctx, q)
		wantUnknown(t, err)
		if use, err := e.Capabilities().Quotas.Take(ctx, q); err != nil || use.Used != 1 || !use.Granted {
			t.Errorf("take: %+v, error %v; want one unit", use, err)
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

		granted(t, e, func() engine.Request { r := request(t, "cat:1", "1"); r.Key += "other"; return r }())
		_, _ = e.Capabilities().Ledger.Claim(ctx, claim(t, "warm"))
		_, _ = e.Capabilities().Ledger.Settle(ctx, engine.Settlement{Key: c.Key, Attempt: "warm"})
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
		wantUnknown(t, err)
		_, err = e.Acquire(ctx, request(t, "bob:1", "2")) // on a new connection, which nobody accepts
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
