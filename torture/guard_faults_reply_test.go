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

// Rows with lost or delayed messages between a guard and its engine.
var guardReplyRows = []row{
	{1, "reply of claim lost", "retried and recognised; runs once", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second))
		p.warmUp(p.guard)
		for hits, round := 0, 0; hits < 3; round++ { // the cut may hit a heartbeat instead
			if round == 30 {
				t.Fatal("fewer than 3 claims lost their reply in 30 rounds")
			}
			key, asked := guard.Of("ada", fmt.Sprint("cut-", round)), p.guard.Stats().Asked
			p.proxy.CutAfterRequest()
			result := p.do(p.guard, key)
			if p.guard.Stats().Asked > asked+1 {
				hits++
			}
			p.wantRuns(int64(round + 1))
			p.wantReplay(key, result)
		}
	}},
	{2, "claim without a reply, budget spent", "down; the work does not run; cleaned up", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second))
		p.warmUp(p.guard)
		p.proxy.BlackHole(faultnet.Replies, true)
		start := time.Now()
		p.wantRefused(guard.ErrDown)
		if d := time.Since(start); d > 8*time.Second {
			t.Errorf("returned after %v", d)
		}
		p.proxy.BlackHole(faultnet.Replies, false)
		p.proxy.Reset()
		p.waitForCleanUp()
		p.wantState(engine.Absent)
		p.do(p.other, order)
	}},
	{2, "claim cancelled by its caller", "the context's error; the work does not run; cleaned up", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second))
		p.warmUp(p.guard)
		p.proxy.BlackHole(faultnet.Replies, true)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := p.guard.Do(ctx, order, p.work)
		p.wantErr(err, context.DeadlineExceeded)
		p.wantRuns(0)
		p.wantState(engine.Running) // the server granted the claim
		p.proxy.BlackHole(faultnet.Replies, false)
		p.proxy.Reset()
		p.waitForCleanUp()
		p.wantState(engine.Absent)
	}},
	{4, "reply of settle lost", "retried and recognised; stored once", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second))
		p.warmUp(p.guard)
		for hits, round := 0, 0; hits < 3; round++ {
			if round == 30 {
				t.Fatal("fewer than 3 settlements lost their reply in 30 rounds")
			}
			key := guard.Of("ada", fmt.Sprint("cut-", round))
			_, claim, err := p.guard.Begin(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			p.runs.Add(1)
			before := p.commandCount("evalsha")
			p.proxy.CutAfterRequest()
			p.complete(claim)
			if p.commandCount("evalsha") > before+1 {
				hits++
			}
			p.wantReplay(key, fmt.Sprint("result ", p.runs.Load()))
		}
		if s := p.guard.Stats(); s.Endings[guard.NotStored]+s.Endings[guard.Late] > 0 {
			t.Errorf("endings: %v, want none of NotStored and Late", s.Endings)
		}
	}},
	{4, "settle without a reply, budget spent", "the caller gets its result; unknown later", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(4*time.Second))
		result, err := p.guard.Do(t.Context(), order, func(ctx context.Context) (string, error) {
			p.cutNetwork() // until the lease expires
			return p.work(ctx)
		})
		if err != nil || result != "result 1" {
			t.Fatalf("got %q, %v; want the result, since the work was done", result, err)
		}
		if n := p.guard.Stats().Endings[guard.NotStored]; n != 1 {
			t.Errorf("%d results counted as not stored, want 1", n)
		}
		p.wantState(engine.Running)
		p.wantUnknown(5 * time.Second)
		p.restoreNetwork()
	}},
	{6, "engine down for more than the lease", "cancelled in time; a late result is refused; unknown", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(1500*time.Millisecond))
		ctx, claim := p.begin(p.guard)
		start := time.Now()
		p.cutNetwork()
		p.wantLost(ctx, 1600*time.Millisecond, interlock.ErrExpired)
		if d := time.Since(start); d < 900*time.Millisecond {
			t.Errorf("lost after %v with most of the lease left", d)
		}
		p.restoreNetwork()
		p.wantErr(claim.Complete("too late"), interlock.ErrLost)
		p.wantUnknown(3 * time.Second)
	}},
	{6, "engine down for more than the lease (rerun)", "run again with a higher fence; the first is refused", func(t *testing.T) {
		policy := strictPolicy(1500 * time.Millisecond)
		policy.OnUnknown = guard.Rerun
		p := newGuardFixture(t, policy)
		ctx, claim := p.begin(p.guard)
		p.cutNetwork()
		p.wantLost(ctx, 1600*time.Millisecond, interlock.ErrExpired)
		var fence uint64
		p.eventually(3*time.Second, "the work runs again", func() bool {
			_, err := p.other.Do(t.Context(), order, func(ctx context.Context) (string, error) {
				fence, _ = guard.Fence(ctx)
				return p.work(ctx)
			})
			return err == nil
		})
		p.restoreNetwork()
		p.wantErr(claim.Complete("too late"), interlock.ErrLost)
		if fence <= claim.Fence() {
			t.Errorf("the second run has fence %d, the first had %d", fence, claim.Fence())
		}
		p.wantRuns(2)
		p.wantReplay(order, "result 2")
	}},
	{7, "cut one way: the settlement arrives, its reply does not", "the caller and all later callers get the result", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(4*time.Second))
		p.warmUp(p.guard)
		result, err := p.guard.Do(t.Context(), order, func(ctx context.Context) (string, error) {
			p.proxy.BlackHole(faultnet.Replies, true)
			return p.work(ctx)
		})
		if err != nil {
			t.Fatal(err)
		}
		p.wantReplay(order, result)
	}},
	{8, "engine slower than the lease", "down within the budget; the grant is released", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(300*time.Millisecond))
		p.warmUp(p.guard)
		p.proxy.Delay(faultnet.Replies, 290*time.Millisecond)
		p.wantRefused(guard.ErrDown)
		p.proxy.Delay(faultnet.Replies, 0)
		p.waitForCleanUp()
		p.wantState(engine.Absent)
	}},
	{9, "a claim that arrives after its clean-up", "refused; no record is left; the work does not run", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second))
		p.warmUp(p.guard)
		release := p.proxy.Hold(faultnet.Requests)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := p.guard.Do(ctx, order, p.work)
		p.wantErr(err, context.DeadlineExceeded)
		p.wantHeld(context.Background(), 2500*time.Millisecond) // longer than the engine's timeout
		release()
		p.waitForCleanUp()
		p.wantNoRecord(time.Second)
		p.wantRuns(0)
		p.do(p.guard, order)
	}},
	{21, "subscribers cut off, a duplicate waits", "gets the result at the next poll", func(t *testing.T) {
		policy := strictPolicy(30 * time.Second)
		policy.OnDuplicate, policy.Wait = guard.Wait, 10*time.Second
		p := newGuardFixture(t, policy)
		for range 3 {
			_, claim := p.begin(p.other)
			got := make(chan error, 1)
			go func() {
				_, err := p.guard.Do(t.Context(), order, func(context.Context) (string, error) { return "", errors.New("a duplicate ran") })
				got <- err
			}()
			p.eventually(5*time.Second, "a client is subscribed", func() bool { return p.server.Must("PUBSUB", "CHANNELS", "interlock:guard:settled:*") != "" })
			p.server.Must("CLIENT", "KILL", "TYPE", "pubsub")
			start := time.Now()
			p.complete(claim)
			if err := <-got; err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d > 1500*time.Millisecond {
				t.Errorf("returned after %v", d)
			}
			p.server.Must("DEL", "interlock:guard:result:{"+p.lookup(p.other, order).Key+"}")
			p.wantHeld(context.Background(), guard.DefaultLocalCache) // until both local caches have expired
		}
	}},
}
