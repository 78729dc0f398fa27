package zookeeper_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/zookeeper"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// TestMain runs more tests in parallel than there are cores: most of them wait for a
// lease to expire.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("12")
	}
	code := m.Run()
	if stopShared != nil {
		stopShared()
	}
	os.Exit(code)
}

var stopShared func()

// shared starts the server that tests share which leave it as it is.
var shared = sync.OnceValues(func() (s *zookeepertest.Server, err error) {
	s, stopShared, err = zookeepertest.Shared()
	return s, err
})

func server(t testing.TB) *zookeepertest.Server {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Holders in these tests.
const (
	ann = "a1100000-0000-4000-8000-00000000000a:1"
	bob = "b0b00000-0000-4000-8000-00000000000b:1"
)

// testTimeout is the timeout of engines in these tests, unless a test is about timeouts.
// It is long, so that a busy machine does not fail a call.
const testTimeout = 15 * time.Second

func open(t testing.TB, url string, opts ...zookeeper.Option) *zookeeper.Engine {
	t.Helper()
	if !strings.Contains(url, "timeout=") {
		opts = append([]zookeeper.Option{zookeeper.Timeout(testTimeout)}, opts...)
	}
	e, err := zookeeper.Open(context.Background(), url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// keys are the keys of the tests.
var keys sync.Map

// key returns a key for the test. A test that runs twice has two, because the server may
// keep the locks of the first run.
func key(t testing.TB) string {
	k, _ := keys.LoadOrStore(t, t.Name()+"-"+rand.Text()[:8])
	return k.(string)
}

// request returns a request for a lock named after the test. Its lease outlasts restarts of
// servers on a busy machine.
func request(t testing.TB, holder, attempt string) engine.Request {
	t.Helper()
	return engine.Request{Key: key(t), Holder: holder, Attempt: attempt, Lease: 10 * time.Minute}
}

// granted requires that r is granted. It repeats a call that a busy machine did not answer in
// time, which gets the same grant.
func granted(t testing.TB, e engine.Engine, r engine.Request) engine.Grant {
	t.Helper()
	g, err := e.Acquire(context.Background(), r)
	for end := time.Now().Add(3 * time.Minute); engine.Temporary(err) && time.Now().Before(end); {
		r.Retry = true
		g, err = e.Acquire(context.Background(), r)
	}
	if err != nil {
		t.Fatalf("acquire for %s: %v, want a grant", r.Holder, err)
	}
	return g
}

func busy(t testing.TB, e engine.Engine, r engine.Request) {
	t.Helper()
	g, err := e.Acquire(context.Background(), r)
	var b *engine.BusyError
	if !errors.As(err, &b) {
		t.Fatalf("acquire for %s: %+v, %v; want a *engine.BusyError", r.Holder, g, err)
	}
}

func refused(t testing.TB, e engine.Engine, r engine.Request, want error) {
	t.Helper()
	if g, err := e.Acquire(context.Background(), r); !errors.Is(err, want) {
		t.Fatalf("acquire for %s: %+v, %v; want %v", r.Holder, g, err, want)
	}
}

func released(t testing.TB, e engine.Engine, r engine.Request, want engine.Outcome) {
	t.Helper()
	if p, err := e.Release(context.Background(), r); err != nil || p.Outcome != want {
		t.Fatalf("release for %s: %v, %v; want %v", r.Holder, p.Outcome, err, want)
	}
}

func renewed(t testing.TB, e engine.Engine, r engine.Request, want error) {
	t.Helper()
	if err := e.Renew(context.Background(), []engine.Request{r})[0]; !errors.Is(err, want) {
		t.Fatalf("renew for %s: %v, want %v", r.Holder, err, want)
	}
}

// eventually waits up to three minutes until happened returns true.
func eventually(t testing.TB, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !happened(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within three minutes: %s", what)
		}
	}
}
