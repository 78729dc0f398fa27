package redisengine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// Holders in these tests.
const (
	ann  = "a1100000-0000-4000-8000-00000000000a:1"
	bob  = "b0b00000-0000-4000-8000-00000000000b:1"
	java = "8743c9c0-0795-4907-87fd-6c719a6b4586:31" // Redisson's form of a name
)

// testTimeout is the timeout of engines in these tests, unless a test is about timeouts. It
// is long, so that a busy machine does not fail a call. Two timeouts are less than the
// lease of request, so that tombstones last for a lease.
const testTimeout = 10 * time.Second

func open(t testing.TB, s *redistest.Server, opts ...redisengine.Option) *redisengine.Engine {
	t.Helper()
	return openURL(t, s.URL(), opts...)
}

func openURL(t testing.TB, url string, opts ...redisengine.Option) *redisengine.Engine {
	t.Helper()
	if !strings.Contains(url, "timeout=") {
		opts = append([]redisengine.Option{redisengine.Timeout(testTimeout)}, opts...)
	}
	e, err := redisengine.Open(context.Background(), url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// scriptText returns a script made of the files of these names.
func scriptText(t testing.TB, parts ...string) string {
	t.Helper()
	var text strings.Builder
	for _, part := range parts {
		file, err := os.ReadFile("lua/" + part + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		text.Write(file)
	}
	return text.String()
}

// request returns a request for a lock named after the test.
func request(t testing.TB, holder, attempt string) engine.Request {
	t.Helper()
	return engine.Request{Key: key(t), Holder: holder, Attempt: attempt, Lease: 30 * time.Second}
}

// key returns the name of the test without braces.
func key(t testing.TB) string {
	t.Helper()
	return strings.Map(func(r rune) rune {
		if r == '{' || r == '}' {
			return '_'
		}
		return r
	}, t.Name())
}

func granted(t testing.TB, e *redisengine.Engine, r engine.Request) engine.Grant {
	t.Helper()
	g, err := e.Acquire(context.Background(), r)
	if err != nil {
		t.Fatalf("acquire for %s: %v, want a grant", r.Holder, err)
	}
	return g
}

func busy(t testing.TB, e *redisengine.Engine, r engine.Request) *engine.BusyError {
	t.Helper()
	g, err := e.Acquire(context.Background(), r)
	var b *engine.BusyError
	if !errors.As(err, &b) {
		t.Fatalf("acquire for %s: %+v, %v; want a *engine.BusyError", r.Holder, g, err)
	}
	return b
}

func refused(t testing.TB, e *redisengine.Engine, r engine.Request, want error) {
	t.Helper()
	if g, err := e.Acquire(context.Background(), r); !errors.Is(err, want) {
		t.Fatalf("acquire for %s: %+v, %v; want %v", r.Holder, g, err, want)
	}
}

func wantResult(t testing.TB, p engine.ReleaseResult, err error, want engine.ReleaseResult) {
	t.Helper()
	if err != nil || p != want {
		t.Errorf("got %+v, %v; want %+v", p, err, want)
	}
}

func released(t testing.TB, e *redisengine.Engine, r engine.Request, want engine.ReleaseResult) {
	t.Helper()
	p, err := e.Release(context.Background(), r)
	wantResult(t, p, err, want)
}

func abandoned(t testing.TB, e *redisengine.Engine, r engine.Request, want engine.ReleaseResult) {
	t.Helper()
	p, err := e.Abandon(context.Background(), r)
	wantResult(t, p, err, want)
}

func renewed(t testing.TB, e *redisengine.Engine, r engine.Request, want error) {
	t.Helper()
	if err := e.Renew(context.Background(), []engine.Request{r})[0]; !errors.Is(err, want) {
		t.Errorf("renew for %s: %v, want %v", r.Holder, err, want)
	}
}

func retry(r engine.Request) engine.Request { r.Retry = true; return r }

func fenced(r engine.Request, reserve uint64) engine.Request {
	r.Fenced, r.FenceReserve = true, reserve
	return r
}

func lasting(r engine.Request, d time.Duration) engine.Request { r.Lease = d; return r }

// number returns the server's integer reply to a command.
func number(t testing.TB, s *redistest.Server, args ...string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s.Must(args...), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return n
}

// wantTTL checks that the TTL of a key is about d. On a busy machine a third of d may have
// passed.
func wantTTL(t testing.TB, s *redistest.Server, key string, d time.Duration) {
	t.Helper()
	if ms := number(t, s, "PTTL", key); ms > d.Milliseconds() || ms < d.Milliseconds()*2/3 {
		t.Errorf("%s expires in %d ms, want about %d", key, ms, d.Milliseconds())
	}
}

// wantHash checks the fields and values at a key.
func wantHash(t testing.TB, s *redistest.Server, key string, want map[string]string) {
	t.Helper()
	lines := strings.Split(s.Must("HGETALL", key), "\n")
	got := make(map[string]string)
	for i := 0; i+1 < len(lines); i += 2 {
		got[lines[i]] = lines[i+1]
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s holds %v, want %v", key, got, want)
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

// eventually waits up to 30 s until happened returns true.
func eventually(t testing.TB, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 30s: %s", what)
		}
	}
}
