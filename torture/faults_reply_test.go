package torture

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// Rows with lost or delayed messages.
var replyRows = []row{
	{1, "reply of acquire lost", "retried and recognised; same holder", func(t *testing.T) {
		p := newFixture(t)
		var got interlock.Acquired
		trace := interlock.WithTrace(&interlock.Trace{Acquired: func(e interlock.Acquired) { got = e }})
		for round := 0; got.Tries < 2; round++ { // the cut may hit a heartbeat instead
			if round == 20 {
				t.Fatal("no acquire lost its reply in 20 rounds")
			}
			p.proxy.CutAfterRequest()
			_, hold := p.lock(p.client.Mutex(key, trace))
			if n := p.server.Must("HGET", key, hold.Holder()); n != "1" {
				t.Errorf("the server counts %s holds, want 1", n)
			}
			p.unlock(hold)
			p.wantFree(time.Second)
		}
	}},
	{2, "acquire timed out, budget spent", "outcome unknown; cleaned up", func(t *testing.T) {
		p := newFixture(t)
		p.lockAndUnlock()
		p.proxy.BlackHole(faultnet.Replies, true)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, _, err := p.client.Mutex(key).Lock(ctx)
		p.wantErr(err, interlock.ErrOutcomeUnknown)
		p.wantErr(err, context.DeadlineExceeded)
		p.proxy.BlackHole(faultnet.Replies, false)
		p.proxy.Reset()
		p.eventually(10*time.Second, "the clean-up is done", func() bool { return p.client.Stats().CleanedUp == 1 })
		p.wantFree(0)
	}},
	{3, "reply of release lost", "retried; a free lock counts as released", func(t *testing.T) {
		p := newFixture(t)
		for range 5 {
			_, hold := p.lock(p.client.Mutex(key))
			p.proxy.CutAfterRequest()
			p.unlock(hold)
			p.wantFree(time.Second)
		}
		if n := p.client.Stats().Released; n != 5 {
			t.Errorf("%d releases counted, want 5", n)
		}
	}},
	{5, "engine down for less than the lease", "held; renewal keeps trying", func(t *testing.T) {
		p := newFixture(t)
		ctx, hold := p.lock(p.client.Mutex(key, interlock.Watchdog(6*time.Second)))
		p.proxy.Refuse(true)
		p.proxy.Reset()
		p.wantHeld(ctx, 3*time.Second)
		p.proxy.Refuse(false)
		p.wantHeld(ctx, 6*time.Second)
		p.unlock(hold)
		p.wantFree(time.Second)
		if p.client.Stats().RenewFailed == 0 {
			t.Error("no renewal failed: the engine was never down")
		}
	}},
	{6, "engine down for more than the lease", "lost when the lease expires, not later", func(t *testing.T) {
		p := newFixture(t)
		ctx, hold := p.lock(p.client.Mutex(key, interlock.Watchdog(1500*time.Millisecond)))
		start := time.Now()
		p.proxy.Refuse(true)
		p.proxy.Reset()
		p.wantLost(ctx, 1600*time.Millisecond, interlock.ErrExpired)
		if d := time.Since(start); d < 900*time.Millisecond {
			t.Errorf("lost after %v with most of the lease left", d)
		}
		p.wantErr(hold.Unlock(), interlock.ErrLost)
	}},
	{7, "cut one way: requests arrive, replies do not", "lost when the lease expires, not later", func(t *testing.T) {
		p := newFixture(t)
		ctx, hold := p.lock(p.client.Mutex(key, interlock.Watchdog(1500*time.Millisecond)))
		p.proxy.BlackHole(faultnet.Replies, true)
		p.wantLost(ctx, 1600*time.Millisecond, interlock.ErrExpired)
		p.wantErr(hold.Unlock(), interlock.ErrLost)
	}},
	{8, "engine slower than the lease", "the grant is released", func(t *testing.T) {
		p := newFixture(t)
		p.lockAndUnlock()
		released := p.commandCount("publish")
		p.proxy.Delay(faultnet.Replies, 290*time.Millisecond)
		_, _, err := p.client.Mutex(key, interlock.Lease(300*time.Millisecond), interlock.Wait(2*time.Second)).Lock(t.Context())
		if !errors.Is(err, interlock.ErrUnavailable) && !errors.Is(err, interlock.ErrOutcomeUnknown) {
			t.Errorf("got error %v, want ErrUnavailable or ErrOutcomeUnknown", err) // the wait may end during a call
		}
		if p.commandCount("publish") == released {
			t.Error("no grant was released")
		}
		p.proxy.Delay(faultnet.Replies, 0)
		p.wantFree(5 * time.Second)
	}},
	{9, "an acquire that arrives after its clean-up", "refused; no key is left", func(t *testing.T) {
		p := newFixture(t)
		p.lockAndUnlock()
		release := p.proxy.Hold(faultnet.Requests)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, _, err := p.client.Mutex(key).Lock(ctx)
		p.wantErr(err, interlock.ErrOutcomeUnknown)
		// Longer than the engine's timeout, so that the call is late by then.
		p.wantHeld(context.Background(), 2500*time.Millisecond)
		release()
		p.eventually(20*time.Second, "the clean-up is done", func() bool { return p.client.Stats().CleanedUp == 1 })
		p.wantFree(time.Second)
		p.lockAndUnlock()
	}},
}

// lockAndUnlock uses the lock once. Afterwards the engine has loaded its scripts and knows
// the server's clock.
func (p *fixture) lockAndUnlock() {
	p.t.Helper()
	_, hold := p.lock(p.client.Mutex(key))
	p.unlock(hold)
	p.wantFree(time.Second)
}
