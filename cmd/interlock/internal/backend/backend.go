// Package backend opens engines by URL, for all commands.
package backend

import (
	"context"
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/engine"
)

// An Engine is an engine with servers.
type Engine interface {
	engine.Engine
	Close() error
}

// A kind is a kind of engine.
type kind struct {
	name    string   // of the product
	schemes []string // of its URLs
	open    func(ctx context.Context, url string, lazy bool) (Engine, error)
	probe   func(ctx context.Context, url string) (engine.Health, error)

	// migrate creates or migrates the schema. It is nil for engines without one.
	migrate func(ctx context.Context, url string) (changed bool, err error)
}

// kinds are the engines that have URLs.
var kinds = []kind{
	{name: "Redis", schemes: []string{"redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"}, open: openRedis, probe: probeRedis},
	{name: "PostgreSQL", schemes: []string{"postgres", "postgresql"}, open: openPostgres, probe: probePostgres, migrate: migratePostgres},
	{name: "MySQL", schemes: []string{"mysql", "mariadb"}, open: openMySQL, probe: probeMySQL, migrate: migrateMySQL},
	{name: "etcd", schemes: []string{"etcd", "etcds"}, open: openEtcd, probe: probeEtcd},
	{name: "ZooKeeper", schemes: []string{"zk", "zks"}, open: openZooKeeper, probe: probeZooKeeper},
}

// find returns the kind of a URL, or nil.
func find(url string) *kind {
	scheme, _, ok := strings.Cut(url, "://")
	for i := range kinds {
		for _, s := range kinds[i].schemes {
			if ok && s == scheme {
				return &kinds[i]
			}
		}
	}
	return nil
}

// Known reports whether a URL has the scheme of an engine.
func Known(url string) bool { return find(url) != nil }

// Name returns the name of the product that a URL is for, or "" if it is not known.
func Name(url string) string {
	if k := find(url); k != nil {
		return k.name
	}
	return ""
}

// Open opens the engine of a URL. With lazy, its servers may be unreachable.
func Open(ctx context.Context, url string, lazy bool) (Engine, error) {
	k := find(url)
	if k == nil {
		return nil, errScheme(url)
	}
	return k.open(ctx, url, lazy)
}

// Probe examines the servers of a URL, also those of an engine that cannot be opened.
func Probe(ctx context.Context, url string) (engine.Health, error) {
	k := find(url)
	if k == nil {
		return engine.Health{}, errScheme(url)
	}
	return k.probe(ctx, url)
}

// Migrates reports whether the engine of a URL has a schema.
func Migrates(url string) bool {
	k := find(url)
	return k != nil && k.migrate != nil
}

// Migrate creates or migrates the schema of a URL's engine, and reports whether it changed
// anything.
func Migrate(ctx context.Context, url string) (changed bool, err error) {
	k := find(url)
	switch {
	case k == nil:
		return false, errScheme(url)
	case k.migrate == nil:
		return false, nil
	}
	return k.migrate(ctx, url)
}

// errScheme names the scheme only, because a URL may contain a password.
func errScheme(url string) error {
	scheme, _, _ := strings.Cut(url, "://")
	return fmt.Errorf("no engine has URLs that begin with %q", scheme+"://")
}

// opened returns the result of an engine's Open. A nil pointer would not be a nil Engine.
func opened[E Engine](e E, err error) (Engine, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}

// with returns opts, and lazily if lazy is set.
func with[O any](lazy bool, lazily func() O) (opts []O) {
	if lazy {
		opts = append(opts, lazily())
	}
	return opts
}

// of returns a function that names the product of an engine's health.
func of(p engine.Product) func(engine.Health, error) (engine.Health, error) {
	return func(h engine.Health, err error) (engine.Health, error) {
		h.Product = p
		return h, err
	}
}

// hosts returns the servers of a URL, without the user and password. A password may contain
// an @, so the last @ ends it.
func hosts(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return rest[strings.LastIndexByte(rest, '@')+1:]
}
