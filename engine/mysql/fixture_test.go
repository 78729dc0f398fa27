package mysql_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/mysql"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/mysqltest"
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

// claim returns a claim of a key of the test.
func claim(t testing.TB, attempt string) engine.Claim {
	t.Helper()
	return engine.Claim{Key: key(t), Attempt: attempt, Lease: time.Minute, Retain: time.Hour}
}

// done returns a settlement of a claim.
func done(c engine.Claim) engine.Settlement {
	return engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Result: []byte("result"), Retain: time.Hour}
}

func wantState(t testing.TB, e *mysql.Engine, key string, want engine.State) engine.Record {
	t.Helper()
	r, err := e.Capabilities().Ledger.Lookup(context.Background(), key)
	if err != nil || r.State != want {
		t.Fatalf("look up: %s, error %v; want %s", r.State, err, want)
	}
	return r
}

func wantUnknown(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, engine.ErrUnknown) {
		t.Errorf("error %v, want %v", err, engine.ErrUnknown)
	}
}

// wantNothingDone requires an error that says that a call had no effect.
func wantNothingDone(t testing.TB, err error) {
	t.Helper()
	if !engine.Temporary(err) || errors.Is(err, engine.ErrUnknown) {
		t.Errorf("error %v, want one that says that nothing was done", err)
	}
}

func awaitWake(t testing.TB, wake <-chan struct{}) {
	t.Helper()
	select {
	case <-wake:
	case <-time.After(30 * time.Second):
		t.Fatal("no wake-up within 30s")
	}
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

// at returns the URL of a database at another address, such as that of a proxy.
func at(d *mysqltest.Database, addr string) string {
	return strings.Replace(d.URL(), d.Server.Addr(), addr, 1)
}

// proxied returns an engine behind a network with faults, and the network.
func proxied(t testing.TB, d *mysqltest.Database, opts ...mysql.Option) (*mysql.Engine, *faultnet.Proxy) {
	t.Helper()
	p := faultnet.New(t, d.Server.Addr())
	return open(t, at(d, p.Addr())+"?pool=1", opts...), p
}

// connect returns a pool as an application has one.
func connect(t testing.TB, d *mysqltest.Database) *sql.DB {
	t.Helper()
	u, err := url.Parse(d.URL())
	if err != nil {
		t.Fatal(err)
	}
	c := driver.NewConfig()
	c.Net, c.Addr, c.DBName, c.User = "tcp", u.Host, d.Name, u.User.Username()
	c.Passwd, _ = u.User.Password()
	db, err := sql.Open("mysql", c.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// begin begins a transaction, which the test ends, or its clean-up.
func begin(t testing.TB, db *sql.DB, isolation sql.IsolationLevel) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: isolation})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}
