package goredis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
)

var (
	_ redisengine.Discoverer = (*adapter)(nil)
	_ redisengine.Discoverer = (*cluster)(nil)
)

// Topology implements [redisengine.Discoverer]. Go-redis does not report the sentinels, so
// the replicas are those that the primary knows.
func (a *adapter) Topology(ctx context.Context) (redisengine.Topology, error) {
	c, ok := a.client.(*redis.Client)
	if !ok {
		return redisengine.Topology{}, fmt.Errorf("goredis: %T does not report its server: %w", a.client, errors.ErrUnsupported)
	}
	opt := c.Options()
	options := connOptions{opt.Username, opt.Password, opt.TLSConfig, opt.CredentialsProviderContext}
	s := redisengine.Topology{Topology: engine.Standalone, Servers: []string{opt.Addr}, Anonymous: options.anonymous() && opt.CredentialsProvider == nil}
	if opt.Addr == failoverAddr {
		s.Topology = engine.Sentinel
		s.Servers[0] = a.primaryAddr(ctx)
	}
	s.Dial = func(_ context.Context, addr string, _ bool) (redisengine.Conn, error) {
		// The caller's client has a connection to the primary, with all its options.
		if addr == s.Servers[0] {
			return &conn{adapter: a}, nil
		}
		return options.dial(addr), nil
	}
	return s, nil
}

// primaryAddr asks a server for its own address. go-redis dials the primary itself and
// shows only a placeholder as its address.
func (a *adapter) primaryAddr(ctx context.Context) string {
	answer, _ := (&conn{adapter: a}).Do(ctx, "CLIENT", "INFO")
	text, _ := answer.(string)
	for f := range strings.FieldsSeq(text) {
		if addr, ok := strings.CutPrefix(f, "laddr="); ok {
			return addr
		}
	}
	return "the primary"
}

// Topology implements [redisengine.Discoverer].
func (c *cluster) Topology(context.Context) (redisengine.Topology, error) {
	opt := c.client.Options()
	options := connOptions{opt.Username, opt.Password, opt.TLSConfig, opt.CredentialsProviderContext}
	return redisengine.Topology{
		Topology: engine.Cluster, Servers: opt.Addrs, Anonymous: options.anonymous() && opt.CredentialsProvider == nil,
		Dial: func(_ context.Context, addr string, _ bool) (redisengine.Conn, error) { return options.dial(addr), nil },
	}, nil
}

// connOptions are the options for connections to other servers.
type connOptions struct {
	user, password string
	tls            *tls.Config
	credentials    func(context.Context) (string, string, error)
}

// anonymous reports whether connections use no password.
func (o connOptions) anonymous() bool { return o.password == "" && o.credentials == nil }

// dial connects to a server that the client has no connection to.
func (o connOptions) dial(addr string) redisengine.Conn {
	config := o.tls
	if config != nil {
		// The options belong to the caller's client, and each server has its own name.
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	client := redis.NewClient(&redis.Options{
		Addr: addr, Username: o.user, Password: o.password, CredentialsProviderContext: o.credentials, TLSConfig: config,
		PoolSize: 1, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, ClientName: "interlock",
	})
	return &conn{adapter: newAdapter(client), end: client.Close}
}

// A conn is a [redisengine.Conn] on go-redis.
type conn struct {
	adapter *adapter
	end     func() error // nil if the client is the caller's
}

// Do implements [redisengine.Conn].
func (a *conn) Do(ctx context.Context, command ...string) (any, error) {
	args := make([]any, len(command))
	for i, part := range command {
		args[i] = part
	}
	cmd := once{redis.NewCmd(ctx, args...)}
	err := a.adapter.process(ctx, cmd, func() {})
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, classify(err)
	}
	return cmd.Val(), nil
}

// Close implements [redisengine.Conn].
func (a *conn) Close() error {
	if a.end == nil {
		return nil
	}
	err := a.adapter.Close() // waits for pending calls
	return errors.Join(err, a.end())
}
