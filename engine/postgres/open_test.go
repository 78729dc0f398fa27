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
)

func TestURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "localhost:5432", "oracle://user:hunter2@localhost", "postgres://user:hunter2@host:port/db", "postgres://user:hunter2@host/db?timeout=soon",
		"postgres://user:hunter2@host/db?timeout=-1s", "postgres://user:hunter2@host/db?schema=Shop", "postgres://user:hunter2@host/db?schema=pg_x",
		"postgres://user:hunter2@host/db?lazy=perhaps", "postgres://user:hunter2@host/db?listen=redis://x:hunter2@host", "postgres://user:hunter2@host/db?%",
		"postgres://user:hunter2@host/db?sslmode=maybe",
	} {
		t.Run("the URL is refused without its password: "+strings.ReplaceAll(url, "/", "_"), func(t *testing.T) {
			t.Parallel()
			e, err := postgres.Open(context.Background(), url)
			if err == nil {
				_ = e.Close()
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error has the password: %v", err)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	t.Run("a server that is down is unavailable", func(t *testing.T) {
		t.Parallel()
		_, err := postgres.Open(context.Background(), "postgres://127.0.0.1:1/db?sslmode=disable")
		if !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrUnknown) {
			t.Errorf("open: error %v, want %v", err, engine.ErrUnavailable)
		}
	})
	t.Run("Lazy opens while the server is down", func(t *testing.T) {
		t.Parallel()
		e, err := postgres.Open(context.Background(), "postgres://127.0.0.1:1/db?sslmode=disable&lazy=true")
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if _, err := e.Acquire(context.Background(), request(t, "ann:1", "1")); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("acquire: error %v, want %v", err, engine.ErrUnavailable)
		}
	})
	t.Run("Lazy does not hide a wrong database", func(t *testing.T) {
		t.Parallel()
		url := strings.Replace(sharedDatabase(t).URL(), "/test_", "/no_", 1)
		_, err := postgres.Open(context.Background(), url, postgres.Lazy(), postgres.Timeout(testTimeout))
		if err == nil || !strings.Contains(err.Error(), "the database does not exist") {
			t.Errorf("open: error %v, want one about the database", err)
		}
	})
	t.Run("a parameter for the server may have spaces", func(t *testing.T) {
		t.Parallel()
		d := sharedDatabase(t)
		open(t, d.URL()+"&application_name=the%20shop%2B1")
		if n := d.Exec(t, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'the shop+1'"); n == "0" {
			t.Error("the server does not know the name")
		}
	})
	t.Run("a done context opens nothing", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := postgres.Open(ctx, sharedDatabase(t).URL(), postgres.Lazy()); !errors.Is(err, context.Canceled) {
			t.Errorf("open: error %v, want %v", err, context.Canceled)
		}
	})
	t.Run("a closed engine refuses calls", func(t *testing.T) {
		t.Parallel()
		e := open(t, sharedDatabase(t).URL())
		if err := errors.Join(e.Close(), e.Close()); err != nil {
			t.Error(err)
		}
		if _, err := e.Acquire(context.Background(), request(t, "ann:1", "1")); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("acquire: error %v, want %v", err, engine.ErrClosed)
		}
		wake, stop := e.Notify(request(t, "ann:1", "1"))
		defer stop()
		select {
		case <-wake:
			t.Error("a closed engine sent a notification")
		case <-time.After(10 * time.Millisecond):
		}
	})
	t.Run("an engine on the caller's pool leaves it open", func(t *testing.T) {
		t.Parallel()
		pool, err := pgxpool.New(context.Background(), sharedDatabase(t).URL())
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		e := postgres.New(pool, postgres.Timeout(testTimeout))
		granted(t, e, request(t, "ann:1", "1"))
		_ = e.Close()
		if err := pool.Ping(context.Background()); err != nil {
			t.Errorf("the pool is closed: %v", err)
		}
		if n := e.Connections(); n != 0 {
			t.Errorf("Connections is %d for a pool that may hide a restart, want 0", n)
		}
	})
	t.Run("without listening there is no notifier", func(t *testing.T) {
		t.Parallel()
		e := open(t, sharedDatabase(t).URL()+"&listen=off")
		if e.Capabilities().Notifier != nil {
			t.Error("the engine has a notifier")
		}
		wake, stop := e.Capabilities().Ledger.Watch("key")
		defer stop()
		for range 3 {
			awaitWake(t, wake) // watchers poll
		}
		granted(t, e, request(t, "ann:1", "1"))
	})
}

func TestObserve(t *testing.T) {
	t.Parallel()
	e := open(t, sharedDatabase(t).URL())
	var calls []engine.ServerCall
	stop := e.Capabilities().Observe(func(c engine.ServerCall) { calls = append(calls, c) })
	r := request(t, "ann:1", "1")
	granted(t, e, r)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _ = e.Acquire(ctx, r)
	stop()
	if _, err := e.Release(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if len(calls) != 1 || calls[0].Operation != "acquire" || calls[0].Node != sharedDatabase(t).Server.Addr() || calls[0].Took <= 0 || calls[0].Problem() != "" {
		t.Errorf("observed %+v, want one acquire on %s", calls, sharedDatabase(t).Server.Addr())
	}
}
