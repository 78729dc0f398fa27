package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/interlock-go/interlock/internal/testing/etcdtest"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// A backend is a server on which engines and other locks are compared.
type backend struct {
	name string // such as "etcd 3.7.3"

	uncontended []contender // the baseline among them is named by peer
	relayed     []contender
	peer        string // the row that uses the server without Interlock

	count func(context.Context) (counts, error)
	stop  func()

	postgres *postgresServer // nil on other servers
}

// startBackends starts a server of each kind at the same time. Each syncs to disk, or none.
// A kind that is not installed is left out and named, except in continuous integration.
func startBackends(ctx context.Context, out io.Writer, synced bool) ([]*backend, error) {
	kinds := []struct {
		name  string
		start func(context.Context, bool) (*backend, error)
	}{
		{"Redis", startRedisBackend}, {"PostgreSQL", startPostgresBackend},
		{"etcd", startEtcdBackend}, {"ZooKeeper", startZooKeeperBackend},
	}
	started, failed := make([]*backend, len(kinds)), make([]error, len(kinds))
	var all sync.WaitGroup
	for i, k := range kinds {
		all.Go(func() { started[i], failed[i] = k.start(ctx, synced) })
	}
	all.Wait()
	var (
		running []*backend
		errs    []error
	)
	for i, k := range kinds {
		switch err := failed[i]; {
		case err == nil:
			running = append(running, started[i])
		case isMissing(err) && os.Getenv("CI") != "true":
			fmt.Fprintf(out, "\nNOT RUN: the part engines on %s: %v\n", k.name, err)
		default:
			errs = append(errs, fmt.Errorf("%s: %w", k.name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		stopBackends(running)
		return nil, err
	}
	return running, nil
}

// isMissing reports whether a server did not start because it is not installed.
func isMissing(err error) bool {
	return errors.Is(err, postgrestest.ErrMissing) || errors.Is(err, etcdtest.ErrMissing) || errors.Is(err, zookeepertest.ErrMissing)
}

func stopBackends(all []*backend) {
	for _, b := range all {
		b.stop()
	}
}
