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

// Rows in which what is on the wire between a guard and its engine goes astray.
var guardReplyRows = []row{
	{1, "reply of claim lost", "asked again, recognised, run once", func(t *testing.T) {
		p := newPost(t, strict(30*time.Second))
		p.know(p.guard)
		for hits, round := 0, 0; hits < 3; round++ { // the cut may hit a heartbeat instead
			if round == 30 {
				t.Fatal("no three claims were cut off in 30 rounds")
			}
			key, asked := guard.Of("ada", fmt.Sprint("cut-", round)), p.guard.Stats().Asked
			p.net.CutAfterRequest()
			result := p.do(p.guard, key)
			if p.guard.Stats().Asked > asked+1 {
				hits++
			}
			p.wantRuns(int64(round + 1))
			p.wantReplay(key, result)
		}
	}},
	{2, "claim without an answer, budget spent", "down, nothing run; cleaned up", func(t *testing.T) {
		p := newPost(t, strict(30*time.Second))
		p.know(p.guard)
		p.net.BlackHole(faultnet.Replies, true)
		start := time.Now()
		p.wantRefused(guard.ErrDown)
		if d := time.Since(start); d > 8*time.Second {
			t.Errorf("told after %v", d)
		}
		p.net.BlackHole(faultnet.Replies, false)
		p.net.Reset()
		p.cleanedUp()
		p.wantState(engine.Absent)
		p.do(p.other, order)
	}},
	{2, "claim given up by its caller", "its context's error, nothing run; cleaned up", func(t *testing.T) {
		p := newPost(t, strict(30*time.Second))
		p.know(p.guard)
		p.net.BlackHole(faultnet.Replies, true)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := p.guard.Do(ctx, order, p.work)
		p.wantErr(err, context.DeadlineExceeded)
		p.wantRuns(0)
		p.wantState(engine.Running) // for all that the server knows
		p.net.BlackHole(faultnet.Replies, false)
		p.net.Reset()
		p.cleanedUp()
		p.wantState(engine.Absent)
	}},
	{4, "reply of settle lost", "told again, recognised, stored once", func(t *testing.T) {
		p := newPost(t, strict(30*time.Second))
		p.know(p.guard)
		for hits, round := 0, 0; hits < 3; round++ {
			if round == 30 {
				t.Fatal("no three settlements were cut off in 30 rounds")
			}
			key := guard.Of("ada", fmt.Sprint("cut-", round))
			_, claim, err := p.guard.Begin(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			p.runs.Add(1)
			before := p.calls("evalsha")
			p.net.CutAfterRequest()
			p.complete(claim)
			if p.calls("evalsha") > before+1 {
				hits++
			}
			p.wantReplay(key, fmt.Sprint("result ", p.runs.Load()))
		}
		if s := p.guard.Stats(); s.Endings[guard.NotStored]+s.Endings[guard.Late] > 0 {
			t.Errorf("endings: %v", s.Endings)
		}
	}},
	{4, "settle without an answer, budget spent", "the caller has its result; unknown later", func(t *testing.T) {
		p := newPost(t, strict(4*time.Second))
		result, err := p.guard.Do(t.Context(), order, func(ctx context.Context) (string, error) {
			p.cut() // until the lease is over
			return p.work(ctx)
		})
		if err != nil || result != "result 1" {
			t.Fatalf("got %q, %v; the work was done, and that is what counts", result, err)
		}
		if n := p.guard.Stats().Endings[guard.NotStored]; n != 1 {
			t.Errorf("%d counted as not stored, want 1", n)
		}
		p.wantState(engine.Running)
		p.wantUnknown(5 * time.Second)
		p.mend()
	}},
	{6, "engine down for more than the lease", "cancelled in time, refused late; unknown", func(t *testing.T) {
		p := newPost(t, strict(1500*time.Millisecond))
		ctx, claim := p.begin(p.guard)
		start := time.Now()
		p.cut()
		p.wantLost(ctx, 1600*time.Millisecond, interlock.ErrExpired)
		if d := time.Since(start); d < 900*time.Millisecond {
			t.Errorf("given up after %v, with most of the lease left", d)
		}
		p.mend()
		p.wantErr(claim.Complete("too late"), interlock.ErrLost)
		p.wantUnknown(3 * time.Second)
	}},
	{6, "the same, and the policy is rerun", "done again, with a higher fence; the first refused", func(t *testing.T) {
		policy := strict(1500 * time.Millisecond)
		policy.OnUnknown = guard.Rerun
		p := newPost(t, policy)
		ctx, claim := p.begin(p.guard)
		p.cut()
		p.wantLost(ctx, 1600*time.Millisecond, interlock.ErrExpired)
		var fence uint64
		p.soon(3*time.Second, "the work is done again", func() bool {
			_, err := p.other.Do(t.Context(), order, func(ctx context.Context) (string, error) {
				fence, _ = guard.Fence(ctx)
				return p.work(ctx)
			})
			return err == nil
		})
		p.mend()
		p.wantErr(claim.Complete("too late"), interlock.ErrLost)
		if fence <= claim.Fence() {
			t.Errorf("the second has fence %d, the first had %d", fence, claim.Fence())
		}
		p.wantRuns(2)
		p.wantReplay(order, "result 2")
	}},
	{7, "cut one way: the settlement arrives, its reply does not", "the caller and everybody else have the result", func(t *testing.T) {
		p := newPost(t, strict(4*time.Second))
		p.know(p.guard)
		result, err := p.guard.Do(t.Context(), order, func(ctx context.Context) (string, error) {
			p.net.BlackHole(faultnet.Replies, true)
			return p.work(ctx)
		})
		if err != nil {
			t.Fatal(err)
		}
		p.wantReplay(order, result)
	}},
	{8, "engine slower than the lease", "down within the budget; the grant is given back", func(t *testing.T) {
		p := newPost(t, strict(300*time.Millisecond))
		p.know(p.guard)
		p.net.Delay(faultnet.Replies, 290*time.Millisecond)
		p.wantRefused(guard.ErrDown)
		p.net.Delay(faultnet.Replies, 0)
		p.cleanedUp()
		p.wantState(engine.Absent)
	}},
	{9, "a claim that arrives after its clean-up", "refused, nothing is left, nothing run", func(t *testing.T) {
		p := newPost(t, strict(30*time.Second))
		p.know(p.guard)
		release := p.net.Hold(faultnet.Requests)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := p.guard.Do(ctx, order, p.work)
		p.wantErr(err, context.DeadlineExceeded)
		p.wantHeld(context.Background(), 2500*time.Millisecond) // longer than the engine's timeout
		release()
		p.cleanedUp()
		p.wantNoRecord(time.Second)
		p.wantRuns(0)
		p.do(p.guard, order)
	}},
	{21, "subscribers cut off, a duplicate waits", "has the result all the same, within a poll", func(t *testing.T) {
		policy := strict(30 * time.Second)
		policy.OnDuplicate, policy.Wait = guard.Wait, 10*time.Second
		p := newPost(t, policy)
		for range 3 {
			_, claim := p.begin(p.other)
			got := make(chan error, 1)
			go func() {
				_, err := p.guard.Do(t.Context(), order, func(context.Context) (string, error) { return "", errors.New("it was let in") })
				got <- err
			}()
			p.soon(5*time.Second, "a client listens", func() bool { return p.server.Must("PUBSUB", "CHANNELS", "interlock:guard:settled:*") != "" })
			p.server.Must("CLIENT", "KILL", "TYPE", "pubsub")
			start := time.Now()
			p.complete(claim)
			if err := <-got; err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d > 1500*time.Millisecond {
				t.Errorf("told after %v", d)
			}
			p.server.Must("DEL", "interlock:guard:result:{"+p.look(p.other, order).Key+"}")
			p.wantHeld(context.Background(), guard.DefaultLocalCache) // until both have forgotten it
		}
	}},
}
