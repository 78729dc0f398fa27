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
	{1, "reply of acquire lost", "the request is retried and recognised; the holder is counted once", func(t *testing.T) {
		f := newFixture(t)
		var got interlock.Acquired
		trace := interlock.WithTrace(&interlock.Trace{Acquired: func(e interlock.Acquired) { got = e }})
		for round := 0; got.Tries < 2; round++ { // the cut may hit a heartbeat instead
			if round == 20 {
				t.Fatal("no acquire lost its reply in 20 rounds")
			}
			f.proxy.CutAfterRequest()
			_, hold := f.lock(f.client.Mutex(key, trace))
			if n := f.server.Must("HGET", key, hold.Holder()); n != "1" {
				t.Errorf("the server counts %s holds, want 1", n)
			}
			f.unlock(hold)
			f.wantFree(time.Second)
		}
	}},
	{2, "acquire timed out, budget spent", "the caller gets ErrOutcomeUnknown; its attempt is cleaned up", func(t *testing.T) {
		f := newFixture(t)
		f.lockAndUnlock()
		f.proxy.BlackHole(faultnet.Replies, true)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, _, err := f.client.Mutex(key).Lock(ctx)
		f.wantErr(err, interlock.ErrOutcomeUnknown)
		f.wantErr(err, context.DeadlineExceeded)
		f.proxy.BlackHole(faultnet.Replies, false)
		f.proxy.Reset()
		f.eventually(10*time.Second, "the clean-up is done", func() bool { return f.client.Stats().CleanedUp == 1 })
		f.wantFree(0)
	}},
	{3, "reply of release lost", "the release is retried; a lock that is already free counts as released", func(t *testing.T) {
		f := newFixture(t)
		for range 5 {
			_, hold := f.lock(f.client.Mutex(key))
			f.proxy.CutAfterRequest()
			f.unlock(hold)
			f.wantFree(time.Second)
		}
		if n := f.client.Stats().Released; n != 5 {
			t.Errorf("%d releases counted, want 5", n)
		}
	}},
	{5, "engine down for less than the lease", "the lock stays held; its renewal is retried", func(t *testing.T) {
		f := newFixture(t)
		ctx, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(6*time.Second)))
		f.proxy.Refuse(true)
		f.proxy.Reset()
		f.wantHeld(ctx, 3*time.Second)
		f.proxy.Refuse(false)
		f.wantHeld(ctx, 6*time.Second)
		f.unlock(hold)
		f.wantFree(time.Second)
		if f.client.Stats().RenewFailed == 0 {
			t.Error("no renewal failed: the engine was never down")
		}
	}},
	{6, "engine down for more than the lease", "the hold is lost when its lease expires, not later", func(t *testing.T) {
		f := newFixture(t)
		ctx, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(1500*time.Millisecond)))
		start := time.Now()
		f.proxy.Refuse(true)
		f.proxy.Reset()
		f.wantLost(ctx, 1600*time.Millisecond, interlock.ErrExpired)
		if d := time.Since(start); d < 900*time.Millisecond {
			t.Errorf("lost %v after the cut, want at least 900ms: most of the lease was left when the network was cut", d)
		}
		f.wantErr(hold.Unlock(), interlock.ErrLost)
	}},
	{7, "cut one way: requests arrive, replies do not", "the hold is lost when its lease expires, not later", func(t *testing.T) {
		f := newFixture(t)
		ctx, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(1500*time.Millisecond)))
		f.proxy.BlackHole(faultnet.Replies, true)
		f.wantLost(ctx, 1600*time.Millisecond, interlock.ErrExpired)
		f.wantErr(hold.Unlock(), interlock.ErrLost)
	}},
	{8, "engine slower than the lease", "the grant is released", func(t *testing.T) {
		f := newFixture(t)
		f.lockAndUnlock()
		released := f.commandCount("publish")
		f.proxy.Delay(faultnet.Replies, 290*time.Millisecond)
		_, _, err := f.client.Mutex(key, interlock.Lease(300*time.Millisecond), interlock.Wait(2*time.Second)).Lock(t.Context())
		if !errors.Is(err, interlock.ErrUnavailable) && !errors.Is(err, interlock.ErrOutcomeUnknown) {
			t.Errorf("Lock: got error %v, want ErrUnavailable or ErrOutcomeUnknown", err) // the wait may end during a call
		}
		if f.commandCount("publish") == released {
			t.Error("no grant was released")
		}
		f.proxy.Delay(faultnet.Replies, 0)
		f.wantFree(5 * time.Second)
	}},
	{9, "an acquire that arrives after its clean-up", "the server refuses it; no key is left", func(t *testing.T) {
		f := newFixture(t)
		f.lockAndUnlock()
		release := f.proxy.Hold(faultnet.Requests)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, _, err := f.client.Mutex(key).Lock(ctx)
		f.wantErr(err, interlock.ErrOutcomeUnknown)
		// Longer than the engine's timeout, so that the server refuses the call as late.
		time.Sleep(2500 * time.Millisecond)
		release()
		f.eventually(20*time.Second, "the clean-up is done", func() bool { return f.client.Stats().CleanedUp == 1 })
		f.wantFree(time.Second)
		f.lockAndUnlock()
	}},
}

// lockAndUnlock uses the lock once. Afterwards the engine has loaded its scripts and knows
// the server's clock.
func (f *fixture) lockAndUnlock() {
	f.t.Helper()
	_, hold := f.lock(f.client.Mutex(key))
	f.unlock(hold)
	f.wantFree(time.Second)
}
