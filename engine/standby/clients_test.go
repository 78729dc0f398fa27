package standby_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/enginetest/history"
	"github.com/interlock-go/interlock/engine/standby"
	"github.com/interlock-go/interlock/guard"
)

// clientLaws check a switch through clients (requirement T13).
func clientLaws(t *testing.T) {
	inWorld(t, "a switch notifies holders at once with the reason", func(w *world) {
		a := w.start()
		c := interlock.New(a.Engine, interlock.Watchdog(longest))
		defer c.Close(context.Background())
		for _, side := range []standby.Side{standby.Standby, standby.Primary} {
			held, hold, err := c.Mutex("k").Lock(w.Context())
			if err != nil || hold.Local() {
				w.Fatalf("lock: local %v, error %v; want a lock of the active side", hold.Local(), err)
			}
			time.Sleep(view) // the client subscribes to revocations
			w.switchTo(side)
			start := time.Now()
			<-held.Done()
			cause := context.Cause(held)
			if d := time.Since(start); !errors.Is(cause, interlock.ErrLost) || !errors.Is(cause, interlock.ErrSwitched) || d > view {
				w.Errorf("the hold ended after %v with %v, want ErrSwitched within %v", d, cause, view)
			}
			if err := hold.Unlock(); !errors.Is(err, interlock.ErrLost) {
				w.Errorf("unlock: %v, want %v", err, interlock.ErrLost)
			}
			time.Sleep(freeze + view)
		}
	})
	inWorld(t, "a watcher of revocations is notified of every switch", func(w *world) {
		a := w.start()
		wake, stop := a.Capabilities().Inspector.Watch("client")
		defer stop()
		for range 2 {
			time.Sleep(view)
			for len(wake) > 0 {
				<-wake
			}
			w.switchTo(standby.Primary + standby.Standby - w.operator.State().Side)
			select {
			case <-wake:
			case <-time.After(view):
				w.Error("the watcher was not notified of the switch")
			}
		}
	})
	inWorld(t, "a refusal during the freeze says when it ends", func(w *world) {
		a := w.start()
		c := interlock.New(a.Engine, interlock.Watchdog(longest))
		defer c.Close(context.Background())
		w.switchTo(standby.Standby)
		time.Sleep(view)
		_, _, err := c.Mutex("k").TryLock(w.Context())
		var switching *standby.SwitchingError
		if !errors.Is(err, interlock.ErrUnavailable) || !errors.As(err, &switching) || switching.To != standby.Standby {
			w.Errorf("TryLock during the freeze: %v, want a SwitchingError to the standby", err)
		}
		time.Sleep(freeze)
		if err := c.Mutex("k").Do(w.Context(), func(context.Context) error { return nil }); err != nil {
			w.Error(err)
		}
	})
	inWorld(t, "a waiter is notified on either side", func(w *world) {
		a := w.start()
		n := a.Capabilities().Notifier
		wake, stop := n.Notify(w.request("k"))
		defer stop()
		for _, e := range []engine.Engine{w.primary, w.secondary} {
			r := w.request("k")
			if _, err := e.Acquire(w.Context(), r); err != nil {
				w.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			for len(wake) > 0 {
				<-wake
			}
			if _, err := e.Release(w.Context(), r); err != nil {
				w.Fatal(err)
			}
			select {
			case <-wake:
			case <-time.After(time.Second):
				w.Error("the waiter was not notified of the release")
			}
		}
	})
	inWorld(t, "a hold and a claim of a degraded engine are marked local", func(w *world) {
		a := w.start()
		var traced, checked bool
		c := interlock.New(a.Engine, interlock.Watchdog(longest),
			interlock.WithTrace(&interlock.Trace{Acquired: func(e interlock.Acquired) { traced = e.Local }}))
		defer c.Close(context.Background())
		g, err := guard.New[string](c, guard.Policy{Name: "order", Lease: longest},
			guard.WithTrace(&guard.Trace{Checked: func(e guard.Checked) { checked = e.Local }}))
		if err != nil {
			w.Fatal(err)
		}
		defer g.Close(context.Background())
		w.switchTo(standby.Local)
		time.Sleep(freeze + 2*view)
		_, hold, err := c.Mutex("k").Lock(w.Context())
		if err != nil || !hold.Local() || !traced {
			w.Errorf("hold.Local() = %v, Acquired.Local = %v, error %v; want both true", hold.Local(), traced, err)
		}
		_, claim, err := g.Begin(w.Context(), guard.Of("ann", "42"))
		if err != nil || !claim.Local() || !checked {
			w.Errorf("claim.Local() = %v, Checked.Local = %v, error %v; want both true", claim.Local(), checked, err)
		}
		_ = claim.Complete("done")
		_ = hold.Unlock()
	})
	for seed := range uint64(4) {
		inWorld(t, fmt.Sprint("under load a lock never has two holders across switches and cuts; seed ", seed), func(w *world) {
			lockStorm(w, rand.New(rand.NewPCG(seed, 13)))
		})
		inWorld(t, fmt.Sprint("under load no order begins twice across switches; seed ", seed), func(w *world) {
			orderStorm(w, rand.New(rand.NewPCG(seed, 31)))
		})
	}
}

// lockStorm lets three processes compete for two locks while an operator switches back
// and forth, and processes are cut off from one of the engines in turn.
func lockStorm(w *world, random *rand.Rand) {
	const switches = 14
	var (
		log       history.Log
		all       sync.WaitGroup
		processes []*process
		ctx, stop = context.WithCancel(w.Context())
		grants    = map[bool]int{}
	)
	for i := range 3 {
		p := w.start()
		processes = append(processes, p)
		c := interlock.New(p.Engine, interlock.Watchdog(longest))
		w.Cleanup(func() { _ = c.Close(context.Background()) })
		for j := range 4 {
			all.Go(func() {
				contend(ctx, c, &log, fmt.Sprint(i), fmt.Sprint(j), rand.New(rand.NewPCG(uint64(i), uint64(j))))
			})
		}
	}
	for n := range switches {
		to := standby.Side(n%2) + standby.Primary
		if to == w.operator.State().Side {
			to = standby.Primary + standby.Standby - to
		}
		before := len(log.Events())
		pause(random, freeze/2, 3*freeze)
		grants[to == standby.Standby] += len(log.Events()) - before
		victim := processes[random.IntN(len(processes))]
		f := []*enginetest.Faulty{victim.toPrimary, victim.toStandby}[random.IntN(2)]
		cut(f)
		pause(random, 0, view)
		w.switchTo(to)
		pause(random, 0, 2*freeze)
		f.Heal()
	}
	time.Sleep(2 * freeze)
	stop()
	all.Wait()
	report := history.Check(log.Events())
	if err := report.Err(); err != nil {
		w.Error(err)
	}
	if report.Grants < 200 || grants[true] == 0 || grants[false] == 0 {
		w.Errorf("%d grants, %d on the primary and %d on the standby; want at least 200, and some on each side", report.Grants, grants[false], grants[true])
	}
	fmt.Printf("standby: %d switches, %v\n", switches, report)
}

// pause sleeps for a random time.
func pause(random *rand.Rand, least, most time.Duration) {
	time.Sleep(least + time.Duration(random.Int64N(int64(most-least))))
}

// contend acquires locks until ctx is done, and holds each for a while.
func contend(ctx context.Context, c *interlock.Client, log *history.Log, process, actor string, random *rand.Rand) {
	for ctx.Err() == nil {
		key := fmt.Sprint("k", random.IntN(2))
		var opts []interlock.Option
		if random.IntN(2) == 0 {
			opts = append(opts, interlock.Lease(longest))
		}
		e := history.Event{Kind: history.Ask, Key: key, Actor: actor, Process: process}
		log.Add(e)
		held, hold, err := c.Mutex(key, opts...).Lock(ctx)
		if err != nil {
			e.Kind = history.Stop
			log.Add(e)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		e.Kind, e.Fence = history.Enter, hold.Fence()
		log.Add(e)
		e.Kind, e.Fence = history.Leave, 0
		select {
		case <-held.Done():
			e.Kind = history.Lost
		case <-time.After(time.Duration(random.Int64N(int64(longest) * 5 / 4 / int64(1+random.IntN(20))))):
		}
		if held.Err() != nil {
			e.Kind = history.Lost
		}
		log.Add(e)
		_ = hold.Unlock()
	}
}
