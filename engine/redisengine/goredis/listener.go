package goredis

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine/redisengine"
)

// pingAfter is the idle time after which the server is pinged. After twice that without a
// message the connection is closed; go-redis would wait until the network reports an error.
const pingAfter = 2 * time.Second

// Listen implements [redisengine.Client].
func (a *adapter) Listen(_ context.Context, m redisengine.PublishMode, onMessage func(channel string)) (redisengine.Listener, error) {
	ctx, cancel := context.WithCancel(context.Background())
	client := a.pubsubClient()
	if c, ok := client.(*redis.Client); ok {
		// go-redis ignores ctx while it connects, and Close must not wait for ever.
		client = c.WithTimeout(2 * pingAfter)
	}
	l := &listener{mode: m, pubsub: client.Subscribe(ctx), end: cancel, lost: make(chan error)}
	go l.run(ctx, onMessage) // ends with Close, which waits
	return l, nil
}

// A listener is a subscriber connection of go-redis. It does not use go-redis's own loop,
// which hides lost connections.
type listener struct {
	mode   redisengine.PublishMode
	pubsub *redis.PubSub
	end    context.CancelFunc
	lost   chan error // closed when the connection is lost; never sent on

	unsubscribing sync.Map // sharded channels passed to Unsubscribe, until the server confirms

	// unconfirmed has the channels of each SUBSCRIBE that the server has not answered, in
	// order. The mutex also orders the commands themselves.
	mu          sync.Mutex
	unconfirmed [][]string
}

// run receives until the connection is lost.
func (l *listener) run(ctx context.Context, onMessage func(channel string)) {
	defer close(l.lost)
	for pinged := false; ; {
		message, err := l.pubsub.ReceiveTimeout(ctx, pingAfter)
		if err == nil {
			pinged = false
			if l.slotMoved(message) {
				return
			}
			l.confirmed(message)
			report(message, onMessage)
			continue
		}
		if redisengine.Forbidden(classify(err)) && l.refused(ctx) == nil {
			continue
		}
		var timeout net.Error
		if pinged || ctx.Err() != nil || !errors.As(err, &timeout) || !timeout.Timeout() {
			return
		}
		// A timeout alone is not a failure: without messages, the connection receives
		// nothing until the pong.
		if pinged = true; l.pubsub.Ping(ctx) != nil {
			return
		}
	}
}

// slotMoved reports whether the server has ended a subscription that Unsubscribe did not:
// the slot of the channel has moved to another server.
func (l *listener) slotMoved(message any) bool {
	m, ok := message.(*redis.Subscription)
	if !ok || m.Kind != "sunsubscribe" {
		return false
	}
	_, requested := l.unsubscribing.LoadAndDelete(m.Channel)
	return !requested
}

// confirmed removes a channel from those that wait for an answer.
func (l *listener) confirmed(message any) {
	m, ok := message.(*redis.Subscription)
	if !ok || m.Kind != "subscribe" && m.Kind != "ssubscribe" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unconfirmed) == 0 {
		return
	}
	if l.unconfirmed[0] = l.unconfirmed[0][1:]; len(l.unconfirmed[0]) == 0 {
		l.unconfirmed = l.unconfirmed[1:]
	}
}

// refused handles a SUBSCRIBE with a channel that the user may not use. The server refuses
// the whole command, so its channels are sent one by one. A single refused channel is
// skipped.
func (l *listener) refused(ctx context.Context) error {
	l.mu.Lock()
	if len(l.unconfirmed) == 0 {
		l.mu.Unlock()
		return errors.New("goredis: the server refused a command that was not sent")
	}
	channels := l.unconfirmed[0]
	l.unconfirmed = l.unconfirmed[1:]
	l.mu.Unlock()
	if len(channels) == 1 {
		return nil
	}
	for _, ch := range channels {
		if err := l.Subscribe(ctx, []string{ch}); err != nil {
			return err
		}
	}
	return nil
}

// report passes on messages and confirmed subscriptions. Pongs are not reported.
func report(message any, onMessage func(channel string)) {
	switch m := message.(type) {
	case *redis.Message:
		onMessage(m.Channel)
	case *redis.Subscription:
		if m.Kind == "subscribe" || m.Kind == "ssubscribe" {
			onMessage(m.Channel)
		}
	}
}

// Subscribe implements [redisengine.Listener].
func (l *listener) Subscribe(ctx context.Context, channels []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unconfirmed = append(l.unconfirmed, channels)
	if l.mode == redisengine.Sharded {
		return l.pubsub.SSubscribe(ctx, channels...)
	}
	return l.pubsub.Subscribe(ctx, channels...)
}

// Unsubscribe implements [redisengine.Listener].
func (l *listener) Unsubscribe(ctx context.Context, channels []string) error {
	if l.mode == redisengine.Sharded {
		for _, ch := range channels {
			// It is stored before the command is sent, because the confirmation may arrive
			// before SUnsubscribe returns.
			l.unsubscribing.Store(ch, nil)
		}
		return l.pubsub.SUnsubscribe(ctx, channels...)
	}
	return l.pubsub.Unsubscribe(ctx, channels...)
}

// Lost implements [redisengine.Listener].
func (l *listener) Lost() <-chan error { return l.lost }

// Close implements [redisengine.Listener].
func (l *listener) Close() error {
	l.end()
	// Closing the connection ends a pending receive, which go-redis does not end with
	// ctx.
	err := l.pubsub.Close()
	<-l.lost
	return err
}
