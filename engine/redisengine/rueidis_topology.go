package redisengine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/redis/rueidis"

	"github.com/interlock-go/interlock/engine"
)

var _ Discoverer = (*rueidisClient)(nil)

// discover returns the topology that the URL describes. Probes have their own connections,
// which the engine does not count.
func (a *address) discover() Topology {
	s := Topology{Topology: a.topology, Servers: a.hosts, Anonymous: a.password == "", Dial: a.dialNode}
	if a.topology == engine.Sentinel {
		s.Servers, s.Sentinels, s.Main = nil, a.hosts, a.main
	}
	return s
}

// dialNode connects to one of the servers of the URL.
func (a *address) dialNode(ctx context.Context, addr string, sentinel bool) (Conn, error) {
	// Sentinels have users of their own.
	user, password := a.user, a.password
	if sentinel {
		user, password = a.sentinelUser, a.sentinelPassword
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, Username: user, Password: password, ClientName: a.client,
		ForceSingleClient: true, DisableCache: true, DisableRetry: true, AlwaysPipelining: true, PipelineMultiplex: -1,
		Dialer: net.Dialer{Timeout: min(a.dialTimeout, probeTimeout)}, ConnWriteTimeout: probeTimeout,
		DialCtxFn: func(_ context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return dial(ctx, addr, d, a.tls)
		},
	})
	if err != nil {
		return nil, rueidisError(ctx, err)
	}
	return &rueidisConn{client, client.Close}, nil
}

// Topology implements [Discoverer] for a client of the caller. Only the caller knows how to
// connect, so sentinels and replicas are not asked.
func (c *rueidisClient) Topology(context.Context) (Topology, error) {
	s := Topology{Topology: engine.Standalone, Dial: c.dialNode}
	switch c.client.Mode() {
	case rueidis.ClientModeCluster:
		s.Topology = engine.Cluster
	case rueidis.ClientModeSentinel:
		s.Topology = engine.Sentinel
	}
	for addr := range c.client.Nodes() {
		s.Servers = append(s.Servers, addr)
	}
	return s, nil
}

// dialNode returns the client of a node that the caller's client already has.
func (c *rueidisClient) dialNode(_ context.Context, addr string, _ bool) (Conn, error) {
	node := c.client.Nodes()[addr]
	if node == nil {
		return nil, fmt.Errorf("the client has no connection to %s: %w", addr, errors.ErrUnsupported)
	}
	return &rueidisConn{node, func() {}}, nil
}

// A rueidisConn is a [Conn] on rueidis.
type rueidisConn struct {
	client rueidis.Client
	end    func() // closes the client, if Dial has opened it
}

// Do implements [Conn].
func (a *rueidisConn) Do(ctx context.Context, command ...string) (any, error) {
	answer, err := a.client.Do(ctx, a.client.B().Arbitrary(command...).Build()).ToAny()
	// A nil reply is an error to rueidis, and an answer to [Conn].
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	return answer, rueidisError(ctx, err)
}

// Close implements [Conn].
func (a *rueidisConn) Close() error {
	a.end()
	return nil
}
