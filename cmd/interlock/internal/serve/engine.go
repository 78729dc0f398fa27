package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/backend"
	"github.com/interlock-go/interlock/doctor"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/quorum"
	"github.com/interlock-go/interlock/engine/standby"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
)

// An EngineError reports an engine that cannot be reached.
type EngineError struct{ Err error }

// Error implements error.
func (e *EngineError) Error() string { return e.Err.Error() }

// Unwrap returns the engine's error.
func (e *EngineError) Unwrap() error { return e.Err }

// openedEngine is an engine, with the functions that close it and its parts.
type openedEngine struct {
	engine.Engine
	closes []func() error // in the order of opening
}

// close closes the parts in reverse order: a standby before its two engines.
func (o *openedEngine) close() (err error) {
	for _, c := range slices.Backward(o.closes) {
		err = errors.Join(err, c())
	}
	return err
}

// openTimeout limits how long opening an engine may take. It covers all servers of a
// quorum or a standby together.
const openTimeout = 10 * time.Second

// openEngine opens the engine of a configuration. Nodes of a quorum and sides of a
// standby may be unreachable, as long as the engine works; with lazy, all of them.
func openEngine(ctx context.Context, cfg config.Engine, lazy bool, log *slog.Logger) (*openedEngine, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	o := &openedEngine{}
	err := o.open(ctx, cfg, lazy, log)
	if err == nil {
		return o, nil
	}
	_ = o.close() // without the rest, the opened parts are useless
	// Package cli gives an EngineError an exit code of its own.
	if errors.Is(err, engine.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return nil, &EngineError{err}
	}
	return nil, err
}

// open dispatches on the kind of engine. The configuration has exactly one.
func (o *openedEngine) open(ctx context.Context, cfg config.Engine, lazy bool, log *slog.Logger) (err error) {
	switch {
	case len(cfg.Quorum) > 0:
		var all []engine.Engine
		if all, err = o.openAll(ctx, cfg.Quorum); err == nil {
			err = o.openQuorum(ctx, all, cfg.LongestLease, lazy)
		}
	case len(cfg.Standby) > 0:
		var all []engine.Engine
		if all, err = o.openAll(ctx, cfg.Standby); err == nil {
			err = o.openStandby(ctx, all, cfg.LongestLease, log)
		}
	case cfg.URL == "memory":
		o.Engine = memory.New() // holds nothing to close
	default:
		o.Engine, err = o.openURL(ctx, cfg.URL, lazy)
	}
	return err
}

// openQuorum builds a quorum. Its nodes were opened lazily, so a probe checks that at
// least one of them answers.
func (o *openedEngine) openQuorum(ctx context.Context, all []engine.Engine, longest time.Duration, lazy bool) error {
	e, err := quorum.New(all, quorum.LongestLease(longest))
	if err != nil {
		return err
	}
	o.Engine = e
	if lazy {
		return nil
	}
	// Less than a majority is enough to start: the gateway may start before all nodes do.
	h, err := e.Capabilities().Prober.Probe(ctx)
	if err == nil && !doctor.Examine(h).Reached() {
		err = fmt.Errorf("quorum: no node is reachable: %w", engine.ErrUnavailable)
	}
	return err
}

// openStandby builds a standby of two engines.
func (o *openedEngine) openStandby(ctx context.Context, both []engine.Engine, longest time.Duration, log *slog.Logger) error {
	e, err := standby.New(ctx, both[0], both[1], standby.Logger(log), standby.LongestLease(longest))
	if err != nil {
		return err
	}
	o.Engine = e
	o.closes = append(o.closes, e.Close)
	return nil
}

// openAll opens engines lazily, since some of them may be unreachable.
func (o *openedEngine) openAll(ctx context.Context, urls []string) (all []engine.Engine, err error) {
	for _, url := range urls {
		e, err := o.openURL(ctx, url, true)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// openURL opens the engine of a URL and registers it for close.
func (o *openedEngine) openURL(ctx context.Context, url string, lazy bool) (engine.Engine, error) {
	e, err := backend.Open(ctx, url, lazy)
	if err != nil {
		return nil, err
	}
	o.closes = append(o.closes, e.Close)
	return e, nil
}

// allDegrade reports whether every rule lets requests pass while the engine is down.
// Without rules it reports false, so /readyz depends on the engine.
func allDegrade(cfg *config.Config) bool {
	return len(cfg.Rules) > 0 && !slices.ContainsFunc(cfg.Rules, func(r config.Rule) bool {
		return r.Policy.OnDown != guard.Open && r.Policy.OnDown != guard.Local
	})
}
