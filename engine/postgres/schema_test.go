package postgres_test

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

var keys sync.Map // by test

// key returns a key of the test. It differs each time the test runs.
func key(t testing.TB) string {
	t.Helper()
	suffix, _ := keys.LoadOrStore(t, rand.Text())
	return t.Name() + ":" + suffix.(string)
}

// request returns a request for a lock of the test.
func request(t testing.TB, holder, attempt string) engine.Request {
	t.Helper()
	return engine.Request{Key: key(t), Holder: holder, Attempt: attempt, Lease: time.Minute}
}

func granted(t testing.TB, e engine.Engine, r engine.Request) engine.Grant {
	t.Helper()
	g, err := e.Acquire(context.Background(), r)
	if err != nil {
		t.Fatalf("acquire for %s: %v, want a grant", r.Holder, err)
	}
	return g
}

// refusedToOpen requires that Open fails with an error that contains text and is not temporary.
func refusedToOpen(t testing.TB, url, text string) {
	t.Helper()
	e, err := postgres.Open(context.Background(), url, postgres.Timeout(testTimeout))
	if err == nil {
		_ = e.Close()
	}
	if err == nil || !strings.Contains(err.Error(), text) || engine.Temporary(err) {
		t.Errorf("open: error %v, want one with %q that is not temporary", err, text)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	t.Run("a missing schema is reported with the command that creates it", func(t *testing.T) {
		t.Parallel()
		refusedToOpen(t, postgrestest.Start(t).URL(), "run interlock engine migrate URL")
	})
	t.Run("an older schema is reported with the command that migrates it", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		d.Exec(t, "UPDATE interlock.meta SET version = 0")
		refusedToOpen(t, d.URL(), "has version 0, and this program needs 1: run interlock engine migrate URL")
		migrate(t, d.URL())
		granted(t, open(t, d.URL()), request(t, "ann:1", "1"))
	})
	t.Run("a newer schema is reported and not migrated", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		d.Exec(t, "UPDATE interlock.meta SET version = 99")
		refusedToOpen(t, d.URL(), "has version 99, and this program knows 1: upgrade the program")
		refusedToOpen(t, d.URL()+"&migrate=true", "upgrade the program")
		if _, err := postgres.Migrate(context.Background(), d.URL()); err == nil || !strings.Contains(err.Error(), "upgrade the program") {
			t.Errorf("migrate: error %v, want one that says to upgrade the program", err)
		}
	})
	t.Run("one of several concurrent migrations creates the schema", func(t *testing.T) {
		t.Parallel()
		d := postgrestest.Start(t)
		var changes atomic.Int32
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				changed, err := postgres.Migrate(context.Background(), d.URL())
				if err != nil {
					t.Error(err)
				}
				if changed {
					changes.Add(1)
				}
			})
		}
		all.Wait()
		if n := changes.Load(); n != 1 {
			t.Errorf("%d migrations report a change, want one", n)
		}
	})
	t.Run("a migration keeps locks and records", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		e, r := open(t, d.URL()), request(t, "ann:1", "1")
		g := granted(t, e, r)
		d.Exec(t, "UPDATE interlock.meta SET version = 0")
		migrate(t, d.URL())
		r.Retry = true
		if again := granted(t, e, r); again != g {
			t.Errorf("the grant went from %+v to %+v", g, again)
		}
	})
	t.Run("AutoMigrate creates the schema", func(t *testing.T) {
		t.Parallel()
		d := postgrestest.Start(t)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				e, err := postgres.Open(context.Background(), d.URL()+"&migrate=true", postgres.Timeout(testTimeout))
				if err != nil {
					t.Error(err)
					return
				}
				_ = e.Close()
			})
		}
		all.Wait()
		granted(t, open(t, d.URL()), request(t, "ann:1", "1"))
	})
	t.Run("a schema that is dropped while the engine runs is reported", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		e, r := open(t, d.URL()), request(t, "ann:1", "1")
		granted(t, e, r)
		d.Exec(t, "DROP SCHEMA interlock CASCADE")
		for range 2 {
			if _, err := e.Acquire(context.Background(), r); err == nil || !strings.Contains(err.Error(), "engine migrate") {
				t.Errorf("acquire: error %v, want one that names the command", err)
			}
		}
		migrate(t, d.URL())
		granted(t, e, r)
	})
	t.Run("a schema that a newer program migrates while the engine runs is reported", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		e, r := open(t, d.URL()), request(t, "ann:1", "1")
		granted(t, e, r)
		d.Exec(t, "UPDATE interlock.meta SET version = 99; ALTER FUNCTION interlock.acquire RENAME TO get")
		_, _ = e.Acquire(context.Background(), r)
		if _, err := e.Acquire(context.Background(), r); err == nil || !strings.Contains(err.Error(), "upgrade the program") {
			t.Errorf("acquire: error %v, want one that says to upgrade the program", err)
		}
	})
	t.Run("schemas of one database are independent", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		other := d.URL() + "&schema=user" // a reserved word
		migrate(t, other)
		one, two := open(t, d.URL()), open(t, other)
		granted(t, one, request(t, "ann:1", "1"))
		granted(t, two, request(t, "bob:1", "1"))
	})
	t.Run("a user who may not create the schema learns what to do", func(t *testing.T) {
		t.Parallel()
		d := postgrestest.Start(t)
		d.Exec(t, "CREATE ROLE "+d.Name+" LOGIN")
		_, err := postgres.Migrate(context.Background(), strings.Replace(d.URL(), "postgres@", d.Name+"@", 1))
		if err == nil || !strings.Contains(err.Error(), "GRANT CREATE ON DATABASE") {
			t.Errorf("migrate: error %v, want one that names the grant", err)
		}
	})
}
