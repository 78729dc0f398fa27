package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
)

// The rows on etcd.
const (
	onEtcdRow    = "Interlock on etcd"
	etcdMutexRow = "etcd: concurrency.Mutex"
)

// startEtcdBackend starts one member.
func startEtcdBackend(_ context.Context, synced bool) (*backend, error) {
	m, stop, err := etcdtest.Shared("--unsafe-no-fsync=" + strconv.FormatBool(!synced))
	if err != nil {
		return nil, err
	}
	ours := func(name string, opts ...interlock.Option) contender {
		return contender{name: name, open: func(ctx context.Context, _ string) (locks, error) {
			e, err := etcd.Open(ctx, m.URL())
			if err != nil {
				return locks{}, err
			}
			return clientLocks(e, e.Close, opts...), nil
		}}
	}
	b := &backend{
		name: "etcd", stop: stop, peer: etcdMutexRow,
		uncontended: []contender{ours(onEtcdRow), etcdMutex(etcdMutexRow, m.Addr())},
		handOver:    []contender{ours(onEtcdRow), ours(onEtcdRow+", fair", interlock.Fair()), etcdMutex(etcdMutexRow, m.Addr())},
		count:       func(context.Context) (counts, error) { return countEtcd(m.Addr()) },
	}
	if text, err := fetch("http://" + m.Addr() + "/version"); err == nil {
		var v struct{ Etcdserver string }
		_ = json.Unmarshal([]byte(text), &v) // without a version, the name is enough
		b.name += " " + v.Etcdserver
	}
	return b, nil
}

// etcdMutex returns the lock of etcd's client. Like Interlock's, its session has a lease that
// the client renews.
func etcdMutex(name, addr string) contender {
	open := func(context.Context, string) (locks, error) {
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, DialTimeout: lockLease, Logger: zap.NewNop()})
		if err != nil {
			return locks{}, err
		}
		session, err := concurrency.NewSession(client)
		if err != nil {
			_ = client.Close()
			return locks{}, err
		}
		lock := func(ctx context.Context, key string) (func() error, error) {
			m := concurrency.NewMutex(session, "peer/"+key)
			if err := m.Lock(ctx); err != nil {
				return nil, err
			}
			return func() error { return m.Unlock(context.WithoutCancel(ctx)) }, nil
		}
		return locks{cycle: cycleOf(lock), lock: lock, close: func() {
			_ = session.Close()
			_ = client.Close()
		}}, nil
	}
	return contender{name: name, open: open}
}

// countEtcd reads the counters of a member.
func countEtcd(addr string) (counts, error) {
	text, err := fetch("http://" + addr + "/metrics")
	return counts{
		requests:     sumSamples(text, "grpc_server_started_total"), // a stream counts once
		transactions: sumSamples(text, "etcd_server_proposals_committed_total"),
		syncs:        sumSamples(text, "etcd_disk_wal_fsync_duration_seconds_count"),
	}, err
}

// fetch returns the body of a page.
func fetch(url string) (string, error) {
	client := &http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return string(text), err
}
