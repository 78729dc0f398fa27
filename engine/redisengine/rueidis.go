package redisengine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/redis/rueidis"
)

// A rueidisClient is a [Client] on rueidis.
type rueidisClient struct {
	client   rueidis.Client
	stopDial func() // cancels dialing; nil if the caller closes client
}

// Close implements [Client].
func (c *rueidisClient) Close() error {
	if c.stopDial != nil {
		c.stopDial()
		c.client.Close()
	}
	return nil
}

// Eval implements [Client]. Rueidis bounds the time: it pings an idle connection, and
// closes it with all pending calls if there is no answer within ConnWriteTimeout.
func (c *rueidisClient) Eval(ctx context.Context, call *Call) (Reply, error) {
	if call.Acks > 0 {
		return c.evalAcked(ctx, call)
	}
	reply, err := c.send(ctx, "EVALSHA", call.Script.SHA, call)
	// NOSCRIPT is an error reply, so the first call had no effect and the second may be
	// sent.
	if err != nil && NoScript(err) {
		reply, err = c.send(ctx, "EVAL", call.Script.Text, call)
	}
	return reply, err
}

// send sends a script by its hash or by its text.
func (c *rueidisClient) send(ctx context.Context, command, script string, call *Call) (Reply, error) {
	return readReply(ctx, c.client.Do(ctx, c.command(command, script, call)))
}

// command builds EVALSHA or EVAL. Keys tells rueidis the slot, by which it picks the node
// of a cluster.
func (c *rueidisClient) command(command, script string, call *Call) rueidis.Completed {
	return c.client.B().Arbitrary(command, script, strconv.Itoa(len(call.Keys))).
		Keys(call.Keys...).Args(call.Args...).Build()
}

// evalAcked runs a script and waits for replicas on its own connection: WAIT counts the
// writes of its connection, and blocks it.
func (c *rueidisClient) evalAcked(ctx context.Context, call *Call) (Reply, error) {
	bounded, cancel := context.WithTimeout(ctx, call.Timeout+call.AckTimeout)
	defer cancel()
	conn, giveBack := c.client.Dedicate()
	defer giveBack()
	reply, err := c.sendAcked(bounded, conn, "EVALSHA", call.Script.SHA, call)
	if err != nil && NoScript(err) {
		reply, err = c.sendAcked(bounded, conn, "EVAL", call.Script.Text, call)
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%w after %v", os.ErrDeadlineExceeded, call.Timeout+call.AckTimeout) // the engine's timeout, not the caller's
	}
	return reply, err
}

// sendAcked sends the script and WAIT in one pipeline, which saves a round trip.
func (c *rueidisClient) sendAcked(ctx context.Context, conn rueidis.DedicatedClient, command, script string, call *Call) (Reply, error) {
	answers := conn.DoMulti(ctx, c.command(command, script, call),
		conn.B().Wait().Numreplicas(int64(call.Acks)).Timeout(call.AckTimeout.Milliseconds()).Build())
	reply, err := readReply(ctx, answers[0])
	if err != nil {
		return reply, err
	}
	// Without an answer no replica has acknowledged.
	n, _ := answers[1].AsInt64()
	reply.Acked = int(n)
	return reply, nil
}

// readReply converts a reply. The scripts return an integer or a list of integers and
// strings.
func readReply(ctx context.Context, answer rueidis.RedisResult) (Reply, error) {
	m, err := answer.ToMessage()
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
		// No script returns anything else. Converting to the wrong type would allocate an
		// error, which costs more than the rest.
		if m := &list[i]; m.IsInt64() {
			all[i].Int, _ = m.ToInt64()
		} else if m.IsString() {
			all[i].Text, _ = m.ToString()
		}
	}
	return all
}

// errDialTimeout replaces the context error of the caller that opened the connection.
var errDialTimeout = errors.New("the server did not answer in time while the connection was opened")

// rueidisError classifies an error as [Client] requires.
func rueidisError(ctx context.Context, err error) error {
	if reply, ok := rueidis.IsRedisErr(err); ok {
		return ReplyError(reply.Error())
	}
	var op *net.OpError
	switch {
	// Without a connection nothing was sent.
	case errors.As(err, &op) && op.Op == "dial":
		return &NotSentError{Err: err}
	case otherContextEnded(ctx, err):
		return &NotSentError{Err: errDialTimeout}
	}
	return err
}

// Listen implements [Client].
func (c *rueidisClient) Listen(ctx context.Context, m PublishMode, onMessage func(channel string)) (Listener, error) {
	conn, giveBack := c.client.Dedicate()
	// Sentinels may still name a demoted primary; see CheckPrimary.
	if c.client.Mode() == rueidis.ClientModeSentinel {
		if err := CheckPrimary(role(ctx, conn)); err != nil {
			conn.Close()
			giveBack()
			return nil, err
		}
	}
	l := &rueidisListener{conn: conn, giveBack: giveBack, mode: m, ended: make(chan error, 1)}
	l.lost = conn.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) { onMessage(m.Channel) },
		OnSubscription: func(s rueidis.PubSubSubscription) {
			switch s.Kind {
			// A confirmed subscription counts as a message: the lock may have become free
			// before it.
			case "subscribe", "ssubscribe":
				onMessage(s.Channel)
			case "sunsubscribe":
				l.dropped(s.Channel)
			}
		},
	})
	l.watching.Go(l.watch) // ends with the connection, which Close closes
	return l, nil
}

// role returns the role that a server reports.
func role(ctx context.Context, conn rueidis.DedicatedClient) string {
	answer, err := conn.Do(ctx, conn.B().Role().Build()).ToArray()
	if err != nil || len(answer) == 0 {
		return ""
	}
	name, _ := answer[0].ToString()
	return name
}

// A rueidisListener is a dedicated connection of rueidis.
type rueidisListener struct {
	conn     rueidis.DedicatedClient
	giveBack func()
	mode     PublishMode
	lost     <-chan error // closed after the last call of a hook
	ended    chan error   // receives when the connection is lost, or a slot has moved

	unsubscribing sync.Map // channels passed to Unsubscribe, until the server confirms
	watching      sync.WaitGroup
}

// watch reports the end of the connection.
func (l *rueidisListener) watch() {
	// rueidis closes the channel after the last hook, and sends an error before if there
	// is one.
	for range l.lost {
	}
	l.end()
}

// end reports the end once. Further reports are dropped, because the notifier opens a new
// connection after the first.
func (l *rueidisListener) end() {
	select {
	case l.ended <- nil:
	default:
	}
}

// dropped handles the end of a subscription. If Unsubscribe did not request it, the slot of
// the channel has moved to another server.
func (l *rueidisListener) dropped(channel string) {
	if _, requested := l.unsubscribing.LoadAndDelete(channel); !requested {
		l.end()
	}
}

// Subscribe implements [Listener]. The server refuses a command with one forbidden channel
// as a whole, so the channels are then sent one by one.
func (l *rueidisListener) Subscribe(ctx context.Context, channels []string) error {
	err := l.subscribe(ctx, channels)
	if !Forbidden(err) {
		return err
	}
	for _, ch := range channels {
		if err := l.subscribe(ctx, []string{ch}); err != nil && !Forbidden(err) {
			return err
		}
	}
	return nil
}

// subscribe sends one command.
func (l *rueidisListener) subscribe(ctx context.Context, channels []string) error {
	command := l.conn.B().Subscribe().Channel(channels...).Build
	if l.mode == Sharded {
		command = l.conn.B().Ssubscribe().Channel(channels...).Build
	}
	return rueidisError(ctx, l.conn.Do(ctx, command()).Error())
}

// Unsubscribe implements [Listener].
func (l *rueidisListener) Unsubscribe(ctx context.Context, channels []string) error {
	if l.mode == Sharded {
		for _, ch := range channels {
			// It is stored before the command is sent, because the confirmation may arrive
			// before Do returns.
			l.unsubscribing.Store(ch, nil)
		}
		return l.conn.Do(ctx, l.conn.B().Sunsubscribe().Channel(channels...).Build()).Error()
	}
	return l.conn.Do(ctx, l.conn.B().Unsubscribe().Channel(channels...).Build()).Error()
}

// Lost implements [Listener].
func (l *rueidisListener) Lost() <-chan error { return l.ended }

// Close implements [Listener].
func (l *rueidisListener) Close() error {
	l.conn.Close()
	l.watching.Wait() // until the last call of a hook
	l.giveBack()
	return nil
}
