package postgres

import (
	"context"
	"sync"
	"time"
)

// pollInterval is the time between two notifications of a poller.
const pollInterval = 250 * time.Millisecond

// Notices tell subscribers that something about a topic may have changed.
type notices interface {
	// subscribe returns a channel that receives at once and after notices about a topic,
	// until stop is called.
	subscribe(topic string) (wake <-chan struct{}, stop func())

	// idle reports whether the server counts this process as a listener to a topic,
	// although it has no subscriber.
	idle(topic string) bool

	// close ends all subscriptions.
	close()
}

// A poller stands in for a notifier where no notice arrives: it wakes each subscriber from
// time to time.
//
// Its goroutine starts with the first subscriber and ends with close, which waits for it.
type poller struct {
	running sync.WaitGroup

	mu          sync.Mutex         // guards the fields below
	cancel      context.CancelFunc // nil before the first subscriber
	closed      bool
	subscribers map[chan struct{}]struct{}
}

// subscribe implements [notices].
func (p *poller) subscribe(string) (wake <-chan struct{}, stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sub := make(chan struct{}, 1)
	if p.closed {
		return sub, func() {}
	}
	if p.cancel == nil {
		var ctx context.Context
		ctx, p.cancel = context.WithCancel(context.Background())
		p.subscribers = make(map[chan struct{}]struct{})
		p.running.Go(func() { p.run(ctx) })
	}
	p.subscribers[sub] = struct{}{}
	wakeSubscriber(sub)
	return sub, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.subscribers, sub)
	}
}

// idle implements [notices].
func (p *poller) idle(string) bool { return false }

// close implements [notices].
func (p *poller) close() {
	p.mu.Lock()
	p.closed = true
	if p.cancel != nil {
		p.cancel()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *poller) run(ctx context.Context) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.mu.Lock()
		for sub := range p.subscribers {
			wakeSubscriber(sub)
		}
		p.mu.Unlock()
	}
}
