package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// relayTimeout is the longest time that a hand-over may take.
const relayTimeout = time.Minute

// A relay passes one lock back and forth between two clients that share no state, as two
// processes do.
type relay struct {
	key     string
	hold    time.Duration // at least; meanwhile the next client asks the server and begins to wait
	clients [2]locks
	unlock  func() error // ends the current hold
	holder  int          // index of the current holder

	waits context.Context // of the calls that wait for the lock
	end   context.CancelFunc
}

// A relayGrant is the end of a wait for the lock.
type relayGrant struct {
	at     time.Time
	unlock func() error
	err    error
}

// openRelay connects two clients; the first acquires the lock.
func openRelay(ctx context.Context, c contender, key string, hold time.Duration) (_ *relay, err error) {
	r := &relay{key: key, hold: hold}
	r.waits, r.end = context.WithCancel(context.WithoutCancel(ctx)) // the hold outlives each pass
	for i := range r.clients {
		if r.clients[i], err = c.open(ctx, ""); err != nil {
			r.close()
			return nil, err
		}
	}
	if r.unlock, err = r.clients[0].lock(r.waits, r.key); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *relay) close() {
	if r.unlock != nil {
		_ = r.unlock()
	}
	r.end()
	for _, l := range r.clients {
		if l.close != nil {
			l.close()
		}
	}
}

var errOverlap = errors.New("the lock was granted while it was held")

// pass hands the lock to the other client, which waits for it. It returns the time from
// the call that releases the lock to the return of the call that acquires it.
func (r *relay) pass(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	next := 1 - r.holder
	granted := make(chan relayGrant, 1)
	go func() { // ends with the grant, or with close
		unlock, err := r.clients[next].lock(r.waits, r.key)
		granted <- relayGrant{time.Now(), unlock, err}
	}()
	select {
	case g := <-granted:
		if g.err == nil {
			g.err = errOverlap
		}
		return 0, g.err
	case <-time.After(r.hold + rand.N(r.hold/3)): // not in step with a waiter that polls
	}
	released := time.Now()
	err := r.unlock()
	r.unlock = nil
	if err != nil {
		return 0, err
	}
	select {
	case g := <-granted:
		r.unlock, r.holder = g.unlock, next
		return g.at.Sub(released), g.err
	case <-ctx.Done():
		return 0, fmt.Errorf("no grant within %v after the release", relayTimeout)
	}
}
