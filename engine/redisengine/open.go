package redisengine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/interlock-go/interlock/engine"
)

// heartbeat is the idle time after which a connection is tested. A call to a server that
// does not answer fails after the timeout plus at most two heartbeats.
const heartbeat = 500 * time.Millisecond

// Open connects to the server that a URL names:
//
//	redis://user:password@host:6379/0?timeout=2s&prefix=shop:
//
// or to the primary behind sentinels, or to a cluster, of which some nodes are enough:
//
//	redis+sentinel://user:password@host1:26379,host2:26379,host3:26379/mymaster/0
//	redis+cluster://user:password@host1:6379,host2:6379,host3:6379
//
// rediss://, rediss+sentinel:// and rediss+cluster:// use TLS. The default port is 6379,
// or 26379 for a sentinel; the default database is 0. Optional parameters, with their
// defaults:
//
//	timeout       how long a call may take (2s)
//	dial_timeout  how long connecting may take (2s)
//	client_name   the connection's name in CLIENT LIST (interlock)
//	prefix        see [Prefix]
//	records       see [Records]
//	publish       auto, publish or spublish, see [Publish] (auto)
//	acks          off, any, quorum or all, see [Acknowledge] (off)
//	ack_timeout   see [AckTimeout] (1s)
//	redisson      true or false, see [Redisson]
//	lazy          true or false, see [Lazy]
//	tls_ca        file of trusted certificates (the system's)
//	tls_name      the name in the server's certificate (host)
//
// With sentinels and clusters:
//
//	refresh            how often to look for the primaries (2s)
//	redirects          how many redirects a call follows in a cluster (3)
//	sentinel_user      user for the sentinels (their default user)
//	sentinel_password  password for the sentinels
//
// Options override parameters. All calls to a server share one connection. A second one
// receives messages once a caller waits for a lock, and each call that waits for
// replicas has its own.
func Open(ctx context.Context, url string, opts ...Option) (*Engine, error) {
	a, err := parse(url)
	if err != nil {
		return nil, err
	}
	e := newEngine(append(a.options, opts...)...)
	connect := func(ctx context.Context) (Client, error) { return e.connect(ctx, a) }
	client, err := connect(ctx)
	// Lazy tolerates a server that is down, but not a wrong password or version.
	if err != nil && e.lazy && ctx.Err() == nil && errors.Is(err, engine.ErrUnavailable) {
		client, err = newLazyClient(a.topology, connect, err), nil
	}
	if err != nil {
		return nil, err
	}
	e.use(client)
	e.address = a
	return e, nil
}

// connect opens the first connections and checks the server.
func (e *Engine) connect(ctx context.Context, a *address) (Client, error) {
	// The client dials with ctx's values, but outlives ctx once it is open.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, end)()
	client, err := rueidis.NewClient(e.clientOption(life, a))
	if client == nil {
		end()
		return nil, e.openError(ctx, a, err)
	}
	if err == nil {
		err = e.checkServer(ctx, client, a.topology)
	}
	single := rueidisClient{client: client, stopDial: end}
	if err != nil {
		_ = single.Close()
		return nil, e.openError(ctx, a, err)
	}
	if a.topology == engine.Cluster {
		return newRueidisCluster(single, a.refresh, a.redirects), nil
	}
	return &single, nil
}

// clientOption returns the settings of rueidis. ConnWriteTimeout and KeepAlive bound the
// time of a call; see rueidisClient.Eval.
func (e *Engine) clientOption(life context.Context, a *address) rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress:       a.hosts,
		Username:          a.user,
		Password:          a.password,
		SelectDB:          a.db,
		ClientName:        a.client,
		DialCtxFn:         e.dialer(life, a.tls),
		Dialer:            net.Dialer{Timeout: a.dialTimeout, KeepAlive: heartbeat},
		ConnWriteTimeout:  e.timeout,
		MaxFlushDelay:     20 * time.Microsecond, // measured: fewer system calls at the same latency
		PipelineMultiplex: -1,                    // one connection, so that goroutines share its writes
		ForceSingleClient: a.topology == engine.Standalone,
		Sentinel: rueidis.SentinelOption{
			MasterSet: a.main, Username: a.sentinelUser, Password: a.sentinelPassword, ClientName: a.client,
			Dialer: net.Dialer{Timeout: a.dialTimeout, KeepAlive: heartbeat}, TopologyRefreshInterval: a.refresh,
		},
		ClusterOption:    rueidis.ClusterOption{ShardsRefreshInterval: a.refresh, MaxMovedRedirections: a.redirects},
		DisableCache:     true,
		DisableRetry:     true, // a repeated request must be marked as Retry
		AlwaysPipelining: true, // otherwise the deadline of one call closes the connection of all
	}
}

// openScript names Open in error texts.
var openScript = &Script{Name: "open"}

// openError explains why Open failed. It names the servers where other errors name the
// lock.
func (e *Engine) openError(ctx context.Context, a *address, err error) error {
	err = rueidisError(ctx, err)
	var reply ReplyError
	switch {
	case errors.Is(err, errServer):
		return fmt.Errorf("redis: %q: %w", strings.Join(a.hosts, ","), err)
	case errors.As(err, &reply):
		return replyFailure(strings.Join(a.hosts, ","), openScript, reply)
	}
	return e.notSent(ctx, strings.Join(a.hosts, ","), err)
}

// dialer returns a function that opens connections until life is done. It counts each
// connection before its first use, and resets the clock: another server may be at the
// other end.
func (e *Engine) dialer(life context.Context, config *tls.Config) func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	return func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		conn, err := dial(ctx, addr, d, config)
		if err != nil {
			return nil, &NotSentError{Err: err}
		}
		e.dialed.Add(1)
		e.clock.forget()
		return &greetedConn{Conn: conn}, nil
	}
}

// dial opens a connection, with TLS if config is not nil.
func dial(ctx context.Context, addr string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return d.DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{NetDialer: d, Config: config}).DialContext(ctx, "tcp", addr)
}

// A greetedConn knows whether the server has sent anything. Until then rueidis sends
// only its handshake, so a call that fails was not sent.
type greetedConn struct {
	net.Conn
	greeted bool // rueidis reads from one goroutine at a time
}

// Read implements [net.Conn].
func (c *greetedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	switch {
	case c.greeted:
	case n > 0:
		c.greeted = true
		// The server closes the connection after this error, and rueidis would report
		// only that.
		if text, ok := strings.CutPrefix(string(b[:min(n, 100)]), "-ERR max number of clients"); ok {
			return 0, ReplyError("ERR max number of clients" + strings.TrimRight(text, "\r\n"))
		}
	case err != nil:
		return n, &NotSentError{Err: err}
	}
	return n, err
}
