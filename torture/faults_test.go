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

// A row of the fault matrix: what goes wrong, what becomes of a lock, and the
// proof. Rows that the matrix has no answer for in its column "lock" are left
// out, and so are those that need more than one Redis.
type row struct {
	number int
	fault  string
	answer string
	prove  func(t *testing.T)
}

// TestFaults proves the column "lock" of the fault matrix on a standalone
// Redis, and prints a line for each row (R2).
func TestFaults(t *testing.T) {
	var rows []row
	for _, group := range [][]row{replyRows, serverRows, wakeRows, clockRows, processRows, lineRows, deathRows, kindRows} {
		rows = append(rows, group...)
	}
	for _, r := range rows {
		t.Run(fmt.Sprintf("%02d %s", r.number, r.fault), func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			r.prove(t)
			if !t.Failed() {
				fmt.Printf("fault %02d  %-46s %s (%v)\n", r.number, r.fault, r.answer, time.Since(start).Round(time.Millisecond))
			}
		})
	}
}

// A place is where a fault happens: a server, a network to it that can be cut,
// and two clients, of which only the first is behind that network.
type place struct {
	t      *testing.T
	server *redistest.Server
	net    *faultnet.Proxy
	client *interlock.Client // through net
	other  *interlock.Client // directly
	engine *redisengine.Engine
}

const key = "fault:1"

func newPlace(t *testing.T, args ...string) *place {
	p := &place{t: t, server: redistest.Start(t, args...)}
	p.net = faultnet.New(t, p.server.Addr())
	p.engine = p.open("redis://" + p.net.Addr())
	p.client = p.use(p.engine)
	p.other = p.use(p.open(p.server.URL()))
	return p
}

func (p *place) open(url string) *redisengine.Engine {
	p.t.Helper()
	e, err := redisengine.Open(p.t.Context(), url)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = e.Close() })
	return e
}

// use returns a client that is closed before its engine is.
func (p *place) use(e *redisengine.Engine) *interlock.Client {
	c := interlock.New(e)
	p.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(ctx)
	})
	return c
}

func (p *place) lock(m interlock.Locker) (context.Context, *interlock.Hold) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	held, hold, err := m.Lock(context.WithoutCancel(ctx))
	if err != nil {
		p.t.Fatalf("Lock: %v", err)
	}
	return held, hold
}

func (p *place) unlock(h *interlock.Hold) {
	p.t.Helper()
	if err := h.Unlock(); err != nil {
		p.t.Fatalf("Unlock: %v", err)
	}
}

// slack is added to every limit in real time: the machine may be slow. A lease that
// must not be the reason for a success is longer than limit and slack together.
const slack = 15 * time.Second

// soon waits until something becomes true, and fails if it does not.
func (p *place) soon(within time.Duration, what string, is func() bool) {
	p.t.Helper()
	within += slack
	deadline := time.Now().Add(within)
	for !is() {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: not within %v", what, within)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// wantGone checks that nothing of the lock is left, soon.
func (p *place) wantGone(within time.Duration) {
	p.t.Helper()
	p.soon(within, "the lock is free", func() bool { return p.server.Must("EXISTS", key) == "0" })
}

// wantLost waits for the hold to be lost, for the given reason.
func (p *place) wantLost(ctx context.Context, within time.Duration, why error) {
	p.t.Helper()
	within += slack
	select {
	case <-ctx.Done():
	case <-time.After(within):
		p.t.Fatalf("not lost within %v", within)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, interlock.ErrLost) || !errors.Is(cause, why) {
		p.t.Fatalf("lost because of %v, want %v", cause, why)
	}
}

// wantHeld checks that the hold lasts for some time.
func (p *place) wantHeld(ctx context.Context, during time.Duration) {
	p.t.Helper()
	select {
	case <-ctx.Done():
		p.t.Fatalf("lost: %v", context.Cause(ctx))
	case <-time.After(during):
	}
}

func (p *place) wantErr(err, target error) {
	p.t.Helper()
	if !errors.Is(err, target) {
		p.t.Fatalf("got error %v, want one that matches %v", err, target)
	}
}
