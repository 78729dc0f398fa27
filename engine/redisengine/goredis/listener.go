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
	l := &listener{mode: m, pubsub: a.pubsubClient().Subscribe(ctx), end: cancel, lost: make(chan error)}
	go l.run(ctx, onMessage) // ends with Close, which waits
	return l, nil
}

// A listener is a subscriber connection of go-redis. It does not use go-redis's own loop,
// which hides lost connections.
type listener struct {
	mode   redisengine.PublishMode
	pubsub *redis.PubSub
	end    context.CancelFunc
	lost   chan error // never sent on
	left   sync.Map   // sharded channels that Unsubscribe has left
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
			report(message, onMessage)
			continue
		}
		var timeout net.Error
		if pinged || ctx.Err() != nil || !errors.As(err, &timeout) || !timeout.Timeout() {
			return
		}
		// A timeout alone is no failure: a quiet connection receives nothing until the
		// pong.
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
	_, ours := l.left.LoadAndDelete(m.Channel)
	return !ours
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
	if l.mode == redisengine.Sharded {
		return l.pubsub.SSubscribe(ctx, channels...)
	}
	return l.pubsub.Subscribe(ctx, channels...)
}

// Unsubscribe implements [redisengine.Listener].
func (l *listener) Unsubscribe(ctx context.Context, channels []string) error {
	if l.mode == redisengine.Sharded {
		for _, ch := range channels {
			// Before the command is sent: the confirmation may arrive before SUnsubscribe
			// returns.
			l.left.Store(ch, nil)
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
