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
		p := newFixture(t)
		keys := []string{"fault:1", "fault:2", "fault:3"}
		for range 5 {
			p.proxy.CutAfterRequest()
			_, hold := p.lock(p.client.Multi(keys))
			if n := p.server.Must("EXISTS", keys[0], keys[1], keys[2]); n != "3" {
				t.Errorf("%s of 3 keys are held", n)
			}
			p.unlock(hold)
			p.wantNoKeys(time.Second)
		}
	}},
	{2, "replies for several keys too late (multi)", "no key is locked; cleaned up", func(t *testing.T) {
		p := newFixture(t)
		p.lockAndUnlock()
		p.proxy.BlackHole(faultnet.Replies, true)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, _, err := p.client.Multi([]string{"fault:1", "fault:2", "fault:3"}).Lock(ctx)
		p.wantErr(err, context.DeadlineExceeded)
		p.proxy.BlackHole(faultnet.Replies, false)
		p.proxy.Reset()
		// One of the three requests may not have been sent: it waited for the batch of the others.
		p.eventually(10*time.Second, "the clean-up is done", func() bool { return p.client.Stats().CleanedUp >= 2 })
		p.wantNoKeys(time.Second)
	}},
	{21, "subscribers cut off, waiting readers", "woken by the next poll", func(t *testing.T) {
		p := newFixture(t)
		for range 3 {
			_, hold := p.lock(p.other.RWMutex(key).Write())
			readers := p.startWaiters(5, func(int) interlock.Locker { return p.client.RWMutex(key).Read() })
			p.cutSubscribers()
			p.unlock(hold)
			start := time.Now()
			var reading []*interlock.Hold // all at once
			for range 5 {
				reading = append(reading, p.wantGrant(readers, 1500*time.Millisecond))
			}
			if d := time.Since(start); d > 1500*time.Millisecond {
				t.Errorf("the last reader was woken after %v", d)
			}
			for _, hold := range reading {
				p.unlock(hold)
			}
		}
	}},
	{25, "queue of a read/write lock deleted", "waiters queue again, and all are served", func(t *testing.T) {
		p := newFixture(t)
		_, hold := p.lock(p.other.RWMutex(key).Write())
		waiting := p.startWaiters(6, func(i int) interlock.Locker {
			if i%3 == 1 {
				return p.client.RWMutex(key).Write()
			}
			return p.client.RWMutex(key).Read()
		})
		p.server.Must("DEL", "interlock_readers:{"+key+"}", "interlock_writers:{"+key+"}", "interlock_queue_expiry:{"+key+"}")
		p.waitForQueue(6)
		p.unlock(hold)
		for range 6 {
			p.unlock(p.wantGrant(waiting, 5*time.Second))
		}
		p.wantNoKeys(time.Second)
	}},
	{44, "force-released by an operator", "lost: revoked, within 1 s; the next waiter gets the lock", func(t *testing.T) {
		for _, kind := range []interlock.Kind{interlock.KindExclusive, interlock.KindFair, interlock.KindRead, interlock.KindWrite, interlock.KindPermit} {
			t.Run(kind.String(), func(t *testing.T) { forceReleased(t, kind) })
		}
	}},
}

// forceReleased releases a lock by force while another client waits for it.
func forceReleased(t *testing.T, kind interlock.Kind) {
	mine := job{Key: key, Kind: kind, Limit: 1}
	theirs := mine
	if kind == interlock.KindRead {
		theirs.Kind = interlock.KindWrite
	}
	p := newFixture(t)
	ctx, hold := p.lock(mine.lock(p.client))
	next := p.startWaiter(theirs.lock(p.other))
	p.eventually(5*time.Second, "the other client waits", func() bool { return p.other.Stats().Waiting == 1 })
	p.eventually(5*time.Second, "the holder's client is subscribed", func() bool { return p.server.Must("PUBSUB", "CHANNELS", "interlock_client:*") != "" })
	taken, err := p.other.ForceRelease(t.Context(), key)
	if err != nil || len(taken.Holders) != 1 || taken.Holders[0].Holder != hold.Holder() {
		t.Fatalf("force release returned %+v, %v; want holder %s", taken, err, hold.Holder())
	}
	p.wantLost(ctx, time.Second, interlock.ErrRevoked)
	p.wantErr(hold.Unlock(), interlock.ErrLost)
	p.unlock(p.wantGrant(next, 2*time.Second))
}
