package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/interlock-go/interlock/engine"
)

// Open connects to the cluster that a URL names:
//
//	etcd://user:password@host1:2379,host2:2379,host3:2379?timeout=2s&prefix=shop/
//
// etcds:// uses TLS. The default port is 2379. Name all members, so that calls go to
// another one when a member is down. Optional parameters, with their defaults:
//
//	timeout       how long a call may take (2s)
//	dial_timeout  how long connecting to a member may take (2s)
//	prefix        see [Prefix] (interlock/)
//	lazy          true or false, see [Lazy]
//	tls_ca        file of trusted certificates (the system's)
//	tls_cert      file of the client's certificate
//	tls_key       file of its key
//	tls_name      the name in the members' certificates (host)
//
// Options override parameters.
func Open(ctx context.Context, url string, opts ...Option) (*Engine, error) {
	a, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	e := newEngine(append(a.options, opts...)...)
	e.owned = true
	config := clientv3.Config{
		Endpoints:            a.endpoints,
		Username:             a.user,
		Password:             a.password,
		TLS:                  a.tls,
		DialTimeout:          a.dialTimeout,
		DialKeepAliveTime:    keepAliveTime,
		DialKeepAliveTimeout: keepAliveTimeout,
		MaxCallSendMsgSize:   maxRequest,
		Logger:               zap.NewNop(), // the engine reports errors to its callers
		Context:              context.WithoutCancel(ctx),
	}
	if e.client, err = clientv3.New(config); err != nil {
		err = openError(ctx, err)
		if !e.lazy || ctx.Err() != nil || !errors.Is(err, engine.ErrUnavailable) {
			return nil, fmt.Errorf("etcd: open: %w", err)
		}
		if e.client, err = withoutLogin(config); err != nil {
			return nil, fmt.Errorf("etcd: open: %w", err)
		}
	}
	// Lazy tolerates a cluster that is down, but not a wrong password.
	err = e.check(ctx)
	if e.lazy && ctx.Err() == nil && errors.Is(err, engine.ErrUnavailable) {
		err = nil
	}
	if err != nil {
		_ = e.Close()
		return nil, err
	}
	return e, nil
}

// withoutLogin returns a client that logs in once a member has refused its token. The others of
// a user log in when they are made.
func withoutLogin(c clientv3.Config) (*clientv3.Client, error) {
	user, password := c.Username, c.Password
	c.Username, c.Password, c.Token = "", "", "none"
	client, err := clientv3.New(c)
	if err != nil {
		return nil, err
	}
	client.Username, client.Password, client.Token = user, password, ""
	return client, nil
}

const (
	// keepAliveTime is the idle time after which a connection is tested, the shortest that
	// gRPC allows. A connection without an answer within keepAliveTimeout is closed.
	keepAliveTime    = 10 * time.Second
	keepAliveTimeout = 2 * time.Second

	// maxRequest is above every --max-request-bytes, so that the server's limit decides.
	maxRequest = 64 << 20
)

// check reads a key, to refuse a wrong password or a missing permission early.
func (e *Engine) check(ctx context.Context) error {
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	_, err = e.read(ctx, e.keys.prefix, "open", clientv3.OpGet(e.keys.fence()))
	return err
}

// openError explains why there is no client. With a password, making one asks the cluster.
func openError(ctx context.Context, err error) error {
	if m, known := meaningOf(err); known {
		return fail("cluster", fmt.Sprintf("%s: %v", m.hint, err), m.err, err)
	}
	return fail("cluster", fmt.Sprintf("cannot reach a member: %v", err), engine.ErrUnavailable, err, ctx.Err())
}
