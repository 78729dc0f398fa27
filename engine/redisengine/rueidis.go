package redisengine

import (
	"context"
	"errors"
	"net"
	"strconv"

	"github.com/redis/rueidis"
)

// A rueidisClient is a [Client] on rueidis.
type rueidisClient struct {
	client rueidis.Client
	end    func() // stops dialing; nil if client is not ours to close
}

// Close implements [Client].
func (c *rueidisClient) Close() error {
	if c.end != nil {
		c.end()
		c.client.Close()
	}
	return nil
}

// Eval implements [Client]. The bound is rueidis's own: it pings a connection
// that is silent, and drops it with everything under way if no answer comes
// within ConnWriteTimeout.
func (c *rueidisClient) Eval(ctx context.Context, call *Call) (Reply, error) {
	reply, err := c.send(ctx, "EVALSHA", call.Script.SHA, call)
	if err != nil && NoScript(err) {
		reply, err = c.send(ctx, "EVAL", call.Script.Text, call)
	}
	return reply, err
}

func (c *rueidisClient) send(ctx context.Context, command, script string, call *Call) (Reply, error) {
	m, err := c.client.Do(ctx, c.client.B().Arbitrary(command, script, strconv.Itoa(len(call.Keys))).
		Keys(call.Keys...).Args(call.Args...).Build()).ToMessage()
	switch {
	case err != nil:
		return Reply{}, rueidisError(ctx, err)
	case m.IsInt64():
		n, err := m.ToInt64()
		return Reply{Int: n}, err
	}
	list, err := m.ToArray()
	if err != nil {
		return Reply{}, err
	}
	return Reply{List: items(list)}, nil
}

func items(list []rueidis.RedisMessage) []Item {
	all := make([]Item, len(list))
	for i := range list {
		// What is neither stays empty: no script of ours returns it. To ask for the
		// wrong one makes an error, which costs more than the rest.
		if m := &list[i]; m.IsInt64() {
			all[i].Int, _ = m.ToInt64()
		} else if m.IsString() {
			all[i].Text, _ = m.ToString()
		}
	}
	return all
}

// errConnecting takes the place of the end of another context than the caller's,
// who must not take it for the end of its own.
var errConnecting = errors.New("it did not answer in time when it was called up")

// rueidisError sorts an error as [Client] asks for.
func rueidisError(ctx context.Context, err error) error {
	if reply, ok := rueidis.IsRedisErr(err); ok {
		return ReplyError(reply.Error())
	}
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		return &NotSentError{Err: err}
	case notOurs(ctx, err):
		return &NotSentError{Err: errConnecting}
	}
	return err
}

// Listen implements [Client].
func (c *rueidisClient) Listen(_ context.Context, m PublishMode, heard func(channel string)) (Listener, error) {
	conn, giveBack := c.client.Dedicate()
	lost := conn.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) { heard(m.Channel) },
		OnSubscription: func(s rueidis.PubSubSubscription) {
			if s.Kind == "subscribe" || s.Kind == "ssubscribe" {
				heard(s.Channel)
			}
		},
	})
	return &rueidisListener{conn: conn, giveBack: giveBack, mode: m, lost: lost}, nil
}

// A rueidisListener is a connection that rueidis lends.
type rueidisListener struct {
	conn     rueidis.DedicatedClient
	giveBack func()
	mode     PublishMode
	lost     <-chan error
}

// Subscribe implements [Listener].
func (l *rueidisListener) Subscribe(ctx context.Context, channels []string) error {
	if l.mode == Sharded {
		return l.conn.Do(ctx, l.conn.B().Ssubscribe().Channel(channels...).Build()).Error()
	}
	return l.conn.Do(ctx, l.conn.B().Subscribe().Channel(channels...).Build()).Error()
}

// Unsubscribe implements [Listener].
func (l *rueidisListener) Unsubscribe(ctx context.Context, channels []string) error {
	if l.mode == Sharded {
		return l.conn.Do(ctx, l.conn.B().Sunsubscribe().Channel(channels...).Build()).Error()
	}
	return l.conn.Do(ctx, l.conn.B().Unsubscribe().Channel(channels...).Build()).Error()
}

// Lost implements [Listener].
func (l *rueidisListener) Lost() <-chan error { return l.lost }

// Close implements [Listener].
func (l *rueidisListener) Close() error {
	l.conn.Close()
	for range l.lost { // it is closed after the last call of a hook
	}
	l.giveBack()
	return nil
}
