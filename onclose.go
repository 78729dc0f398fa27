package interlock

import (
	"context"
	"errors"
	"sync"
)

// OnClose has f called when the client is closed, while Close waits for locks: for
// what was made on the client and has to end with it. Close waits for f, passes its
// own context on, and returns f's error among others. All of these are called at
// once. If the client is closed already, f is called now, with a context that is
// over.
//
// The client and those made from it by With are closed together. Stop forgets f, if
// it was not called yet.
func (c *Client) OnClose(f func(context.Context) error) (stop func()) {
	e := &c.core.farewells
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		over, cancel := context.WithCancelCause(context.Background())
		cancel(ErrClosed)
		_ = f(over) // nobody waits to be told
		return func() {}
	}
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = make(map[*farewell]struct{})
	}
	last := &farewell{f}
	e.all[last] = struct{}{}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.all, last)
	}
}

// farewells are what is to be done when a client is closed.
type farewells struct {
	mu     sync.Mutex
	all    map[*farewell]struct{}
	closed bool
}

type farewell struct {
	f func(context.Context) error
}

// begin calls all of them, once, and returns how to wait for what they say.
func (e *farewells) begin(ctx context.Context) (wait func() error) {
	e.mu.Lock()
	all := e.all
	e.all, e.closed = nil, true
	e.mu.Unlock()
	var (
		calls sync.WaitGroup
		mu    sync.Mutex
		errs  []error
	)
	for last := range all {
		calls.Go(func() {
			if err := last.f(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	return func() error {
		calls.Wait()
		return errors.Join(errs...)
	}
}
