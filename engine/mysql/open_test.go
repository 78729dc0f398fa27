package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/mysql"
	"github.com/interlock-go/interlock/internal/testing/mysqltest"
)

func TestURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "localhost:3306", "postgres://user:hunter2@localhost/db", "mysql://user:hunter2@host:port/db", "mysql://user:hunter2@host",
		"mysql://user:hunter2@host/a/b", "mysql://user:hunter2@one,two/db", "mysql://user:hunter2@host/db?timeout=soon",
		"mysql://user:hunter2@host/db?timeout=-1s", "mysql://user:hunter2@host/db?poll=0", "mysql://user:hunter2@host/db?pool=none",
		"mysql://user:hunter2@host/db?prefix=Shop", "mysql://user:hunter2@host/db?lazy=perhaps", "mysql://user:hunter2@host/db?tls=some",
		"mysql://user:hunter2@host/db?charset=latin1", "mysql://user:hunter2@host/db?%",
	} {
		t.Run("a bad URL is refused, and the error does not show its password: "+strings.ReplaceAll(url, "/", "_"), func(t *testing.T) {
			t.Parallel()
			e, err := mysql.Open(context.Background(), url)
			if err == nil {
				_ = e.Close()
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "hunter2") || engine.Temporary(err) {
				t.Errorf("the error has the password, or is temporary: %v", err)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("a server that is down is unavailable", func(t *testing.T) {
		t.Parallel()
		_, err := mysql.Open(ctx, "mysql://127.0.0.1:1/db")
		if !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrUnknown) {
			t.Errorf("open: error %v, want %v", err, engine.ErrUnavailable)
		}
	})
	t.Run("Lazy opens while the server is down", func(t *testing.T) {
		t.Parallel()
		e, err := mysql.Open(ctx, "mysql://127.0.0.1:1/db?lazy=true")
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		_, err = e.Acquire(ctx, request(t, "ann:1", "1"))
		wantNothingDone(t, err)
	})
	t.Run("Lazy does not hide a wrong database or a wrong password", func(t *testing.T) {
		t.Parallel()
		right := sharedDatabase(t).URL()
		for url, text := range map[string]string{
			strings.Replace(right, "/test_", "/no_", 1):              "the database does not exist",
			strings.Replace(right, ":interlock@", ":wrong@", 1):      "refuses the user or the password",
			strings.Replace(right, "interlock:interlock@", "no@", 1): "refuses the user or the password",
		} {
			_, err := mysql.Open(ctx, url, mysql.Lazy(), mysql.Timeout(testTimeout))
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("open: error %v, want one with %q", err, text)
			}
		}
	})
	t.Run("a done context opens nothing", func(t *testing.T) {
		t.Parallel()
		done, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := mysql.Open(done, sharedDatabase(t).URL(), mysql.Lazy()); !errors.Is(err, context.Canceled) {
			t.Errorf("open: error %v, want %v", err, context.Canceled)
		}
	})
	t.Run("a closed engine refuses calls", func(t *testing.T) {
		t.Parallel()
		e := open(t, sharedDatabase(t).URL())
		if err := errors.Join(e.Close(), e.Close()); err != nil {
			t.Error(err)
		}
		if _, err := e.Acquire(ctx, request(t, "ann:1", "1")); !errors.Is(err, engine.ErrClosed) {
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
}

func TestObserve(t *testing.T) {
	t.Parallel()
	e := open(t, sharedDatabase(t).URL())
	var calls []engine.ServerCall
	stop := e.Capabilities().Observe(func(c engine.ServerCall) { calls = append(calls, c) })
	r := request(t, "ann:1", "1")
	granted(t, e, r)
	// The goroutine that serves a key reports the acquire before it serves the release.
	if _, err := e.Release(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	_ = e.Close()
	stop()
	if len(calls) != 2 || calls[0].Operation != "acquire" || calls[0].Node != sharedDatabase(t).Server.Addr() || calls[0].Took <= 0 || calls[0].Problem() != "" {
		t.Errorf("observed %+v, want an acquire and a release on %s", calls, sharedDatabase(t).Server.Addr())
	}
}

// TestPolls counts how often a process looks that holds locks, and waits for none: its client
// watches for their revocation.
func TestPolls(t *testing.T) {
	t.Parallel()
	e := open(t, sharedDatabase(t).URL(), mysql.Poll(5*time.Millisecond))
	wake, stop := e.Watch(key(t))
	defer stop()
	awaitWake(t, wake)
	var polls atomic.Int32
	defer e.Capabilities().Observe(func(engine.ServerCall) { polls.Add(1) })()
	began := time.Now()
	time.Sleep(time.Second)
	if n, most := polls.Load(), int32(time.Since(began)/(500*time.Millisecond))+1; n > most {
		t.Errorf("%d polls in %v, want at most %d", n, time.Since(began), most)
	}
	waiting, end := e.Notify(request(t, "ann:1", "1"))
	defer end()
	awaitWake(t, waiting)
	eventually(t, "the engine polls for a waiter", func() bool { return polls.Load() > 50 })
}

// refusedToOpen requires that Open fails with an error that contains text and is not
// temporary.
func refusedToOpen(t testing.TB, url, text string) {
	t.Helper()
	e, err := mysql.Open(context.Background(), url, mysql.Timeout(testTimeout))
	if err == nil {
		_ = e.Close()
	}
	if err == nil || !strings.Contains(err.Error(), text) || engine.Temporary(err) {
		t.Errorf("open: error %v, want one with %q that is not temporary", err, text)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("missing tables are reported with the command that creates them", func(t *testing.T) {
		t.Parallel()
		refusedToOpen(t, mysqltest.Start(t).URL(), "run interlock engine migrate URL")
	})
	t.Run("older tables are reported with the command that migrates them, which keeps locks", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		r := request(t, "ann:1", "1")
		g := granted(t, open(t, d.URL()), r)
		d.Exec(t, "UPDATE interlock_meta SET version = -1")
		refusedToOpen(t, d.URL(), "have version -1, and this program needs 1: run interlock engine migrate URL")
		migrate(t, d.URL())
		r.Retry = true
		if again := granted(t, open(t, d.URL()), r); again != g {
			t.Errorf("the grant went from %+v to %+v", g, again)
		}
	})
	t.Run("newer tables are reported and not migrated", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		d.Exec(t, "UPDATE interlock_meta SET version = 99")
		refusedToOpen(t, d.URL(), "have version 99, and this program knows 1: upgrade the program")
		refusedToOpen(t, d.URL()+"?migrate=true", "upgrade the program")
		if _, err := mysql.Migrate(ctx, d.URL()); err == nil || !strings.Contains(err.Error(), "upgrade the program") {
			t.Errorf("migrate: error %v, want one that says to upgrade the program", err)
		}
	})
	t.Run("one of several concurrent migrations creates the tables", func(t *testing.T) {
		t.Parallel()
		d := mysqltest.Start(t)
		var changes atomic.Int32
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				changed, err := mysql.Migrate(ctx, d.URL())
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
	t.Run("AutoMigrate creates the tables", func(t *testing.T) {
		t.Parallel()
		d := mysqltest.Start(t)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				e, err := mysql.Open(ctx, d.URL()+"?migrate=true", mysql.Timeout(testTimeout))
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
	t.Run("tables that are dropped while the engine runs are reported", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		e, r := open(t, d.URL()), request(t, "ann:1", "1")
		granted(t, e, r)
		d.Exec(t, "DROP VIEW interlock_clock; DROP TABLE interlock_document, interlock_serial, interlock_meta")
		for range 2 {
			if _, err := e.Acquire(ctx, r); err == nil || !strings.Contains(err.Error(), "engine migrate") {
				t.Errorf("acquire: error %v, want one that names the command", err)
			}
		}
		migrate(t, d.URL())
		granted(t, e, r)
	})
	t.Run("prefixes of one database are independent", func(t *testing.T) {
		t.Parallel()
		d := migrated(t)
		second := d.URL() + "?prefix=second_"
		migrate(t, second)
		granted(t, open(t, d.URL()), request(t, "ann:1", "1"))
		granted(t, open(t, second), request(t, "bob:1", "1"))
	})
	t.Run("a user who may not create the tables learns what to do", func(t *testing.T) {
		t.Parallel()
		d := mysqltest.Start(t)
		d.Exec(t, "CREATE USER "+d.Name+"@127.0.0.1 IDENTIFIED BY 'app'; GRANT SELECT ON "+d.Name+".* TO "+d.Name+"@127.0.0.1")
		_, err := mysql.Migrate(ctx, strings.Replace(d.URL(), "interlock:interlock@", d.Name+":app@", 1))
		if err == nil || !strings.Contains(err.Error(), "GRANT CREATE") {
			t.Errorf("migrate: error %v, want one that names the grant", err)
		}
	})
}

// TestServerDefaults runs on a server whose defaults are those of no other server. A user
// without SUPER gets all of them.
func TestServerDefaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := mysqltest.StartServer(t, "--init-connect=SET NAMES gbk", "--sql-mode=ORACLE,EMPTY_STRING_IS_NULL", "--autocommit=0",
		"--transaction-isolation=SERIALIZABLE", "--completion-type=CHAIN", "--character-set-server=utf8mb4", "--collation-server=utf8mb4_unicode_ci")
	d := s.Create(t)
	d.Exec(t, "CREATE USER app@127.0.0.1 IDENTIFIED BY 'app'; GRANT ALL ON "+d.Name+".* TO app@127.0.0.1")
	url := strings.Replace(d.URL(), "interlock:interlock@", "app:app@", 1)
	migrate(t, url)
	e := open(t, url)
	t.Run("keys that differ in a byte are different locks", func(t *testing.T) {
		t.Parallel()
		// In GBK the backslash that escapes the quote of 订' would belong to the character before it.
		for _, suffix := range []string{"a", "A", "a ", "á", "订'--", `订\`, "订\"", "\x00", "\xff", "😀", "?", "%"} {
			r := request(t, "订':1", "订'1")
			r.Key += suffix
			granted(t, e, r)
			l, err := e.Inspect(ctx, r.Key)
			if err != nil || len(l.Holders) != 1 || l.Holders[0].Name != r.Holder {
				t.Errorf("inspect %q: %+v, error %v; want one holder", r.Key, l, err)
			}
			all, _, err := e.List(ctx, engine.Literal(r.Key), "")
			if err != nil || len(all) != 1 || all[0].Key != r.Key {
				t.Errorf("list %q: %+v, error %v; want one lock", r.Key, all, err)
			}
		}
	})
	t.Run("a result of any bytes is kept", func(t *testing.T) {
		t.Parallel()
		c := claim(t, "订'1")
		l := e.Capabilities().Ledger
		if r, err := l.Claim(ctx, c); err != nil || !r.Granted {
			t.Fatalf("claim: %+v, error %v; want a grant", r, err)
		}
		x := done(c)
		for i := range 1 << 16 {
			x.Result = append(x.Result, byte(i>>8), byte(i))
		}
		if o, err := l.Settle(ctx, x); err != nil || o != engine.Released {
			t.Fatalf("settle: %v, error %v; want %v", o, err, engine.Released)
		}
		if r := wantState(t, e, c.Key, engine.Done); string(r.Result) != string(x.Result) {
			t.Error("the result was changed")
		}
	})
}

func TestProbe(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("the settings of the server are reported", func(t *testing.T) {
		t.Parallel()
		d := sharedDatabase(t)
		h, err := open(t, d.URL()).Probe(ctx)
		if err != nil || len(h.Nodes) != 1 {
			t.Fatalf("probe: %+v, error %v; want one node", h, err)
		}
		n := h.Nodes[0]
		if n.Addr != d.Server.Addr() || n.Role != engine.Primary || n.AppendOnly != "everysec" || n.Latency <= 0 || n.Err != nil || n.MaxConnections != 300 ||
			n.Connections <= 0 || n.Offset.Abs() > time.Minute || h.Timeout != testTimeout || n.Settings["innodb_flush_log_at_trx_commit"] != "2" || len(n.Denied) > 0 {
			t.Errorf("probe: %+v", h)
		}
	})
	for sync, want := range map[string]string{"0": "everysec", "1": "always"} {
		t.Run("commits of a server with sync_binlog="+sync+" are synced "+want, func(t *testing.T) {
			t.Parallel()
			s := mysqltest.StartServer(t, "--innodb-flush-log-at-trx-commit=1", "--log-bin=binlog", "--sync-binlog="+sync)
			d := s.Create(t)
			migrate(t, d.URL())
			h, err := open(t, d.URL()).Probe(ctx)
			if err != nil || h.Nodes[0].AppendOnly != want {
				t.Errorf("probe: %+v, error %v; want commits that are synced %s", h, err, want)
			}
		})
	}
	t.Run("a server that is down is in the report", func(t *testing.T) {
		t.Parallel()
		h, err := mysql.Probe(ctx, "mysql://127.0.0.1:1/db", mysql.Timeout(time.Second))
		if err != nil || len(h.Nodes) != 1 || h.Nodes[0].Err == nil || h.Nodes[0].Addr != "127.0.0.1:1" {
			t.Errorf("probe: %+v, error %v; want one node with an error", h, err)
		}
	})
	t.Run("a database without the tables is in the report", func(t *testing.T) {
		t.Parallel()
		h, err := mysql.Probe(ctx, mysqltest.Start(t).URL(), mysql.Timeout(testTimeout))
		if err != nil || len(h.Nodes) != 1 || h.Nodes[0].Err == nil || !strings.Contains(h.Nodes[0].Err.Error(), "engine migrate") {
			t.Errorf("probe: %+v, error %v; want one node with an error", h, err)
		}
	})
}

// TestEnginesExcludeEachOther lets several engines compete for one lock, while rows are
// deleted under them.
func TestEnginesExcludeEachOther(t *testing.T) {
	t.Parallel()
	ctx, d := context.Background(), migrated(t)
	const processes, each, turns = 3, 3, 15
	var (
		all          sync.WaitGroup
		inside       atomic.Int32
		last, counts atomic.Uint64
	)
	for i := range processes {
		e := open(t, d.URL())
		for j := range each {
			all.Go(func() {
				for turn := range turns {
					r := request(t, fmt.Sprintf("%d:%d", i, j), fmt.Sprint(turn))
					g, err := e.Acquire(ctx, r)
					for busy := (*engine.BusyError)(nil); errors.As(err, &busy); g, err = e.Acquire(ctx, r) {
						time.Sleep(time.Millisecond)
					}
					if err != nil {
						t.Errorf("acquire: %v", err)
						return
					}
					if inside.Add(1) != 1 {
						t.Error("two holders are inside at once")
					}
					if before := last.Swap(g.Fence); g.Fence <= before {
						t.Errorf("the fence went from %d to %d", before, g.Fence)
					}
					counts.Add(1)
					inside.Add(-1)
					if res, err := e.Release(ctx, r); err != nil || res.Outcome != engine.Released {
						t.Errorf("release: %+v, error %v; want %v", res, err, engine.Released)
					}
				}
			})
		}
	}
	sweeper, ended := open(t, d.URL()), make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	for sweeping := true; sweeping; {
		select {
		case <-ended:
			sweeping = false
		default:
			// Expire the rows of free locks, which have a fence ("f") and no holder ("h"). Fences rise
			// all the same: a new row begins with a new serial.
			_, _ = d.Server.Query(d.Name, `UPDATE interlock_document SET expires = 0 WHERE body LIKE '{"f":%' AND body NOT LIKE '%"h":%'`)
			_, _ = mysql.Sweep(sweeper)
		}
	}
	if n := counts.Load(); n != processes*each*turns {
		t.Errorf("%d turns were taken, want %d", n, processes*each*turns)
	}
}
