package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/interlock-go/interlock/internal/testing/etcdtest"
	"github.com/interlock-go/interlock/internal/testing/mysqltest"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// A backend is a server on which engines and other locks are compared.
type backend struct {
	name string // such as "etcd 3.7.3"

	uncontended []contender
	handOver    []contender // that hand one lock over
	peer        string      // the row that the others are compared with

	count func(context.Context) (counts, error)
	stop  func()

	postgres *postgresServer // nil on other servers
}

// startBackends starts a server of each kind at the same time. If synced is set, they sync to
// disk before they answer. If a server is not installed, startBackends prints that and
// leaves it out; in continuous integration it returns an error.
func startBackends(ctx context.Context, out io.Writer, synced bool) ([]*backend, error) {
	kinds := []struct {
		name  string
		start func(context.Context, bool) (*backend, error)
	}{
		{"Redis", startRedisBackend}, {"PostgreSQL", startPostgresBackend},
		{"MariaDB", startMySQLBackend}, {"etcd", startEtcdBackend}, {"ZooKeeper", startZooKeeperBackend},
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
		if failed[i] == nil {
			running = append(running, started[i])
		} else if err := leaveOut(out, k.name, failed[i]); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		stopBackends(running)
		return nil, err
	}
	return running, nil
}

// leaveOut handles an error of starting a server. If the server is not installed, leaveOut
// prints that it is not measured and returns nil. Otherwise, and always in continuous
// integration, it returns the error.
func leaveOut(out io.Writer, kind string, err error) error {
	missing := slices.ContainsFunc([]error{postgrestest.ErrMissing, mysqltest.ErrMissing, etcdtest.ErrMissing, zookeepertest.ErrMissing},
		func(one error) bool { return errors.Is(err, one) })
	if !missing || os.Getenv("CI") == "true" {
		return fmt.Errorf("%s: %w", kind, err)
	}
	fmt.Fprintf(out, "\nNOT RUN: part \"engines\" on %s: %v\n", kind, err)
	return nil
}

func stopBackends(all []*backend) {
	for _, b := range all {
		b.stop()
	}
}
