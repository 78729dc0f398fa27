package torture

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// guardReplyRows are the rows of the fault matrix in which messages between a guard and its
// engine are lost or delayed.
var guardReplyRows = []row{
	{1, "reply of claim lost", "the claim is retried and recognised; the work runs once", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second))
		f.warmUp(f.guard)
		for hits, round := 0, 0; hits < 3; round++ { // the cut may hit a heartbeat instead
			if round == 30 {
				t.Fatal("fewer than 3 claims lost their reply in 30 rounds")
			}
			key, asked := guard.Of("ada", fmt.Sprint("cut-", round)), f.guard.Stats().Asked
			f.proxy.CutAfterRequest()
			result := f.do(f.guard, key)
			if f.guard.Stats().Asked > asked+1 {
				hits++
			}
			f.wantRuns(int64(round + 1))
			f.wantReplay(key, result)
		}
	}},
	{2, "claim without a reply, budget spent", "the caller gets ErrDown; the work does not run; the claim is cleaned up", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second))
		f.warmUp(f.guard)
		f.proxy.BlackHole(faultnet.Replies, true)
		start := time.Now()
		f.wantRefused(guard.ErrDown)
		if d := time.Since(start); d > 8*time.Second {
			t.Errorf("Do returned after %v, want at most 8s", d)
		}
		f.proxy.BlackHole(faultnet.Replies, false)
		f.proxy.Reset()
		f.waitForCleanUp()
		f.wantState(engine.Absent)
		f.do(f.other, order)
	}},
	{2, "claim cancelled by its caller", "the caller gets its context's error; the work does not run; the claim is cleaned up", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second))
		f.warmUp(f.guard)
		f.proxy.BlackHole(faultnet.Replies, true)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := f.guard.Do(ctx, order, f.work)
		f.wantErr(err, context.DeadlineExceeded)
		f.wantRuns(0)
		f.wantState(engine.Running) // the server granted the claim
		f.proxy.BlackHole(faultnet.Replies, false)
		f.proxy.Reset()
		f.waitForCleanUp()
		f.wantState(engine.Absent)
	}},
	{4, "reply of settle lost", "the settlement is retried and recognised; the result is stored once", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second))
		f.warmUp(f.guard)
		for hits, round := 0, 0; hits < 3; round++ {
			if round == 30 {
				t.Fatal("fewer than 3 settlements lost their reply in 30 rounds")
			}
			key := guard.Of("ada", fmt.Sprint("cut-", round))
			_, claim, err := f.guard.Begin(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			f.runs.Add(1)
			before := f.commandCount("evalsha")
			f.proxy.CutAfterRequest()
			f.complete(claim)
			if f.commandCount("evalsha") > before+1 {
				hits++
			}
			f.wantReplay(key, fmt.Sprint("result ", f.runs.Load()))
		}
		if s := f.guard.Stats(); s.Endings[guard.NotStored]+s.Endings[guard.Late] > 0 {
			t.Errorf("endings: %v, want none of NotStored and Late", s.Endings)
		}
	}},
	{4, "settle without a reply, budget spent", "the caller gets its result; later callers get an unknown outcome", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(4*time.Second))
		result, err := f.guard.Do(t.Context(), order, func(ctx context.Context) (string, error) {
			f.cutNetwork() // until the lease expires
			return f.work(ctx)
		})
		if err != nil || result != "result 1" {
			t.Fatalf("got %q, %v; want the result, since the work was done", result, err)
		}
		if n := f.guard.Stats().Endings[guard.NotStored]; n != 1 {
			t.Errorf("%d results counted as not stored, want 1", n)
		}
		f.wantState(engine.Running)
		f.wantUnknown(5 * time.Second)
		f.restoreNetwork()
	}},
	{6, "engine down for more than the lease", "the work is cancelled when its lease expires; a late result is refused; the outcome is unknown", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(1500*time.Millisecond))
		ctx, claim := f.begin(f.guard)
		start := time.Now()
		f.cutNetwork()
		f.wantLost(ctx, 1600*time.Millisecond, interlock.ErrExpired)
		if d := time.Since(start); d < 900*time.Millisecond {
			t.Errorf("lost %v after the cut, want at least 900ms: most of the lease was left when the network was cut", d)
		}
		f.restoreNetwork()
		f.wantErr(claim.Complete("too late"), interlock.ErrLost)
		f.wantUnknown(3 * time.Second)
	}},
	{6, "engine down for more than the lease (rerun)", "the work runs again with a higher fence; the first result is refused", func(t *testing.T) {
		policy := strictPolicy(1500 * time.Millisecond)
		policy.OnUnknown = guard.Rerun
		f := newGuardFixture(t, policy)
		ctx, claim := f.begin(f.guard)
		f.cutNetwork()
		f.wantLost(ctx, 1600*time.Millisecond, interlock.ErrExpired)
		var fence uint64
		f.eventually(3*time.Second, "the work runs again", func() bool {
			_, err := f.other.Do(t.Context(), order, func(ctx context.Context) (string, error) {
				fence, _ = guard.Fence(ctx)
				return f.work(ctx)
			})
			return err == nil
		})
		f.restoreNetwork()
		f.wantErr(claim.Complete("too late"), interlock.ErrLost)
		if fence <= claim.Fence() {
			t.Errorf("the second run has fence %d, want one above %d", fence, claim.Fence())
		}
		f.wantRuns(2)
		f.wantReplay(order, "result 2")
	}},
	{7, "cut one way: the settlement arrives, its reply does not", "the caller and all later callers get the result", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(4*time.Second))
		f.warmUp(f.guard)
		result, err := f.guard.Do(t.Context(), order, func(ctx context.Context) (string, error) {
			f.proxy.BlackHole(faultnet.Replies, true)
			return f.work(ctx)
		})
		if err != nil {
			t.Fatal(err)
		}
		f.wantReplay(order, result)
	}},
	{8, "replies take almost the whole lease", "the caller gets ErrDown within its budget; the grant is released", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(300*time.Millisecond))
		f.warmUp(f.guard)
		f.proxy.Delay(faultnet.Replies, 290*time.Millisecond)
		f.wantRefused(guard.ErrDown)
		f.proxy.Delay(faultnet.Replies, 0)
		f.waitForCleanUp()
		f.wantState(engine.Absent)
	}},
	{9, "a claim that arrives after its clean-up", "the server refuses it; no record is left; the work does not run", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second))
		f.warmUp(f.guard)
		release := f.proxy.Hold(faultnet.Requests)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := f.guard.Do(ctx, order, f.work)
		f.wantErr(err, context.DeadlineExceeded)
		time.Sleep(2500 * time.Millisecond) // longer than the engine's timeout
		release()
		f.waitForCleanUp()
		f.wantNoRecord(time.Second)
		f.wantRuns(0)
		f.do(f.guard, order)
	}},
	{21, "subscribers cut off, a duplicate waits", "the duplicate gets the result at its next poll", func(t *testing.T) {
		policy := strictPolicy(30 * time.Second)
		policy.OnDuplicate, policy.Wait = guard.Wait, 10*time.Second
		f := newGuardFixture(t, policy)
		for range 3 {
			_, claim := f.begin(f.other)
			got := make(chan error, 1)
			go func() {
				_, err := f.guard.Do(t.Context(), order, func(context.Context) (string, error) { return "", errors.New("a duplicate ran") })
				got <- err
			}()
			f.eventually(5*time.Second, "a client is subscribed", func() bool { return f.server.Must("PUBSUB", "CHANNELS", "interlock:guard:settled:*") != "" })
			f.server.Must("CLIENT", "KILL", "TYPE", "pubsub")
			start := time.Now()
			f.complete(claim)
			if err := <-got; err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d > 1500*time.Millisecond {
				t.Errorf("the duplicate got the result after %v, want at most 1.5s", d)
			}
			f.server.Must("DEL", "interlock:guard:result:{"+f.lookup(f.other, order).Key+"}")
			time.Sleep(guard.DefaultLocalCache) // until both local caches have expired
		}
	}},
}
