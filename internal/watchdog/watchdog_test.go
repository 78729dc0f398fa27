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

// A kennel is a watchdog, and what it did and said.
type kennel struct {
	watchdog.Watchdog
	clock *watchdog.Clock
	group taskgroup.Group

	mu    sync.Mutex
	calls int
	down  error // the result of every renewal
	ticks int
	empty int
	told  []string
}

func newKennel() *kennel {
	k := &kennel{clock: watchdog.NewClock()}
	k.Init(watchdog.Config{
		Clock:   k.clock,
		Renew:   k.renew,
		Spawn:   k.group.Go,
		Tick:    func(_ time.Time, wards func() []watchdog.Leased) { k.ticks += len(wards()) },
		Emptied: func() { k.empty++ },
	})
	return k
}

func (k *kennel) renew(_ context.Context, wards []watchdog.Leased) []error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	return slices.Repeat([]error{k.down}, len(wards))
}

func (k *kennel) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.down = err
}

func (k *kennel) tell(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = append(k.told, what)
}

// seen returns how often the engine was asked, and what wards were told.
func (k *kennel) seen() (calls int, told []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls, slices.Clone(k.told)
}

func (k *kennel) ward(t watchdog.Terms) *ward {
	x := &ward{kennel: k}
	now := time.Now()
	x.lease.Init(k.clock, "k:1", life, now, now, t)
	k.Add(x, now)
	return x
}

type ward struct {
	kennel *kennel
	lease  watchdog.Lease
}

func (x *ward) Watched() *watchdog.Lease { return &x.lease }
func (x *ward) Expired()                 { x.kennel.tell("expired") }
func (x *ward) Exceeded()                { x.kennel.tell("exceeded") }
func (x *ward) Gone(err error)           { x.kennel.tell(fmt.Sprint("gone: ", err)) }
func (x *ward) Renewed(err error)        { x.kennel.tell(fmt.Sprint("renewed: ", err)) }

func TestWatchdog(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *kennel){
		"wards are renewed every third of their lease, together": func(t *testing.T, k *kennel) {
			a, b := k.ward(watchdog.Terms{}), k.ward(watchdog.Terms{})
			pass(life + time.Second)
			if calls, told := k.seen(); calls != 3 || len(told) != 6 || a.lease.Left(time.Now()) == 0 {
				t.Errorf("%d calls, and they were told %q", calls, told)
			}
			k.Remove(a)
			k.Remove(b)
			pass(life)
			if calls, _ := k.seen(); calls != 3 {
				t.Error("a removed lease is renewed")
			}
		},
		"a lease that is not renewed expires before it does at the engine": func(t *testing.T, k *kennel) {
			x := k.ward(watchdog.Terms{Explicit: true})
			pass(life - life/50)
			if x.lease.Overdue(time.Now()) {
				t.Error("it is overdue long before")
			}
			pass(life / 50)
			k.only(t, "expired")
		},
		"MaxHold ends one that is renewed": func(t *testing.T, k *kennel) {
			k.ward(watchdog.Terms{MaxHold: life / 6})
			pass(life / 6)
			k.only(t, "exceeded")
		},
		"a lease that the engine does not know is ended once and removed": func(t *testing.T, k *kennel) {
			k.fail(engine.ErrRevoked)
			k.ward(watchdog.Terms{})
			pass(2 * life)
			k.only(t, "gone: "+engine.ErrRevoked.Error())
		},
		"an engine that fails is asked again until the lease is over": func(t *testing.T, k *kennel) {
			k.fail(engine.ErrUnavailable)
			k.ward(watchdog.Terms{})
			pass(life)
			if calls, told := k.seen(); calls < 10 || told[len(told)-1] != "expired" {
				t.Errorf("%d calls, and it was told %q", calls, told)
			}
		},
		"a machine that slept loses what ran out meanwhile": func(t *testing.T, k *kennel) {
			x := k.ward(watchdog.Terms{})
			k.clock.Step(life)
			if now := time.Now(); !x.lease.Overdue(now) || x.lease.Left(now) != 0 {
				t.Error("it does not count by the wall clock")
			}
			pass(time.Second)
			k.only(t, "expired")
		},
		"a first lease may be longer than those that follow": func(t *testing.T, k *kennel) {
			x := &ward{kennel: k}
			now := time.Now()
			x.lease.Init(k.clock, "k:1", life, now, now, watchdog.Terms{Explicit: true})
			x.lease.Trust(watchdog.SafeUntil(now, 2*life))
			k.Add(x, now)
			pass(life + life/2)
			if _, told := k.seen(); len(told) > 0 {
				t.Errorf("it was told %q", told)
			}
			pass(life)
			k.only(t, "expired")
		},
		"it ticks twice a second while there are wards, and says when there are none": func(t *testing.T, k *kennel) {
			x := k.ward(watchdog.Terms{})
			pass(5*time.Second + time.Millisecond)
			if k.ticks != 10 || k.empty != 0 {
				t.Errorf("%d ticks, emptied %d times", k.ticks, k.empty)
			}
			gone := k.Empty()
			k.Remove(x)
			<-gone
			pass(5 * time.Second)
			if k.ticks != 10 || k.empty == 0 {
				t.Errorf("%d ticks, emptied %d times", k.ticks, k.empty)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKennel()
				test(t, k)
				<-k.Empty()
				<-k.group.Wait()
			})
		})
	}
}

// only says that the one ward was told one thing, and is let go.
func (k *kennel) only(t *testing.T, what string) {
	t.Helper()
	if _, told := k.seen(); !slices.Equal(told, []string{what}) || len(k.All()) > 0 {
		t.Errorf("it was told %q, and %d are left", told, len(k.All()))
	}
}

// pass lets time go by, and waits for what is due then.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
