package zookeeper

import (
	"context"
	"errors"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/internal/keystate"
)

// A clock reads the time of the leader. ZooKeeper has no request for it, but tells when a
// node was written. A write also brings the server that answers up to date with the
// leader, so a read after it misses no transaction from before it.
//
// Calls that ask while a request is on its way share the next one.
type clock struct {
	mu      sync.Mutex
	next    *reading // the request that has not been sent
	running bool
	latest  keystate.Moment // the latest moment that was seen
}

// A reading is one request for the time, and its answer.
type reading struct {
	done chan struct{} // closed when the answer is there
	at   keystate.Moment
	err  error
}

// saw notes a moment of a reply.
func (k *clock) saw(at keystate.Moment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at.ID > k.latest.ID {
		k.latest = at
	}
}

// past returns the latest moment that was seen. It costs nothing, and is in the past.
func (k *clock) past() keystate.Moment {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.latest
}

// read returns a moment after the call of it.
func (k *clock) read(ctx context.Context, e *Engine) (keystate.Moment, error) {
	k.mu.Lock()
	if k.next == nil {
		k.next = &reading{done: make(chan struct{})}
	}
	r := k.next
	if !k.running {
		k.running = e.tasks.Start(func() { k.send(e) })
	}
	running := k.running
	k.mu.Unlock()
	if !running {
		return keystate.Moment{}, errClosed
	}
	select {
	case <-r.done:
		return r.at, r.err
	case <-ctx.Done():
		return keystate.Moment{}, ctx.Err()
	}
}

// send answers readings until none is left.
func (k *clock) send(e *Engine) {
	for {
		k.mu.Lock()
		r := k.next
		k.next, k.running = nil, r != nil
		k.mu.Unlock()
		if r == nil {
			return
		}
		if r.at, r.err = e.touch(); r.err == nil {
			k.saw(r.at)
		}
		close(r.done)
	}
}

// touch writes the node of the clock, and returns when.
func (e *Engine) touch() (keystate.Moment, error) {
	for range 2 {
		stat, err := request(e, "clock", func(conn *zk.Conn) (*zk.Stat, error) { return conn.Set(e.root+"/"+clockNode, nil, -1) })
		if err == nil {
			return momentOf(stat), nil
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return keystate.Moment{}, failure("", "clock", err)
		}
		if err := e.prepare(); err != nil {
			return keystate.Moment{}, err
		}
	}
	return keystate.Moment{}, failure("", "clock", zk.ErrNoNode)
}
