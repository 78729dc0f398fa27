package watchdog_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/taskgroup"
	"github.com/interlock-go/interlock/internal/watchdog"
)

const life = 30 * time.Second

// A fixture is a watchdog that records its calls.
type fixture struct {
	watchdog.Watchdog
	clock *watchdog.Clock
	group taskgroup.Group

	mu      sync.Mutex
	calls   int
	down    error // the result of every renewal
	ticks   int
	emptied int      // calls of Emptied
	events  []string // the methods that were called on leases
}

func newFixture() *fixture {
	k := &fixture{clock: watchdog.NewClock()}
	k.Init(watchdog.Config{
		Clock:   k.clock,
		Renew:   k.renew,
		Spawn:   k.group.Go,
		Tick:    func(_ time.Time, leases func() []watchdog.Leased) { k.ticks += len(leases()) },
		Emptied: func() { k.emptied++ },
	})
	return k
}

func (k *fixture) renew(_ context.Context, leases []watchdog.Leased) []error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	return slices.Repeat([]error{k.down}, len(leases))
}

func (k *fixture) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.down = err
}

func (k *fixture) record(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, what)
}

// seen returns how often the engine was asked, and the events of the leases.
func (k *fixture) seen() (calls int, events []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls, slices.Clone(k.events)
}

func (k *fixture) leased(t watchdog.Terms) *leased {
	x := &leased{fixture: k}
	now := time.Now()
	x.lease.Init(k.clock, "k:1", life, now, now, t)
	k.Add(x, now)
	return x
}

type leased struct {
	fixture *fixture
	lease   watchdog.Lease
}

func (x *leased) Watched() *watchdog.Lease { return &x.lease }
func (x *leased) Expired()                 { x.fixture.record("expired") }
func (x *leased) Exceeded()                { x.fixture.record("exceeded") }
func (x *leased) Gone(err error)           { x.fixture.record(fmt.Sprint("gone: ", err)) }
func (x *leased) Renewed(err error)        { x.fixture.record(fmt.Sprint("renewed: ", err)) }

func TestWatchdog(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *fixture){
		"leases are renewed together, every third of their time": func(t *testing.T, k *fixture) {
			a, b := k.leased(watchdog.Terms{}), k.leased(watchdog.Terms{})
			pass(life + time.Second)
			if calls, events := k.seen(); calls != 3 || len(events) != 6 || a.lease.Left(time.Now()) == 0 {
				t.Errorf("%d calls and the events %q, want 3 calls and 6 renewals", calls, events)
			}
			k.Remove(a)
			k.Remove(b)
			pass(life)
			if calls, _ := k.seen(); calls != 3 {
				t.Error("a removed lease is renewed")
			}
		},
		"a lease that is not renewed expires at its holder before it expires at the engine": func(t *testing.T, k *fixture) {
			x := k.leased(watchdog.Terms{Explicit: true})
			pass(life - life/50)
			if x.lease.Overdue(time.Now()) {
				t.Error("the lease is overdue long before its end")
			}
			pass(life / 50)
			k.wantOnly(t, "expired")
		},
		"MaxHold ends a renewed lease": func(t *testing.T, k *fixture) {
			k.leased(watchdog.Terms{MaxHold: life / 6})
			pass(life / 6)
			k.wantOnly(t, "exceeded")
		},
		"a lease that the engine does not know is ended once and removed": func(t *testing.T, k *fixture) {
			k.fail(engine.ErrRevoked)
			k.leased(watchdog.Terms{})
			pass(2 * life)
			k.wantOnly(t, "gone: "+engine.ErrRevoked.Error())
		},
		"a failing engine is asked again until the lease expires": func(t *testing.T, k *fixture) {
			k.fail(engine.ErrUnavailable)
			k.leased(watchdog.Terms{})
			pass(life)
			if calls, events := k.seen(); calls < 10 || events[len(events)-1] != "expired" {
				t.Errorf("%d calls and the events %q, want at least 10 calls and the expiry last", calls, events)
			}
		},
		"a machine that slept loses the leases that expired meanwhile": func(t *testing.T, k *fixture) {
			x := k.leased(watchdog.Terms{})
			k.clock.Step(life)
			if now := time.Now(); !x.lease.Overdue(now) || x.lease.Left(now) != 0 {
				t.Error("the lease has not expired by the wall clock")
			}
			pass(time.Second)
			k.wantOnly(t, "expired")
		},
		"a first lease may be longer than its renewals": func(t *testing.T, k *fixture) {
			x := &leased{fixture: k}
			now := time.Now()
			x.lease.Init(k.clock, "k:1", life, now, now, watchdog.Terms{Explicit: true})
			x.lease.Trust(watchdog.SafeUntil(now, 2*life))
			k.Add(x, now)
			pass(life + life/2)
			if _, events := k.seen(); len(events) > 0 {
				t.Errorf("the events are %q, want none yet", events)
			}
			pass(life)
			k.wantOnly(t, "expired")
		},
		"Tick is called twice a second while there are leases, and Emptied when there are none": func(t *testing.T, k *fixture) {
			x := k.leased(watchdog.Terms{})
			pass(5*time.Second + time.Millisecond)
			if k.ticks != 10 || k.emptied != 0 {
				t.Errorf("%d ticks and %d calls of Emptied, want 10 and none", k.ticks, k.emptied)
			}
			drained := k.Empty()
			k.Remove(x)
			<-drained
			pass(5 * time.Second)
			if k.ticks != 10 || k.emptied == 0 {
				t.Errorf("%d ticks and %d calls of Emptied, want 10 and at least one", k.ticks, k.emptied)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newFixture()
				test(t, k)
				<-k.Empty()
				<-k.group.Wait()
			})
		})
	}
}

// wantOnly checks that there was one event, and that no lease is left.
func (k *fixture) wantOnly(t *testing.T, what string) {
	t.Helper()
	if _, events := k.seen(); !slices.Equal(events, []string{what}) || len(k.All()) > 0 {
		t.Errorf("the events are %q and %d leases are left, want only %q and none", events, len(k.All()), what)
	}
}

// pass sleeps for d, and waits until all goroutines are blocked.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
