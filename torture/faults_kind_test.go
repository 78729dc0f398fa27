package torture

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// Rows about shared locks and locks of several keys.
var kindRows = []row{
	{1, "reply for one of several keys lost (multi)", "all keys or none are locked; no key is left", func(t *testing.T) {
		f := newFixture(t)
		keys := []string{"fault:1", "fault:2", "fault:3"}
		for range 5 {
			f.proxy.CutAfterRequest()
			_, hold := f.lock(f.client.Multi(keys))
			if n := f.server.Must("EXISTS", keys[0], keys[1], keys[2]); n != "3" {
				t.Errorf("%s of 3 keys are held, want all", n)
			}
			f.unlock(hold)
			f.wantNoKeys(time.Second)
		}
	}},
	{2, "replies for several keys too late (multi)", "the call fails and is cleaned up; no key is left", func(t *testing.T) {
		f := newFixture(t)
		f.lockAndUnlock()
		f.proxy.BlackHole(faultnet.Replies, true)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, _, err := f.client.Multi([]string{"fault:1", "fault:2", "fault:3"}).Lock(ctx)
		f.wantErr(err, context.DeadlineExceeded)
		f.proxy.BlackHole(faultnet.Replies, false)
		f.proxy.Reset()
		// One of the three requests may not have been sent, because it waited for the next batch.
		f.eventually(10*time.Second, "the clean-up is done", func() bool { return f.client.Stats().CleanedUp >= 2 })
		f.wantNoKeys(time.Second)
	}},
	{21, "subscribers cut off, waiting readers", "the readers get the lock at their next poll", func(t *testing.T) {
		f := newFixture(t)
		for range 3 {
			_, hold := f.lock(f.other.RWMutex(key).Write())
			readers := f.startWaiters(5, func(int) interlock.Locker { return f.client.RWMutex(key).Read() })
			f.cutSubscribers()
			f.unlock(hold)
			start := time.Now()
			var reading []*interlock.Hold // all at once
			for range 5 {
				reading = append(reading, f.wantGrant(readers, 1500*time.Millisecond))
			}
			if d := time.Since(start); d > 1500*time.Millisecond {
				t.Errorf("the last reader got the lock after %v, want at most 1.5s", d)
			}
			for _, hold := range reading {
				f.unlock(hold)
			}
		}
	}},
	{25, "queue of a read/write lock deleted", "waiters queue again, and all are served", func(t *testing.T) {
		f := newFixture(t)
		_, hold := f.lock(f.other.RWMutex(key).Write())
		waiting := f.startWaiters(6, func(i int) interlock.Locker {
			if i%3 == 1 {
				return f.client.RWMutex(key).Write()
			}
			return f.client.RWMutex(key).Read()
		})
		f.server.Must("DEL", "interlock_readers:{"+key+"}", "interlock_writers:{"+key+"}", "interlock_queue_expiry:{"+key+"}")
		f.waitForQueue(6)
		f.unlock(hold)
		for range 6 {
			f.unlock(f.wantGrant(waiting, 5*time.Second))
		}
		f.wantNoKeys(time.Second)
	}},
	{44, "force-released by an operator", "the holder loses the lock within 1 s, with ErrRevoked; the next waiter gets it", func(t *testing.T) {
		for _, kind := range []interlock.Kind{interlock.KindExclusive, interlock.KindFair, interlock.KindRead, interlock.KindWrite, interlock.KindPermit} {
			t.Run(kind.String(), func(t *testing.T) { forceReleased(t, kind) })
		}
	}},
}

// forceReleased releases a lock by force while another client waits for it.
func forceReleased(t *testing.T, kind interlock.Kind) {
	first := job{Key: key, Kind: kind, Limit: 1}
	second := first
	if kind == interlock.KindRead {
		second.Kind = interlock.KindWrite
	}
	f := newFixture(t)
	ctx, hold := f.lock(first.lock(f.client))
	next := f.startWaiter(second.lock(f.other))
	f.eventually(5*time.Second, "the other client waits", func() bool { return f.other.Stats().Waiting == 1 })
	f.eventually(5*time.Second, "the holder's client is subscribed", func() bool { return f.server.Must("PUBSUB", "CHANNELS", "interlock_client:*") != "" })
	taken, err := f.other.ForceRelease(t.Context(), key)
	if err != nil || len(taken.Holders) != 1 || taken.Holders[0].Holder != hold.Holder() {
		t.Fatalf("force release returned %+v, %v; want holder %s", taken, err, hold.Holder())
	}
	f.wantLost(ctx, time.Second, interlock.ErrRevoked)
	f.wantErr(hold.Unlock(), interlock.ErrLost)
	f.unlock(f.wantGrant(next, 2*time.Second))
}
