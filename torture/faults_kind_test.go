package torture

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// Rows about kinds of locks that more than one may hold, or several at once.
var kindRows = []row{
	{1, "reply for one of several keys lost (multi)", "all of them or none; nothing is left", func(t *testing.T) {
		p := newPlace(t)
		keys := []string{"fault:1", "fault:2", "fault:3"}
		for range 5 {
			p.net.CutAfterRequest()
			_, hold := p.lock(p.client.Multi(keys))
			if n := p.server.Must("EXISTS", keys[0], keys[1], keys[2]); n != "3" {
				t.Errorf("%s of 3 keys are held", n)
			}
			p.unlock(hold)
			p.wantNothing(time.Second)
		}
	}},
	{2, "replies for several keys too late (multi)", "none of them; cleaned up", func(t *testing.T) {
		p := newPlace(t)
		p.lockAndUnlock()
		p.net.BlackHole(faultnet.Replies, true)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, _, err := p.client.Multi([]string{"fault:1", "fault:2", "fault:3"}).Lock(ctx)
		p.wantErr(err, context.DeadlineExceeded)
		p.net.BlackHole(faultnet.Replies, false)
		p.net.Reset()
		// One of three may have waited for a place on the others' trip.
		p.soon(10*time.Second, "the clean-up is done", func() bool { return p.client.Stats().CleanedUp >= 2 })
		p.wantNothing(time.Second)
	}},
	{21, "subscribers cut off, waiting readers", "woken all the same, within a poll", func(t *testing.T) {
		p := newPlace(t)
		for range 3 {
			_, hold := p.lock(p.other.RWMutex(key).Write())
			readers := p.lineOf(5, func(int) interlock.Locker { return p.client.RWMutex(key).Read() })
			p.deafened()
			p.unlock(hold)
			start := time.Now()
			var reading []*interlock.Hold // all at a time
			for range 5 {
				reading = append(reading, p.served(readers, 1500*time.Millisecond))
			}
			if d := time.Since(start); d > 1500*time.Millisecond {
				t.Errorf("the last was woken after %v", d)
			}
			for _, hold := range reading {
				p.unlock(hold)
			}
		}
	}},
	{25, "line of a read/write lock deleted", "they line up again, and all are served", func(t *testing.T) {
		p := newPlace(t)
		_, hold := p.lock(p.other.RWMutex(key).Write())
		waiting := p.lineOf(6, func(i int) interlock.Locker {
			if i%3 == 1 {
				return p.client.RWMutex(key).Write()
			}
			return p.client.RWMutex(key).Read()
		})
		p.server.Must("DEL", "interlock_readers:{"+key+"}", "interlock_writers:{"+key+"}", "interlock_queue_expiry:{"+key+"}")
		p.inLine(6)
		p.unlock(hold)
		for range 6 {
			p.unlock(p.served(waiting, 5*time.Second))
		}
		p.wantNothing(time.Second)
	}},
	{44, "taken away by an operator (force-release)", "lost: revoked, within a second; the next one has it", func(t *testing.T) {
		for _, kind := range []interlock.Kind{interlock.KindExclusive, interlock.KindFair, interlock.KindRead, interlock.KindWrite, interlock.KindPermit} {
			t.Run(kind.String(), func(t *testing.T) { revoked(t, kind) })
		}
	}},
}

// revoked has an operator take a lock away while another waits for it.
func revoked(t *testing.T, kind interlock.Kind) {
	mine := job{Key: key, Kind: kind, Limit: 1}
	theirs := mine
	if kind == interlock.KindRead {
		theirs.Kind = interlock.KindWrite
	}
	p := newPlace(t)
	ctx, hold := p.lock(mine.lock(p.client))
	next := p.waits(theirs.lock(p.other))
	p.soon(5*time.Second, "another waits", func() bool { return p.other.Stats().Waiting == 1 })
	p.soon(5*time.Second, "the holder's client listens", func() bool { return p.server.Must("PUBSUB", "CHANNELS", "interlock_client:*") != "" })
	taken, err := p.other.ForceRelease(t.Context(), key)
	if err != nil || len(taken.Holders) != 1 || taken.Holders[0].Holder != hold.Holder() {
		t.Fatalf("took %+v, %v; want it from %s", taken, err, hold.Holder())
	}
	p.wantLost(ctx, time.Second, interlock.ErrRevoked)
	p.wantErr(hold.Unlock(), interlock.ErrLost)
	p.unlock(p.served(next, 2*time.Second))
}
