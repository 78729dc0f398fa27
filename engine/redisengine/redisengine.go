// Package redisengine is the engine on Redis and Valkey, from version 6.2 on.
//
//	e, err := redisengine.Open(ctx, "redis://localhost:6379")
//
// Locks are kept as Redisson keeps them, so programs in Java and in Go exclude
// and wake each other on locks of the same name; docs/redis.md has the format,
// docs/interop.md what was tried.
//
// # What is not promised
//
// A lock is as lasting as what Redis keeps: a server that forgets its data, or a
// failover to a replica that had not yet heard of a lock, frees it. Leases run by
// the server's wall clock, and plain fences are its time in microseconds: if that
// clock is set back, leases last longer and plain fences may repeat themselves.
// Those of requests with Fenced go through a counter and rise all the same.
package redisengine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/interlock-go/interlock/engine"
)

var (
	_ engine.Engine    = (*Engine)(nil)
	_ engine.Notifier  = (*Engine)(nil)
	_ engine.Latcher   = (*Engine)(nil)
	_ engine.Inspector = (*Engine)(nil)
)

// An Engine grants locks that a Redis server keeps. Use [Open], [New] or [On].
type Engine struct {
	client        Client
	prefix        string
	records       string
	locks         string // what the names of lock entries begin with
	results       string // and of result entries
	settleChannel string // the channel of who listens for settlements
	timeout       time.Duration
	publish       PublishMode
	redisson      bool
	lazy          bool

	acks       Acks
	ackTimeout time.Duration
	replicas   replicaCounts
	cluster    Cluster  // the client, if it is one of many servers; otherwise nil
	address    *address // what Open was given; otherwise nil

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
	dialed   atomic.Uint64 // connections
	closed   atomic.Bool
}

// New returns an engine on a client of the caller's, who closes it after the
// engine. The client's ConnWriteTimeout and Dialer.KeepAlive bound how long a
// call takes without a server that answers: the first and twice the second. Its
// timeout is to be given with [Timeout] if it is not 2 s.
//
// With a client for a cluster, New asks a server for its version, unless it is
// told how to [Publish]. One that does not answer is taken for Redis 7 or later.
func New(client rueidis.Client, opts ...Option) *Engine {
	alone := rueidisClient{client: client}
	if client.Mode() == rueidis.ClientModeCluster {
		return On(newRueidisCluster(alone, defaultRefresh, defaultRedirects), opts...)
	}
	return On(&alone, opts...)
}

// On returns an engine on another Redis library; package goredis has one. The
// engine closes c.
func On(c Client, opts ...Option) *Engine {
	e := newEngine(opts...)
	e.cluster, _ = c.(Cluster)
	ctx, cancel := context.WithTimeout(context.Background(), e.timeout)
	defer cancel()
	e.use(c, e.publishMode(ctx))
	return e
}

// publishing returns the command by which a release is made known, if that is
// left to us.
func (e *Engine) publishMode(ctx context.Context) PublishMode {
	switch {
	case e.publish != Auto:
		return e.publish
	case e.cluster == nil:
		return Plain
	}
	node, err := anyNode(ctx, e.cluster)
	if err != nil {
		return Sharded
	}
	c := e.call(infoScript)
	defer c.free()
	c.args("server")
	reply, err := node.Eval(ctx, c)
	if err == nil && len(reply.List) > 0 && older(field(reply.List[0].Text, "redis_version"), 7, 0) {
		return Plain
	}
	return Sharded
}

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

func (e *Engine) use(c Client, m PublishMode) {
	e.client, e.publish = c, m
	e.cluster, _ = c.(Cluster)
	e.notifier = newNotifier(c, m)
}

// together reports whether calls about several keys may share a trip: not if the
// keys lie on several servers, nor if each waits for replicas.
func (e *Engine) merges() bool { return e.cluster == nil && e.acks == NoAcks }

// Close ends the connections that the engine has opened and waits for them.
// Calls after it fail with [engine.ErrClosed].
func (e *Engine) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
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
		Notifier: e, Latcher: e, Inspector: e, Ledger: ledger{e}, Eraser: ledger{e}, Fencer: e, Incarnations: e, Notes: e, LateGrant: e.timeout,
	}
	if e.cluster != nil {
		// Each node has a memory of its own, and none speaks for all.
		c.LateGrant, c.Shard, c.Incarnations = 0, e.shard, nil
	}
	if e.discover() != nil {
		c.Prober = e
	}
	return c
}

// Notify implements [engine.Notifier].
func (e *Engine) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	name, err := e.name(r.Key)
	if err != nil {
		return nil, func() {} // nobody can hold such a lock
	}
	switch r.Kind {
	case engine.Fair:
		// An exclusive holder knows nothing of who stands in line.
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

// permit is what a permit is called on the server.
func permitName(r *engine.Request) string { return r.Holder + "/" + r.Attempt }

// usable tells why nothing is to be sent, if so.
func (e *Engine) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.closed.Load() {
		return errClosed
	}
	return nil
}

// admit tells why a request is not to be sent, if it is not, and otherwise the
// name of the lock's key.
func (e *Engine) checkRequest(ctx context.Context, r *engine.Request) (string, error) {
	if err := e.usable(ctx); err != nil {
		return "", err
	}
	if r.Holder == "" || r.Attempt == "" || r.Lease <= 0 {
		return "", incompleteError(r)
	}
	if r.Holder == "mode" || strings.HasPrefix(r.Holder, "fence:") {
		return "", fmt.Errorf("redis: holder %q: the name has another meaning in a lock: use one like uuid:number", r.Holder)
	}
	if r.Kind != engine.Exclusive {
		if err := checkKind(r); err != nil {
			return "", err
		}
	}
	return e.name(r.Key)
}
