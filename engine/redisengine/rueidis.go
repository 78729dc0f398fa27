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
	if e, ok := err.(ErrorReply); ok && e.Code() == "NOSCRIPT" {
		reply, err = c.send(ctx, "EVAL", call.Script.Text, call)
	}
	return reply, err
}

func (c *rueidisClient) send(ctx context.Context, command, script string, call *Call) (Reply, error) {
	result := c.client.Do(ctx, c.client.B().Arbitrary(command, script, numeral(len(call.Keys))).
		Keys(call.Keys...).Args(call.Args...).Build())
	m, err := result.ToMessage()
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
	items := make([]Item, len(list))
	for i := range list {
		if list[i].IsInt64() {
			items[i].Int, err = list[i].ToInt64()
		} else {
			items[i].Text, err = list[i].ToString()
		}
		if err != nil {
			return Reply{}, err
		}
	}
	return Reply{List: items}, nil
}

// numeral writes a small number without allocating: strconv has those below 100
// at hand.
func numeral(n int) string { return strconv.Itoa(n) }

// rueidisError sorts an error as [Client] asks for.
func rueidisError(ctx context.Context, err error) error {
	if reply, ok := rueidis.IsRedisErr(err); ok {
		return ErrorReply(reply.Error())
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" || notOurs(ctx, err) {
		return &NotSentError{Err: err}
	}
	return err
}

// Listen implements [Client].
func (c *rueidisClient) Listen(_ context.Context, m PublishMode, heard func(channel string)) (Listener, error) {
	conn, giveBack := c.client.Dedicate()
	l := &rueidisListener{conn: conn, mode: m, giveBack: giveBack, lost: make(chan struct{})}
	ended := conn.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage:      func(m rueidis.PubSubMessage) { heard(m.Channel) },
		OnSubscription: func(s rueidis.PubSubSubscription) { l.subscribed(s, heard) },
	})
	go l.watch(ended) // ends with the connection, for which Close waits
	return l, nil
}

// A rueidisListener is a connection that rueidis lends.
type rueidisListener struct {
	conn     rueidis.DedicatedClient
	mode     PublishMode
	giveBack func()
	lost     chan struct{}
}

func (l *rueidisListener) watch(ended <-chan error) {
	<-ended
	close(l.lost)
}

func (l *rueidisListener) subscribed(s rueidis.PubSubSubscription, heard func(string)) {
	if s.Kind == "subscribe" || s.Kind == "ssubscribe" {
		heard(s.Channel)
	}
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
func (l *rueidisListener) Lost() <-chan struct{} { return l.lost }

// Close implements [Listener].
func (l *rueidisListener) Close() error {
	l.conn.Close()
	<-l.lost
	l.giveBack()
	return nil
}
