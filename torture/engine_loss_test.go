package torture

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// TestEngineLoss takes a lock's server away from its holder, on PostgreSQL, MySQL, etcd and
// ZooKeeper. The holder's context ends before another process gets the lock, and fences rise
// (requirements R2 and R3).
func TestEngineLoss(t *testing.T) {
	for name, start := range startTarget {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // mostly waits
			f := newLossFixture(t, start(t))
			t.Run("a holder whose connection is cut", f.cutHolder)
			t.Run("a server that is killed", f.killServer)
		})
	}
}

// lossLease leaves a holder 60 ms: it stops 1 % of the lease early.
const lossLease = 6 * time.Second

// A lossFixture has two clients of one server. The first one is behind a proxy.
type lossFixture struct {
	server        target
	proxy         *faultnet.Proxy
	first, second *interlock.Client
}

func newLossFixture(t *testing.T, server target) *lossFixture {
	t.Helper()
	proxy := faultnet.New(t, server.addr)
	return &lossFixture{
		server: server, proxy: proxy,
		first:  openClient(t, server.through(proxy.Addr(), "timeout=5s")),
		second: openClient(t, server.through(server.addr, "timeout=5s")),
	}
}

// openClient opens the engine of a URL, and closes it after the test.
func openClient(t *testing.T, url string) *interlock.Client {
	t.Helper()
	e, err := openEngine(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	c := interlock.New(e)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(ctx)
		_ = e.Close()
	})
	return c
}

// hold takes the lock with the first client, and waits until the lock has been renewed.
func (f *lossFixture) hold(t *testing.T, key string) (context.Context, *interlock.Hold) {
	t.Helper()
	ctx, hold, err := f.first.Mutex(key, interlock.Watchdog(lossLease), interlock.Fenced()).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
		t.Fatalf("a hold that is renewed was lost: %v", context.Cause(ctx))
	case <-time.After(lossLease + time.Second):
	}
	return ctx, hold
}

// succeed takes the lock with the second client. At that moment, the first hold must have
// been lost.
func (f *lossFixture) succeed(ctx context.Context, t *testing.T, key string, first *interlock.Hold) *interlock.Hold {
	t.Helper()
	_, second, err := f.second.Mutex(key, interlock.Fenced(), interlock.Wait(2*time.Minute)).Lock(t.Context())
	lost := ctx.Err() != nil
	if err != nil {
		t.Fatal(err)
	}
	if !lost {
		t.Error("the lock was granted while the first holder still worked")
	}
	if second.Fence() <= first.Fence() {
		t.Errorf("fence %d follows fence %d", second.Fence(), first.Fence())
	}
	if cause := context.Cause(ctx); lost && !errors.Is(cause, interlock.ErrExpired) {
		t.Errorf("the first hold ended with %v, want ErrExpired", cause)
	}
	return second
}

func (f *lossFixture) cutHolder(t *testing.T) {
	ctx, first := f.hold(t, "cut")
	f.proxy.Refuse(true)
	f.proxy.Silence()
	second := f.succeed(ctx, t, "cut", first)
	f.proxy.Refuse(false)
	f.proxy.Reset()
	if err := first.Unlock(); !errors.Is(err, interlock.ErrLost) {
		t.Errorf("Unlock of the hold that was lost: %v, want ErrLost", err)
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, _, err := f.first.Mutex("cut").TryLock(t.Context())
		if errors.Is(err, interlock.ErrContended) {
			break
		}
		if err == nil || time.Now().After(end) {
			t.Fatalf("the first client asked again: %v, want ErrContended", err)
		}
	}
	if err := second.Unlock(); err != nil {
		t.Error(err)
	}
}

func (f *lossFixture) killServer(t *testing.T) {
	ctx, first := f.hold(t, "kill")
	f.server.kill(t)
	select {
	case <-ctx.Done():
	case <-time.After(2 * time.Minute):
		t.Error("the hold was not lost although its server is down")
	}
	f.server.restart(t)
	second := f.succeed(ctx, t, "kill", first)
	if err := first.Unlock(); !errors.Is(err, interlock.ErrLost) {
		t.Errorf("Unlock of the hold that was lost: %v, want ErrLost", err)
	}
	if err := second.Unlock(); err != nil {
		t.Error(err)
	}
}
