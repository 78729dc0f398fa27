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

// TestLossBeforeGrant stops the server of a holder, and checks that the holder
// knows of its loss before the lock is granted to another (R2). The sharp form
// of it is a law, in virtual time; this one shows that it holds on a machine.
func TestLossBeforeGrant(t *testing.T) {
	const servers, rounds = 4, 5
	for s := range servers {
		t.Run(fmt.Sprint("server ", s), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			for r := range rounds {
				p.loseBeforeGrant(fmt.Sprintf("loss:%d", r))
			}
		})
	}
}

func (p *place) loseBeforeGrant(key string) {
	p.t.Helper()
	const lease = 900 * time.Millisecond
	var log history.Log
	ctx, hold := p.lock(p.client.Mutex(key, interlock.Watchdog(lease)))
	log.Add(history.Event{Kind: history.Enter, Key: key, Actor: "first", Fence: hold.Fence()})
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		<-ctx.Done()
		log.Add(history.Event{Kind: history.Lost, Key: key, Actor: "first"})
	}()
	granted := make(chan *interlock.Hold, 1)
	go func() {
		_, theirs := p.lock(p.other.Mutex(key))
		log.Add(history.Event{Kind: history.Enter, Key: key, Actor: "second", Fence: theirs.Fence()})
		granted <- theirs
	}()
	p.wantHeld(ctx, lease) // renewed meanwhile
	p.server.Stop()
	p.wantHeld(context.Background(), lease+lease/4)
	p.server.Cont()
	theirs := <-granted
	<-lost
	if cause := context.Cause(ctx); !errors.Is(cause, interlock.ErrExpired) {
		p.t.Errorf("lost because of %v, want the lease to have run out", cause)
	}
	if err := history.Check(log.Events()).Err(); err != nil {
		p.t.Error(err)
	}
	p.unlock(theirs)
	p.wantErr(hold.Unlock(), interlock.ErrLost)
}
