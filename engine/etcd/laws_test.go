package etcd_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
)

// TestMain runs many more tests in parallel than there are cores: most of them wait for a
// lease to expire.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("64")
	}
	os.Exit(m.Run())
}

// lease is the lease of the locks in the laws. etcd has leases of whole seconds and looks
// for expired ones every half second, and the laws use a tenth of the lease, too.
const lease = 10 * time.Second

// testTimeout is the timeout of engines in these tests, unless a test is about timeouts. It
// is long, so that a busy machine does not fail a call.
const testTimeout = 20 * time.Second

func open(t testing.TB, url string, opts ...etcd.Option) *etcd.Engine {
	t.Helper()
	e, err := etcd.Open(t.Context(), url, append([]etcd.Option{etcd.Timeout(testTimeout)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

// TestLaws checks all laws on one engine: every law has its own keys.
func TestLaws(t *testing.T) {
	t.Parallel()
	e := open(t, etcdtest.Start(t).URL())
	enginetest.Run(t, enginetest.Harness{
		Name:  "etcd",
		Lease: lease,
		Open:  func(testing.TB) engine.Engine { return e },
	})
}
