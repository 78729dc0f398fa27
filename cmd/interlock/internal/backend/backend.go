// Package backend opens engines by URL, for all commands.
package backend

import (
	"context"
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
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
}

// kinds are the engines that have URLs.
var kinds = []kind{
	{"Redis", []string{"redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"}, openRedis, probeRedis},
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

// errScheme names the scheme only, because a URL may contain a password.
func errScheme(url string) error {
	scheme, _, _ := strings.Cut(url, "://")
	return fmt.Errorf("no engine has URLs that begin with %q", scheme+"://")
}

func openRedis(ctx context.Context, url string, lazy bool) (Engine, error) {
	var opts []redisengine.Option
	if lazy {
		opts = append(opts, redisengine.Lazy())
	}
	e, err := redisengine.Open(ctx, url, opts...)
	if err != nil {
		return nil, err // not a nil *redisengine.Engine in an interface
	}
	return e, nil
}

func probeRedis(ctx context.Context, url string) (engine.Health, error) {
	return redisengine.Probe(ctx, url)
}
