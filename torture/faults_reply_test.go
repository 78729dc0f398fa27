package torture

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// Rows in which what is on the wire goes astray.
var replyRows = []row{
	{1, "reply of acquire lost", "asked again, recognised, same holder", func(t *testing.T) {
		p := newPlace(t)
		var got interlock.Acquired
		trace := interlock.WithTrace(&interlock.Trace{Acquired: func(e interlock.Acquired) { got = e }})
		for round := 0; got.Tries < 2; round++ { // the cut may hit a heartbeat instead
			if round == 20 {
				t.Fatal("no acquire was cut off in 20 rounds")
			}
			p.net.CutAfterRequest()
			_, hold := p.lock(p.client.Mutex(key, trace))
			if n := p.server.Must("HGET", key, hold.Holder()); n != "1" {
				t.Errorf("the server counts %s entries, want 1", n)
			}
			p.unlock(hold)
			p.wantGone(time.Second)
		}
	}},
	{2, "acquire timed out, budget spent", "outcome unknown, cleaned up", func(t *testing.T) {
		p := newPlace(t)
		p.lockAndUnlock()
		p.net.BlackHole(faultnet.Replies, true)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, _, err := p.client.Mutex(key).Lock(ctx)
		p.wantErr(err, interlock.ErrOutcomeUnknown)
		p.wantErr(err, context.DeadlineExceeded)
		p.net.BlackHole(faultnet.Replies, false)
		p.net.Reset()
		p.soon(10*time.Second, "the clean-up is done", func() bool { return p.client.Stats().CleanedUp == 1 })
		p.wantGone(0)
	}},
	{3, "reply of release lost", "asked again, already free counts as released", func(t *testing.T) {
		p := newPlace(t)
		for range 5 {
			_, hold := p.lock(p.client.Mutex(key))
			p.net.CutAfterRequest()
			p.unlock(hold)
			p.wantGone(time.Second)
		}
		if n := p.client.Stats().Released; n != 5 {
			t.Errorf("%d releases counted, want 5", n)
		}
	}},
	{5, "engine down for less than the lease", "held, renewal keeps trying", func(t *testing.T) {
		p := newPlace(t)
		ctx, hold := p.lock(p.client.Mutex(key, interlock.Watchdog(6*time.Second)))
		p.net.Refuse(true)
		p.net.Reset()
		p.wantHeld(ctx, 3*time.Second)
		p.net.Refuse(false)
		p.wantHeld(ctx, 6*time.Second)
		p.unlock(hold)
		p.wantGone(time.Second)
		if p.client.Stats().RenewFailed == 0 {
			t.Error("no renewal failed: the engine was never down")
		}
	}},
	{6, "engine down for more than the lease", "lost when the lease is over, not later", func(t *testing.T) {
		p := newPlace(t)
		ctx, hold := p.lock(p.client.Mutex(key, interlock.Watchdog(1500*time.Millisecond)))
		start := time.Now()
		p.net.Refuse(true)
		p.net.Reset()
		p.wantLost(ctx, 1600*time.Millisecond, interlock.ErrExpired)
		if d := time.Since(start); d < 900*time.Millisecond {
			t.Errorf("given up after %v, with most of the lease left", d)
		}
		p.wantErr(hold.Unlock(), interlock.ErrLost)
	}},
	{7, "cut one way: requests arrive, replies do not", "lost when the lease is over, not later", func(t *testing.T) {
		p := newPlace(t)
		ctx, hold := p.lock(p.client.Mutex(key, interlock.Watchdog(1500*time.Millisecond)))
		p.net.BlackHole(faultnet.Replies, true)
		p.wantLost(ctx, 1600*time.Millisecond, interlock.ErrExpired)
		p.wantErr(hold.Unlock(), interlock.ErrLost)
	}},
	{8, "engine slower than the lease", "the grant is given back", func(t *testing.T) {
		p := newPlace(t)
		p.lockAndUnlock()
		released := p.calls("publish")
		p.net.Delay(faultnet.Replies, 290*time.Millisecond)
		_, _, err := p.client.Mutex(key, interlock.Lease(300*time.Millisecond), interlock.Wait(2*time.Second)).Lock(t.Context())
		if !errors.Is(err, interlock.ErrUnavailable) && !errors.Is(err, interlock.ErrOutcomeUnknown) {
			t.Errorf("got error %v, want one that tells of the engine", err) // the wait may end while it is asked
		}
		if p.calls("publish") == released {
			t.Error("no grant was given back")
		}
		p.net.Delay(faultnet.Replies, 0)
		p.wantGone(5 * time.Second)
	}},
	{9, "an acquire that arrives after its clean-up", "refused, nothing is left", func(t *testing.T) {
		p := newPlace(t)
		p.lockAndUnlock()
		release := p.net.Hold(faultnet.Requests)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, _, err := p.client.Mutex(key).Lock(ctx)
		p.wantErr(err, interlock.ErrOutcomeUnknown)
		// Longer than the engine's timeout, so that the call is late by then.
		p.wantHeld(context.Background(), 2500*time.Millisecond)
		release()
		p.soon(20*time.Second, "the clean-up is done", func() bool { return p.client.Stats().CleanedUp == 1 })
		p.wantGone(time.Second)
		p.lockAndUnlock()
	}},
}

// lockAndUnlock makes the engine know the server: its scripts, and its clock.
func (p *place) lockAndUnlock() {
	p.t.Helper()
	_, hold := p.lock(p.client.Mutex(key))
	p.unlock(hold)
	p.wantGone(time.Second)
}
