package redisengine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// heartbeat is after how much silence a connection is tested. A server that does
// not answer is given up after the timeout and at most two of these.
const heartbeat = 500 * time.Millisecond

// Open connects to the server that a URL names:
//
//	redis://user:password@host:6379/0?timeout=2s&prefix=shop:
//
// rediss:// is the same with TLS. The port is 6379 and the database 0 unless
// they are given. Parameters, none of them needed:
//
//	timeout       how long a call may take (2s)
//	dial_timeout  how long connecting may take (2s)
//	client_name   the connection's name in CLIENT LIST (interlock)
//	prefix        see [Prefix]
//	records       see [Records]
//	publish       publish or spublish, see [Publish]
//	redisson      true or false, see [Redisson]
//	tls_ca        a file with the certificates to trust, instead of the system's
//	tls_name      the name the server's certificate must have, instead of host
//
// Options win over parameters. All calls share one connection; a second is
// opened for messages once somebody waits for a lock.
func Open(ctx context.Context, url string, opts ...Option) (*Engine, error) {
	a, err := parse(url)
	if err != nil {
		return nil, err
	}
	e := newEngine(append(a.options, opts...)...)
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, end)()
	client, err := rueidis.NewClient(e.clientOption(life, a))
	if client == nil {
		end()
		return nil, fmt.Errorf("redis: %w", err)
	}
	e.use(&rueidisClient{client: client, end: end})
	if err == nil {
		err = check(ctx, client, e.publish)
	}
	if err != nil {
		_ = e.Close()
		return nil, e.refused(ctx, a, err)
	}
	return e, nil
}

func (e *Engine) clientOption(life context.Context, a *address) rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress:       []string{a.host},
		Username:          a.user,
		Password:          a.password,
		SelectDB:          a.db,
		ClientName:        a.client,
		DialCtxFn:         dialing(life, a.tls, &e.dialed),
		Dialer:            net.Dialer{Timeout: a.dial, KeepAlive: heartbeat},
		ConnWriteTimeout:  e.timeout,
		MaxFlushDelay:     20 * time.Microsecond, // measured: fewer system calls, and no later answers
		PipelineMultiplex: -1,                    // one connection: calls of many goroutines share its writes
		ForceSingleClient: true,
		DisableCache:      true,
		DisableRetry:      true, // whoever repeats a call must say so
		AlwaysPipelining:  true, // else a deadline of one call ends the connection of all
	}
}

// openScript stands for Open in the texts of errors.
var openScript = &Script{Name: "open"}

// refused explains why Open did not work. Where others name a lock it names the
// server.
func (e *Engine) refused(ctx context.Context, a *address, err error) error {
	err = rueidisError(ctx, err)
	var reply ReplyError
	switch {
	case errors.Is(err, errServer):
		return fmt.Errorf("redis: %q: %w", a.host, err)
	case errors.As(err, &reply):
		return answered(a.host, openScript, reply)
	}
	return e.unsent(ctx, a.host, err)
}

// dialing returns a function that opens connections until life is done, and counts
// them before anybody can use them.
func dialing(life context.Context, config *tls.Config, dialed *atomic.Uint64) func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	return func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		conn, err := dial(ctx, addr, d, config)
		if err != nil {
			return nil, &NotSentError{Err: err}
		}
		dialed.Add(1)
		return &greetedConn{Conn: conn}, nil
	}
}

func dial(ctx context.Context, addr string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return d.DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{NetDialer: d, Config: config}).DialContext(ctx, "tcp", addr)
}

// A greetedConn knows whether the server has spoken. Until then rueidis sends
// nothing but its greeting, so a call that fails was not sent.
type greetedConn struct {
	net.Conn
	greeted bool
}

// Read implements [net.Conn].
func (c *greetedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	switch {
	case c.greeted:
	case n > 0:
		c.greeted = true
		// The server hangs up after these words, and rueidis would only tell
		// about that.
		if text, ok := strings.CutPrefix(string(b[:min(n, 100)]), "-ERR max number of clients"); ok {
			return 0, ReplyError("ERR max number of clients" + strings.TrimRight(text, "\r\n"))
		}
	case err != nil:
		return n, &NotSentError{Err: err}
	}
	return n, err
}
