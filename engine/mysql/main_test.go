package mysql_test

import (
	"context"
	"flag"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/mysql"
	"github.com/interlock-go/interlock/internal/testing/mysqltest"
)

// TestMain runs more tests in parallel than there are cores: most of them wait for a lease
// to expire.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("16")
	}
	os.Exit(mysqltest.Main(m))
}

// testTimeout is the timeout of engines in these tests, unless a test is about timeouts. It
// is long, so that a busy machine does not fail a call.
const testTimeout = 20 * time.Second

// migrated returns a database with the tables.
func migrated(t testing.TB) *mysqltest.Database {
	t.Helper()
	d := mysqltest.Start(t)
	migrate(t, d.URL())
	return d
}

func migrate(t testing.TB, url string) {
	t.Helper()
	if _, err := mysql.Migrate(context.Background(), url); err != nil {
		t.Fatal(err)
	}
}

// open returns an engine with the timeout of these tests.
func open(t testing.TB, url string, opts ...mysql.Option) *mysql.Engine {
	t.Helper()
	e, err := mysql.Open(context.Background(), url, append([]mysql.Option{mysql.Timeout(testTimeout)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// lazily returns a function that makes a value once, for all tests that need it.
func lazily[T any](create func(t testing.TB) T) func(t testing.TB) T {
	var (
		once  sync.Once
		value T
	)
	return func(t testing.TB) T {
		t.Helper()
		once.Do(func() { value = create(t) })
		return value
	}
}

// sharedDatabase is a database with the tables, for tests that use keys of their own.
var sharedDatabase = lazily(migrated)

// clocked is an engine whose clock can be set.
type clocked struct {
	*mysql.Engine
	t testing.TB
	d *mysqltest.Database
}

func (c clocked) Step(d time.Duration) { c.d.Step(c.t, d) }

var _ engine.Engine = clocked{}
