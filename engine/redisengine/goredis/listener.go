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

// silence is after how much of it the server is asked whether it is still there.
// A connection from which nothing comes for twice as long is given up; go-redis
// itself would wait for it until the network says that it is gone.
const pingAfter = 2 * time.Second

// Listen implements [redisengine.Client].
func (a *adapter) Listen(_ context.Context, m redisengine.PublishMode, heard func(channel string)) (redisengine.Listener, error) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{mode: m, pubsub: a.pubsubClient().Subscribe(ctx), end: cancel, lost: make(chan error)}
	go l.run(ctx, heard) // ends with Close, which waits
	return l, nil
}

// A listener is a subscriber connection of go-redis. It does not use go-redis's
// own loop, which hides for how long it was deaf.
type listener struct {
	mode   redisengine.PublishMode
	pubsub *redis.PubSub
	end    context.CancelFunc
	lost   chan error // never sent on
	left   sync.Map   // sharded channels that we have left off ourselves
}

// run receives until the connection is lost.
func (l *listener) run(ctx context.Context, heard func(channel string)) {
	defer close(l.lost)
	for asked := false; ; {
		message, err := l.pubsub.ReceiveTimeout(ctx, pingAfter)
		if err == nil {
			asked = false
			if l.slotMoved(message) {
				return
			}
			report(message, heard)
			continue
		}
		var timeout net.Error
		if asked || ctx.Err() != nil || !errors.As(err, &timeout) || !timeout.Timeout() {
			return
		}
		if asked = true; l.pubsub.Ping(ctx) != nil {
			return
		}
	}
}

// moved reports whether the server has told that a channel's slot is on another
// one by now: nobody has asked for the end of the subscription.
func (l *listener) slotMoved(message any) bool {
	m, ok := message.(*redis.Subscription)
	if !ok || m.Kind != "sunsubscribe" {
		return false
	}
	_, ours := l.left.LoadAndDelete(m.Channel)
	return !ours
}

func report(message any, heard func(channel string)) {
	switch m := message.(type) {
	case *redis.Message:
		heard(m.Channel)
	case *redis.Subscription:
		if m.Kind == "subscribe" || m.Kind == "ssubscribe" {
			heard(m.Channel)
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
	err := l.pubsub.Close()
	<-l.lost
	return err
}
