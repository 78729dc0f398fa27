package guard_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/guard"
)

var lossLaws = []law{
	{"a lost claim cancels the work with the cause, before another caller can claim the key", func(t *testing.T, w *world) {
		g, otherProcess := process[string](t, w, rerun), on[string](t, w, w.memory, rerun)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Hang})
		var canceled time.Time
		wait := make(chan error, 1)
		go func() {
			_, err := g.Do(t.Context(), key, func(ctx context.Context) (string, error) {
				<-ctx.Done()
				canceled = time.Now()
				wantErr(t, context.Cause(ctx), interlock.ErrExpired)
				return "late", nil
			})
			wait <- err
		}()
		synctest.Wait()
		for {
			if _, err := otherProcess.Do(t.Context(), key, work("a", 0).do); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		granted := time.Now()
		wantErr(t, <-wait, interlock.ErrLost)
		if !canceled.Before(granted) || canceled.IsZero() {
			t.Errorf("the work was canceled at %v, want before the next grant at %v", canceled, granted)
		}
	}},
	{"a late result is refused and counted, and never overwrites a newer one", func(t *testing.T, w *world) {
		claimAndCrash(t, w, rerun, key) // its result comes too late
		g := process[string](t, w, rerun)
		do(t, g, key, work("a", 0), "a")
		late := process[string](t, w, rerun)
		k := guard.Of("ann", "2")
		_, c := begin(t, late, k)
		w.memory.Step(time.Hour) // the lease has expired at the engine, and this process does not know
		do(t, g, k, work("newer", 0), "newer")
		err := c.Complete("late")
		var lost *interlock.LostError
		if !errors.As(err, &lost) || lost.Fence != c.Fence() {
			t.Errorf("Complete = %v, want a LostError with the claim's fence", err)
		}
		if n := late.Stats().Endings[guard.Late]; n != 1 {
			t.Errorf("%d claims ended late, want 1", n)
		}
		do(t, late, k, work("b", 0), "newer")
	}},
	{"Do returns the work's own error together with the loss", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		time.AfterFunc(time.Second, func() { w.memory.Step(time.Hour) })
		_, err := g.Do(t.Context(), key, func(ctx context.Context) (string, error) { <-ctx.Done(); return "", errNo })
		wantErr(t, err, errNo)
		wantErr(t, err, interlock.ErrLost)
		wantErr(t, err, interlock.ErrNotHolder)
		synctest.Wait() // the loss is counted after the work was canceled
		if g.Stats().Lost != 1 {
			t.Errorf("Lost = %d, want 1", g.Stats().Lost)
		}
	}},
	{"work that takes longer than MaxHold loses its claim", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", MaxHold: time.Minute, OnUnknown: guard.Hold}
		g := process[string](t, w, p)
		start := time.Now()
		_, err := g.Do(t.Context(), key, func(ctx context.Context) (string, error) { <-ctx.Done(); return "", context.Cause(ctx) })
		wantErr(t, err, interlock.ErrMaxHold)
		wantAbout(t, "the work", time.Since(start), time.Minute, time.Millisecond)
		time.Sleep(guard.DefaultLease)
		fails(t, process[string](t, w, p), key, work("a", 0), guard.ErrUnknown)
	}},
	{"failed renewals are retried, and the claim is kept", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", time.Minute)
		wait := startCall(t, g, key, j)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Refuse})
		time.Sleep(25 * time.Second)
		w.engine.Heal()
		_, err := wait()
		ok(t, err)
		if s := g.Stats(); s.Renewed == 0 || s.NotRenewed == 0 {
			t.Errorf("Renewed = %d, NotRenewed = %d; want both above zero", s.Renewed, s.NotRenewed)
		}
	}},
	{"a claim is renewed until its result is stored", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", Lease: time.Second}
		g := remote[string](t, w, p)
		_, c := begin(t, g, key)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpSettle, Do: enginetest.Delay, After: 1900 * time.Millisecond})
		ok(t, c.Complete("a"))
		do(t, process[string](t, w, p), key, work("b", 0), "a")
	}},
	{"a grant that took most of its lease to arrive is given back", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", Lease: time.Second}
		g, j := process[string](t, w, p), work("a", 0)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Delay, After: 990 * time.Millisecond, Times: 1})
		fails(t, g, key, j, guard.ErrDown)
		j.want(t, 0)
		time.Sleep(100 * time.Millisecond)
		do(t, g, key, j, "a")
	}},
	{"a release whose reply was lost succeeds, even if another caller holds the key by then", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "form", After: guard.Free, OnDuplicate: guard.Wait}
		g, otherProcess := process[string](t, w, p), on[string](t, w, w.memory, p)
		_, c := begin(t, g, key)
		next := startCall(t, otherProcess, key, work("b", time.Second))
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpSettle, Do: enginetest.LoseReply, Times: 1})
		ok(t, c.Complete("a"))
		_, err := next()
		ok(t, err)
	}},
	{"a release that never arrived fails once the lease has expired", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Hold, Lease: time.Second}
		g := remote[string](t, w, p)
		_, c := begin(t, g, key)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Refuse})
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpSettle, Do: enginetest.Hang, Times: 1})
		time.AfterFunc(1200*time.Millisecond, w.engine.Heal)
		wantErr(t, c.Fail(nil), interlock.ErrLost)
		fails(t, process[string](t, w, p), key, work("a", 0), guard.ErrUnknown)
	}},
	{"a result that never arrived fails if another caller holds the key by then", func(t *testing.T, w *world) {
		g, otherProcess := process[string](t, w, rerun), on[string](t, w, w.memory, rerun)
		_, c := begin(t, g, key)
		w.memory.Step(time.Hour) // the lease has expired at the engine, and this process does not know
		do(t, otherProcess, key, work("newer", 0), "newer")
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpSettle, Do: enginetest.Hang, Times: 1})
		time.AfterFunc(time.Second, w.engine.Heal)
		wantErr(t, c.Complete("late"), interlock.ErrLost)
		do(t, g, key, work("a", 0), "newer")
	}},
	{"a renewal does not shorten a window's longer first lease", func(t *testing.T, w *world) {
		g := process[string](t, w, guard.Export("export"))
		ctx, c := begin(t, g, key)
		time.Sleep(15 * time.Second) // renewed once
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Refuse})
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Errorf("the claim was lost: %v", context.Cause(ctx))
		}
		ok(t, c.Complete("a"))
	}},
	{"a renewal counts by both clocks, even after a longer first lease", func(t *testing.T, w *world) {
		g := process[string](t, w, guard.Export("export"))
		ctx, c := begin(t, g, key)
		time.Sleep(time.Second)
		g.StepWall(4*time.Minute + 50*time.Second) // the machine slept, and the window's lease is nearly over
		time.Sleep(time.Minute)                    // renewed meanwhile
		if ctx.Err() != nil {
			t.Errorf("the claim was lost: %v", context.Cause(ctx))
		}
		ok(t, c.Complete("a"))
	}},
	{"the clock that is further ahead decides how long a renewal is trusted", func(t *testing.T, w *world) {
		g := process[string](t, w, guard.Export("export"))
		ctx, c := begin(t, g, key)
		time.Sleep(time.Second)
		g.StepWall(4*time.Minute + 30*time.Second)
		time.Sleep(guard.DefaultLease / 2) // renewed meanwhile
		failEngine(w, enginetest.OpClaimRenew)
		time.Sleep(guard.DefaultLease)
		if ctx.Err() == nil {
			t.Error("the context is live although the lease has expired by one clock")
		}
		wantErr(t, c.Complete("a"), errLost)
	}},
	{"after a loss the next call in the same process claims the key like any other", func(t *testing.T, w *world) {
		g := process[string](t, w, rerun)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Refuse})
		_, c := begin(t, g, key)
		time.Sleep(guard.DefaultLease)
		do(t, g, key, work("a", 0), "a")
		wantErr(t, c.Complete("late"), interlock.ErrLost)
		do(t, g, key, work("b", 0), "a")
	}},
	{"after the machine slept, Err reports the loss before a timer does", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		ctx, c := begin(t, g, key)
		g.StepWall(time.Hour)
		if ctx.Err() == nil || c.Left() != 0 {
			t.Errorf("Err() = %v, Left() = %v; want an error and 0", ctx.Err(), c.Left())
		}
		wantErr(t, c.Fail(errNo), interlock.ErrLost)
	}},
}
