package main

import (
	"context"

	"github.com/interlock-go/interlock"
)

// The rows on Redis. The first is the baseline of the other servers.
const (
	onRedisRow       = "Interlock on Redis"
	onSyncedRedisRow = "Interlock on Redis, appendfsync always"
)

// startRedisBackend starts a Redis that keeps its data as the other servers do, beside one
// that stores nothing.
func startRedisBackend(ctx context.Context, synced bool) (*backend, error) {
	plain, err := start(ctx)
	if err != nil {
		return nil, err
	}
	b := &backend{name: "Redis " + plain.version(ctx), stop: plain.end, peer: onRedisRow}
	servers := []*server{plain}
	b.count = func(ctx context.Context) (counts, error) {
		c := counts{transactions: unreported, syncs: unreported}
		for _, s := range servers {
			u, err := s.readUsage(ctx)
			if err != nil {
				return c, err
			}
			c.requests += float64(u.since(usage{}, scriptCalls).sent)
		}
		return c, nil
	}
	b.add(onRedisRow, plain)
	if !synced {
		return b, nil
	}
	safe, err := start(ctx, "--appendonly", "yes", "--appendfsync", "always")
	if err != nil {
		plain.end()
		return nil, err
	}
	servers = append(servers, safe)
	b.stop = func() { plain.end(); safe.end() }
	b.add(onSyncedRedisRow, safe)
	return b, nil
}

// add adds the rows about a server.
func (b *backend) add(name string, s *server) {
	row := at(s.addr, interlockContender(name))
	b.uncontended = append(b.uncontended, row)
	b.handOver = append(b.handOver, row)
	if name == onRedisRow {
		b.handOver = append(b.handOver, at(s.addr, interlockContender(name+", fair", interlock.Fair())))
	}
}

// at returns a contender on another server than the caller of open names.
func at(addr string, c contender) contender {
	open := c.open
	c.open = func(ctx context.Context, _ string) (locks, error) { return open(ctx, addr) }
	return c
}
