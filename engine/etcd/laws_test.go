package etcd_test

import (
	"flag"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

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
// for expired ones every half second, and some laws use a twentieth of the lease.
const lease = 20 * time.Second

// testTimeout is the timeout of engines in these tests, unless a test is about timeouts. It
// is long, so that a busy machine does not fail a call.
const testTimeout = 20 * time.Second

func open(t testing.TB, url string, opts ...etcd.Option) *etcd.Engine {
	t.Helper()
	e, err := etcd.Open(t.Context(), url, append([]etcd.Option{etcd.Timeout(testTimeout)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeEngine(t, e) })
	return e
}

// TestLaws gives every law a prefix of its own: the laws about fences reserve and raise
// millions of them, for all locks of a prefix. It proves R3 on a coordination service.
func TestLaws(t *testing.T) {
	t.Parallel()
	client := connect(t, etcdtest.Start(t).Addr())
	enginetest.Run(t, enginetest.Harness{
		Name:  "etcd",
		Lease: lease,
		Open: func(t testing.TB) engine.Engine {
			e := etcd.New(client, etcd.Timeout(testTimeout), etcd.Prefix(t.Name()+"/"))
			t.Cleanup(func() { closeEngine(t, e) })
			return e
		},
	})
}

// connect returns a client that is closed when the test ends.
func connect(t testing.TB, endpoints ...string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: testTimeout, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func closeEngine(t testing.TB, e *etcd.Engine) {
	if err := e.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
