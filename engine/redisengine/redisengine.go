// Package redisengine is the engine on Redis and Valkey, from version 6.2 on.
//
//	e, err := redisengine.Open(ctx, "redis://localhost:6379")
//
// Locks have Redisson's format, so Java and Go programs exclude and wake each other
// on locks of the same name. docs/redis.md describes the format, docs/interop.md the
// tests against Redisson.
//
// # What is not promised
//
// A lock is as durable as the server's data. A server that loses its data, or a
// failover to a replica that has not received the lock, frees it. Leases follow the
// server's wall clock, and plain fences are its time in microseconds: if the clock is
// set back, leases last longer and plain fences may repeat. Fences of requests with
// Fenced come from a counter and always rise.
package redisengine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/trace"
)

var (
	_ engine.Engine    = (*Engine)(nil)
	_ engine.Notifier  = (*Engine)(nil)
	_ engine.Latcher   = (*Engine)(nil)
	_ engine.Inspector = (*Engine)(nil)
)

// An Engine grants locks that Redis servers store. Use [Open], [New] or [On].
type Engine struct {
	client        Client // set by use
	prefix        string
	records       string
	locks         string        // prefix of lock entries
	results       string        // prefix of result entries
	settleChannel string        // every subscriber to settlements also subscribes to it
	timeout       time.Duration // how long a call may take before its outcome is unknown
	publish       PublishMode   // as the caller chose it; see mode
	sharded       atomic.Bool   // what mode returns; written when the client connects
	redisson      bool
	lazy          bool

	acks       Acks
	ackTimeout time.Duration
	replicas   replicaCounts
	cluster    Cluster  // the client, if it is a cluster client; otherwise nil
	address    *address // the URL that Open parsed, otherwise nil

	// The clock is an estimate and the texts are caches, so a lost update costs only
	// time.
	clock      serverClock
	lease      millis
	queueLease millis
	retain     millis
	acquires   mergers
	releases   mergers

	claimText   lastText[claimTerms]
	settleText  lastText[settlementTerms]
	claims      merger
	settlements merger

	notifier *notifier
	calls    trace.Hooks[engine.ServerCall]
	dialed   atomic.Uint64 // number of connections
	closed   atomic.Bool
}

// New returns an engine on a client that the caller closes after the engine. A call
// without an answer takes up to the client's ConnWriteTimeout plus twice its
// Dialer.KeepAlive. Set [Timeout] if the client's timeout is not 2s.
//
// On a cluster client, New asks a server for its version, unless [Publish] is given.
// A server that does not answer counts as Redis 7 or later.
func New(client rueidis.Client, opts ...Option) *Engine {
	single := rueidisClient{client: client}
	if client.Mode() == rueidis.ClientModeCluster {
		return On(newRueidisCluster(single, defaultRefresh, defaultRedirects), opts...)
	}
	return On(&single, opts...)
}

// On returns an engine on another Redis library, such as package goredis. The engine
// closes c.
func On(c Client, opts ...Option) *Engine {
	e := newEngine(opts...)
	e.use(c)
	ctx, cancel := context.WithTimeout(context.Background(), e.timeout)
	defer cancel()
	version := ""
	if e.cluster != nil && e.publish == Auto {
		version = e.version(ctx)
	}
	e.setMode(e.cluster != nil, version)
	return e
}

// version returns the version of a node, or "" if it does not say.
func (e *Engine) version(ctx context.Context) string {
	node, err := anyNode(ctx, e.cluster)
	if err != nil {
		return ""
	}
	c := e.call(infoScript)
	defer c.free()
	c.args("server")
	reply, err := node.Eval(ctx, c)
	if err != nil || len(reply.List) == 0 {
		return ""
	}
	return field(reply.List[0].Text, "redis_version")
}

// setMode resolves Auto: Sharded on a cluster that supports it, otherwise Plain. Redis 6 has
// no SPUBLISH. An unknown version, as for a user without INFO, counts as 7.0.
func (e *Engine) setMode(cluster bool, version string) {
	e.sharded.Store(e.publish == Sharded || e.publish == Auto && cluster && !older(version, 7, 0))
}

// mode returns the command that publishes.
func (e *Engine) mode() PublishMode {
	if e.sharded.Load() {
		return Sharded
	}
	return Plain
}

// newEngine returns an engine without a client. The options come before the client,
// because they decide how it is opened.
func newEngine(opts ...Option) *Engine {
	e := &Engine{timeout: defaultTimeout, ackTimeout: defaultAckTimeout, publish: Auto}
	Records(defaultRecords)(e)
	for _, opt := range opts {
		opt(e)
	}
	e.clock.init()
	e.acquires.open(e.acquireMany)
	e.releases.open(e.releaseMany)
	e.claims.exec = e.claimMany
	e.settlements.exec = e.settleMany
	return e
}

// use attaches the client.
func (e *Engine) use(c Client) {
	e.client = c
	e.cluster, _ = c.(Cluster)
	e.notifier = newNotifier(c, e.mode)
}

// merges reports whether concurrent calls share a batch: not if their keys are on
// several servers, and not if each call waits for replicas.
func (e *Engine) merges() bool { return e.cluster == nil && e.acks == NoAcks }

// Close closes the connections that the engine has opened, and waits for them. Later
// calls fail with [engine.ErrClosed].
func (e *Engine) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	// The notifier uses the client, and the mergers wait for calls that the client ends.
	e.notifier.close()
	err := e.client.Close()
	e.acquires.close()
	e.releases.close()
	e.claims.close()
	e.settlements.close()
	return err
}

// Capabilities implements [engine.Engine].
func (e *Engine) Capabilities() engine.Capabilities {
	c := engine.Capabilities{
		Kinds:    []engine.Kind{engine.Fair, engine.Read, engine.Write, engine.Permit},
		Notifier: e, Latcher: e, Inspector: e, Ledger: ledger{e}, Eraser: ledger{e}, Quotas: quotas{e}, Fencer: e, Incarnations: e, Notes: e, LateGrant: e.timeout,
	}
	if e.cluster != nil {
		// Each node has its own clock and incarnation.
		c.LateGrant, c.Shard, c.Node, c.Incarnations = 0, e.shard, e.node, nil
	}
	c.Observe = e.calls.Add
	if e.discover() != nil {
		c.Prober = e
	}
	return c
}

// Notify implements [engine.Notifier].
func (e *Engine) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	name, err := e.name(r.Key)
	if err != nil {
		return nil, func() {} // the key is invalid, so the lock cannot be held
	}
	switch r.Kind {
	case engine.Fair:
		// The holder may have acquired the key as an exclusive lock. Then its release
		// ignores the queue, and is published on the common channel.
		return e.notifier.subscribe(lockChannel(name)+":"+r.Holder, lockChannel(name))
	case engine.Read:
		return e.notifier.subscribe(rwChannel(name))
	case engine.Write:
		return e.notifier.subscribe(rwChannel(name)+":"+r.Holder+":write", rwChannel(name))
	case engine.Permit:
		return e.notifier.subscribe(permitChannel(name)+":"+permitName(&r), permitChannel(name))
	case engine.Latch:
		return e.notifier.subscribe(latchChannel(name))
	}
	return e.notifier.subscribe(lockChannel(name))
}

// permitName returns the name of a permit on the server.
func permitName(r *engine.Request) string { return r.Holder + "/" + r.Attempt }

// usable returns an error if ctx is done or the engine is closed.
func (e *Engine) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.closed.Load() {
		return errClosed
	}
	// Once a lazy cluster is connected, the engine knows its mode. The call that follows
	// reports the error.
	if l, ok := e.client.(*lazyCluster); ok {
		_, _ = l.get(ctx)
	}
	return nil
}

// checkRequest refuses an invalid request, and returns the name of the lock's key.
func (e *Engine) checkRequest(ctx context.Context, r *engine.Request) (string, error) {
	if err := e.usable(ctx); err != nil {
		return "", err
	}
	if r.Holder == "" || r.Attempt == "" || r.Lease <= 0 {
		return "", incompleteError(r)
	}
	if r.Holder == "mode" || strings.HasPrefix(r.Holder, "fence:") {
		return "", fmt.Errorf("redis: holder %q: the name is reserved in the format of locks: use a name like uuid:number", r.Holder)
	}
	if err := checkKind(r); err != nil {
		return "", err
	}
	return e.name(r.Key)
}
