package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/zookeeper"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// The rows on ZooKeeper.
const (
	onZooKeeperRow = "Interlock on ZooKeeper"
	zkLockRow      = "zk: NewLock, the recipe of Curator"
)

// startZooKeeperBackend starts one server.
func startZooKeeperBackend(_ context.Context, synced bool) (*backend, error) {
	setting := "forceSync=no"
	if synced {
		setting = "forceSync=yes"
	}
	s, stop, err := zookeepertest.Shared(setting)
	if err != nil {
		return nil, err
	}
	ours := func(name string, opts ...interlock.Option) contender {
		return contender{name: name, open: func(ctx context.Context, _ string) (locks, error) {
			e, err := zookeeper.Open(ctx, s.URL())
			if err != nil {
				return locks{}, err
			}
			return clientLocks(e, e.Close, opts...), nil
		}}
	}
	version, _, _ := strings.Cut(fieldAfter(s.Ask("srvr"), "Zookeeper version:"), "-")
	return &backend{
		name: "ZooKeeper " + version, stop: stop, peer: zkLockRow,
		uncontended: []contender{ours(onZooKeeperRow), zkLock(zkLockRow, s.Addr())},
		handOver:    []contender{ours(onZooKeeperRow), ours(onZooKeeperRow+", fair", interlock.Fair()), zkLock(zkLockRow, s.Addr())},
		count: func(context.Context) (counts, error) {
			text := s.Ask("mntr")
			return counts{
				requests:     monitorValue(text, "zk_packets_received"),
				transactions: lastTransaction(s.Ask("srvr")),
				syncs:        monitorValue(text, "zk_cnt_fsynctime"),
			}, nil
		},
	}, nil
}

// zkLock returns the lock of the client library: an ephemeral sequential node, and a watch on
// the node before it. Curator's InterProcessMutex does the same.
func zkLock(name, addr string) contender {
	open := func(ctx context.Context, _ string) (locks, error) {
		conn, events, err := zk.Connect([]string{addr}, 6*time.Second, zk.WithLogger(noLog{}), zk.WithLogInfo(false))
		if err != nil {
			return locks{}, err
		}
		if err := awaitSession(ctx, events); err != nil {
			conn.Close()
			return locks{}, err
		}
		lock := func(_ context.Context, key string) (func() error, error) {
			l := zk.NewLock(conn, "/peer/"+key, zk.WorldACL(zk.PermAll))
			if err := l.Lock(); err != nil {
				return nil, err
			}
			return l.Unlock, nil
		}
		return locks{cycle: cycleOf(lock), lock: lock, close: conn.Close}, nil
	}
	return contender{name: name, open: open}
}

// awaitSession returns when the client has a session.
func awaitSession(ctx context.Context, events <-chan zk.Event) error {
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockLease):
			return errors.New("no session with ZooKeeper")
		}
	}
}

// noLog discards the log of the client library.
type noLog struct{}

// Printf implements [zk.Logger].
func (noLog) Printf(string, ...any) {}
