package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

func TestNotices(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("a release sends no notice if no process waits for the lock", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		e, notices := open(t, d.URL()), listening(t, d)
		r := request(t, "ann:1", "1")
		granted(t, e, r)
		if _, err := e.Release(ctx, r); err != nil {
			t.Fatal(err)
		}
		d.Exec(t, "NOTIFY interlock, 'end'")
		if got := next(t, notices); got != "end" {
			t.Errorf("the notice %q was sent, want none", got)
		}
		wake, stop := e.Notify(r)
		defer stop()
		awaitWake(t, wake)
		granted(t, e, r)
		if _, err := e.Release(ctx, r); err != nil {
			t.Fatal(err)
		}
		if got := next(t, notices); got == "end" || strings.Contains(got, "ann") || strings.Contains(got, "Notices") {
			t.Errorf("the notice is %q, want one without the key and the holder", got)
		}
	})
	t.Run("only the next waiter in a queue is notified", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		e, notices := open(t, d.URL()), listening(t, d)
		r := request(t, "ann:1", "1")
		r.Kind = engine.Fair
		granted(t, e, r)
		for _, holder := range []string{"bob:1", "cat:1"} {
			w := r
			w.Holder, w.QueueLease = holder, time.Minute
			_, _ = e.Acquire(ctx, w)
			wake, stop := e.Notify(w)
			defer stop()
			awaitWake(t, wake)
		}
		if _, err := e.Release(ctx, r); err != nil {
			t.Fatal(err)
		}
		d.Exec(t, "NOTIFY interlock, 'end'")
		if first, second := next(t, notices), next(t, notices); first == "end" || second != "end" {
			t.Errorf("the notices are %q and %q, want one", first, second)
		}
	})
	t.Run("an engine that is closed listens no longer", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		e := open(t, d.URL())
		wake, _ := e.Notify(request(t, "ann:1", "1"))
		awaitWake(t, wake)
		if n := d.Exec(t, "SELECT count(*) FROM interlock.listener"); n != "1" {
			t.Errorf("there are %s listeners, want 1", n)
		}
		_ = e.Close()
		if n := d.Exec(t, "SELECT (SELECT count(*) FROM interlock.listener) + (SELECT count(*) FROM interlock.session)"); n != "0" {
			t.Errorf("%s rows of the engine are left", n)
		}
	})
	t.Run("a process that was paused for longer than its session is notified again", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		e, r := open(t, d.URL()), request(t, "ann:1", "1")
		granted(t, e, r)
		wake, stop := e.Notify(r)
		defer stop()
		awaitWake(t, wake)
		before := d.Exec(t, "SELECT session FROM interlock.listener")
		d.Exec(t, "UPDATE interlock.session SET expires = clock_timestamp() - interval '61 s'")
		d.Exec(t, "SELECT interlock.listen('other', interval '30 s', '{}', '{}')") // removes the session
		awaitWake(t, wake)
		if after := d.Exec(t, "SELECT session FROM interlock.listener"); after == before {
			t.Errorf("the session is still %s", after)
		}
		if _, err := e.Release(ctx, r); err != nil {
			t.Fatal(err)
		}
		awaitWake(t, wake)
	})
	t.Run("a topic without subscribers is removed", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		e := open(t, d.URL())
		wake, stop := e.Notify(request(t, "ann:1", "1"))
		awaitWake(t, wake)
		stop()
		eventually(t, "no listener is left", func() bool { return d.Exec(t, "SELECT count(*) FROM interlock.listener") == "0" })
	})
	t.Run("a process that crashed is forgotten", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		d.Exec(t, "INSERT INTO interlock.session VALUES ('crashed', clock_timestamp() - interval '1 hour'); INSERT INTO interlock.listener VALUES ('l0', 'crashed')")
		e := open(t, d.URL())
		r := request(t, "ann:1", "1")
		d.Exec(t, "INSERT INTO interlock.listener VALUES (interlock.topic('l0', sha256('"+r.Key+"')), 'crashed')")
		granted(t, e, r)
		if res, err := e.Release(ctx, r); err != nil || res.Listeners != 0 {
			t.Errorf("release: %+v, error %v; want no listener", res, err)
		}
		wake, stop := e.Notify(r)
		defer stop()
		awaitWake(t, wake)
		if n := d.Exec(t, "SELECT count(*) FROM interlock.listener WHERE session = 'crashed'"); n != "0" {
			t.Errorf("%s listeners of the crashed process are left", n)
		}
	})
	t.Run("notices arrive on the direct connection of Listen", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		e := open(t, d.URL(), postgres.Listen(d.URL()))
		if e.Connections() != 0 {
			t.Error("Connections is not 0, although a pooler may hide a restart")
		}
		r := request(t, "ann:1", "1")
		wake, stop := e.Notify(r)
		defer stop()
		awaitWake(t, wake)
		granted(t, e, r)
		if _, err := e.Release(ctx, r); err != nil {
			t.Fatal(err)
		}
		awaitWake(t, wake)
	})
}

// listening returns a connection that receives all notices of a database.
func listening(t testing.TB, d *postgrestest.Database) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), d.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(context.Background(), "LISTEN interlock"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// next returns the next notice.
func next(t testing.TB, conn *pgx.Conn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	n, err := conn.WaitForNotification(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return n.Payload
}
