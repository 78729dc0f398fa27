package torture

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// A row of the fault matrix is a fault, the expected result and the test that proves it.
// Rows with an empty "lock" column are omitted, and so are rows that need several servers.
type row struct {
	number int
	fault  string
	result string
	prove  func(t *testing.T)
}

// TestFaults proves the column "lock" of the fault matrix on a standalone Redis
// (requirement R2). It prints a line for each row.
func TestFaults(t *testing.T) {
	var rows []row
	for _, group := range [][]row{replyRows, serverRows, wakeRows, clockRows, processRows, queueRows, killRows, kindRows} {
		rows = append(rows, group...)
	}
	for _, r := range rows {
		t.Run(fmt.Sprintf("%02d %s", r.number, r.fault), func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			r.prove(t)
			if !t.Failed() {
				fmt.Printf("fault %02d  %-46s %s (%v)\n", r.number, r.fault, r.result, time.Since(start).Round(time.Millisecond))
			}
		})
	}
}

// A fixture is a server with two clients. The first connects through a proxy that can
// delay or lose messages.
type fixture struct {
	t      *testing.T
	server *redistest.Server
	proxy  *faultnet.Proxy
	client *interlock.Client // through the proxy
	other  *interlock.Client // without the proxy
	engine *redisengine.Engine
}

const key = "fault:1"

func newFixture(t *testing.T, args ...string) *fixture {
	f := &fixture{t: t, server: redistest.Start(t, args...)}
	f.proxy = faultnet.New(t, f.server.Addr())
	f.engine = f.openEngine("redis://" + f.proxy.Addr())
	f.client = f.newClient(f.engine)
	f.other = f.newClient(f.openEngine(f.server.URL()))
	return f
}

func (f *fixture) openEngine(url string) *redisengine.Engine {
	f.t.Helper()
	e, err := redisengine.Open(f.t.Context(), url)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = e.Close() })
	return e
}

// newClient returns a client that is closed before its engine.
func (f *fixture) newClient(e *redisengine.Engine) *interlock.Client {
	c := interlock.New(e)
	f.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(ctx)
	})
	return c
}

func (f *fixture) lock(m interlock.Locker) (context.Context, *interlock.Hold) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 30*time.Second)
	defer cancel()
	held, hold, err := m.Lock(context.WithoutCancel(ctx))
	if err != nil {
		f.t.Fatalf("Lock: %v", err)
	}
	return held, hold
}

func (f *fixture) unlock(h *interlock.Hold) {
	f.t.Helper()
	if err := h.Unlock(); err != nil {
		f.t.Fatalf("Unlock: %v", err)
	}
}

// slack is added to every limit in real time, because the machine may be slow. Some tests
// must not succeed because a lease expired. Their leases are longer than limit and slack
// together.
const slack = 15 * time.Second

// eventually waits until a condition is true, and fails if that takes too long.
func (f *fixture) eventually(within time.Duration, what string, condition func() bool) {
	f.t.Helper()
	within += slack
	deadline := time.Now().Add(within)
	for !condition() {
		if time.Now().After(deadline) {
			f.t.Fatalf("%s: not within %v", what, within)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// wantFree waits until the lock is free.
func (f *fixture) wantFree(within time.Duration) {
	f.t.Helper()
	f.eventually(within, "the lock is free", func() bool { return f.server.Must("EXISTS", key) == "0" })
}

// wantLost waits until the hold is lost, with the given cause.
func (f *fixture) wantLost(ctx context.Context, within time.Duration, why error) {
	f.t.Helper()
	within += slack
	select {
	case <-ctx.Done():
	case <-time.After(within):
		f.t.Fatalf("the hold was not lost within %v", within)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, interlock.ErrLost) || !errors.Is(cause, why) {
		f.t.Fatalf("the hold was lost with cause %v, want %v", cause, why)
	}
}

// wantHeld checks that the hold is not lost during the given time.
func (f *fixture) wantHeld(ctx context.Context, during time.Duration) {
	f.t.Helper()
	select {
	case <-ctx.Done():
		f.t.Fatalf("the hold was lost: %v", context.Cause(ctx))
	case <-time.After(during):
	}
}

func (f *fixture) wantErr(err, target error) {
	f.t.Helper()
	if !errors.Is(err, target) {
		f.t.Fatalf("got error %v, want one that matches %v", err, target)
	}
}
