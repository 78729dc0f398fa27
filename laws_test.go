package interlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
)

// A law holds for the client on every engine. Its name is the sentence that a
// failure reports.
type law struct {
	sentence string
	check    func(t *testing.T, w *world)
}

// A world is a client on an engine that fails on command.
type world struct {
	memory  *memory.Engine
	engine  *enginetest.Faulty
	client  *interlock.Client
	clients []*interlock.Client // all clients, client included

	panicked bool // a function of the caller panicked, so Stats.Waiting is off
}

// another returns a second client on the same engine, like one of another process.
func (w *world) another(opts ...interlock.Option) *interlock.Client {
	return w.on(w.engine, opts...)
}

// on returns a client on a given engine.
func (w *world) on(e engine.Engine, opts ...interlock.Option) *interlock.Client {
	c := interlock.New(e, opts...)
	w.clients = append(w.clients, c)
	return c
}

// calls returns how many lock requests the engine got. Registrations do not count:
// no caller waits for them.
func (w *world) calls() int {
	return w.engine.Calls(enginetest.OpAcquire, enginetest.OpRenew, enginetest.OpRelease, enginetest.OpAbandon)
}

// TestLaws checks every law in virtual time. A law must leave no goroutine, queue or
// lease behind.
func TestLaws(t *testing.T) {
	for topic, laws := range map[string][]law{
		"exclusion":  exclusionLaws,
		"waiting":    waitingLaws,
		"terms":      termsLaws,
		"faults":     faultLaws,
		"loss":       lossLaws,
		"watchdog":   watchdogLaws,
		"ownership":  ownershipLaws,
		"localqueue": localQueueLaws,
		"closing":    closingLaws,
		"input":      inputLaws,
		"trace":      traceLaws,
		"call":       callLaws,
		"fair":       fairLaws,
		"rwmutex":    rwmutexLaws,
		"multi":      multiLaws,
		"semaphore":  semaphoreLaws,
		"latch":      latchLaws,
		"striped":    stripedLaws,
		"operator":   operatorLaws,
	} {
		t.Run(topic, func(t *testing.T) {
			for _, l := range laws {
				t.Run(l.sentence, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { checkLaw(t, l) })
				})
			}
		})
	}
}

func checkLaw(t *testing.T, l law) {
	m := memory.New()
	f := enginetest.NewFaulty(m)
	w := &world{memory: m, engine: f}
	w.client = w.another()
	l.check(t, w)
	f.Heal()
	f.Wait()
	for _, c := range w.clients {
		c.Idle()
	}
	synctest.Wait()
	for _, c := range w.clients {
		if n := c.Stats().Live; n != int64(c.Leases()) {
			t.Errorf("law %q: %d live locks are counted, but there are %d leases", l.sentence, n, c.Leases())
		}
		if n := c.Stats().Waiting; n != 0 && !w.panicked {
			t.Errorf("law %q: %d waiters are left, want none", l.sentence, n)
		}
	}
}

const lease = 30 * time.Second // the default

func lock(t *testing.T, m interlock.Locker) (context.Context, *interlock.Hold) {
	t.Helper()
	return lockUnder(t, t.Context(), m)
}

// lockUnder acquires a lock under a context that may hold others.
func lockUnder(t *testing.T, ctx context.Context, m interlock.Locker) (context.Context, *interlock.Hold) {
	t.Helper()
	ctx, hold, err := m.Lock(ctx)
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	return ctx, hold
}

func unlock(t *testing.T, h *interlock.Hold) {
	t.Helper()
	if err := h.Unlock(); err != nil {
		t.Fatalf("Unlock(%q): %v", h.Key(), err)
	}
}

func wantErr(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want one that matches %v", err, target)
	}
}

// wantBusy checks that another holder has m.
func wantBusy(t *testing.T, m interlock.Locker) *interlock.ContendedError {
	t.Helper()
	_, hold, err := m.TryLock(t.Context())
	var busy *interlock.ContendedError
	if !errors.As(err, &busy) {
		if hold != nil {
			_ = hold.Unlock()
		}
		t.Fatalf("TryLock = %v, want a ContendedError", err)
	}
	return busy
}

// wantFree checks that m can be acquired at once.
func wantFree(t *testing.T, m interlock.Locker) {
	t.Helper()
	_, hold, err := m.TryLock(t.Context())
	if err != nil {
		t.Fatalf("TryLock = %v, want it free", err)
	}
	unlock(t, hold)
}

// wantIn checks how much virtual time fn takes.
func wantIn(t *testing.T, least, most time.Duration, fn func()) {
	t.Helper()
	start := time.Now()
	fn()
	if d := time.Since(start); d < least || d > most {
		t.Errorf("took %v, want from %v to %v", d, least, most)
	}
}

// together runs fn n times in parallel and waits.
func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}
