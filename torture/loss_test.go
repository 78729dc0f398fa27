package torture

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// TestLossBeforeGrant stops the server and checks that the holder learns of its loss
// before another caller gets the lock (requirement R2). A law proves the exact bound in
// virtual time; this test uses real servers.
func TestLossBeforeGrant(t *testing.T) {
	const servers, rounds = 4, 5
	for s := range servers {
		t.Run(fmt.Sprint("server ", s), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			for r := range rounds {
				f.checkLossBeforeGrant(fmt.Sprintf("loss:%d", r))
			}
		})
	}
}

func (f *fixture) checkLossBeforeGrant(key string) {
	f.t.Helper()
	const lease = 900 * time.Millisecond
	var log history.Log
	ctx, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(lease)))
	log.Add(history.Event{Kind: history.Enter, Key: key, Actor: "first", Fence: hold.Fence()})
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		<-ctx.Done()
		log.Add(history.Event{Kind: history.Lost, Key: key, Actor: "first"})
	}()
	granted := make(chan *interlock.Hold, 1)
	go func() {
		_, otherHold := f.lock(f.other.Mutex(key))
		log.Add(history.Event{Kind: history.Enter, Key: key, Actor: "second", Fence: otherHold.Fence()})
		granted <- otherHold
	}()
	f.wantHeld(ctx, lease) // the hold is renewed during this time
	f.server.Stop()
	time.Sleep(lease + lease/4)
	f.server.Cont()
	theirHold := <-granted
	<-lost
	if cause := context.Cause(ctx); !errors.Is(cause, interlock.ErrExpired) {
		f.t.Errorf("lost with cause %v, want ErrExpired", cause)
	}
	if err := history.Check(log.Events()).Err(); err != nil {
		f.t.Error(err)
	}
	f.unlock(theirHold)
	f.wantErr(hold.Unlock(), interlock.ErrLost)
}
