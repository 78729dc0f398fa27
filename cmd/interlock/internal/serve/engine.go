package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/interlock-go/interlock/doctor"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/quorum"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/standby"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
)

// An EngineError is an engine that cannot be reached.
type EngineError struct{ Err error }

// Error implements error.
func (e *EngineError) Error() string { return e.Err.Error() }

// Unwrap returns what the engine said.
func (e *EngineError) Unwrap() error { return e.Err }

// opened is an engine, and what has to be closed when it is not used any more.
type opened struct {
	engine.Engine
	closes []func() error
}

// close closes the last first, as they need each other.
func (o *opened) close() (err error) {
	for _, c := range slices.Backward(o.closes) {
		err = errors.Join(err, c())
	}
	return err
}

// patience is how long it takes at most to find out that an engine is away.
const patience = 10 * time.Second

// openEngine opens what a configuration names. Of several engines one may be away;
// with lazy, all of them.
func openEngine(ctx context.Context, cfg config.Engine, lazy bool, log *slog.Logger) (*opened, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o := &opened{}
	err := o.open(ctx, cfg, lazy, log)
	if err == nil {
		return o, nil
	}
	_ = o.close() // what was opened is of no use
	if errors.Is(err, engine.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return nil, &EngineError{err}
	}
	return nil, err
}

func (o *opened) open(ctx context.Context, cfg config.Engine, lazy bool, log *slog.Logger) (err error) {
	switch {
	case len(cfg.Quorum) > 0:
		var all []engine.Engine
		if all, err = o.several(ctx, cfg.Quorum); err == nil {
			err = o.majority(ctx, all, lazy)
		}
	case len(cfg.Standby) > 0:
		var all []engine.Engine
		if all, err = o.several(ctx, cfg.Standby); err == nil {
			err = o.pair(ctx, all, log)
		}
	case cfg.URL == "memory":
		o.Engine = memory.New()
	default:
		var opts []redisengine.Option
		if lazy {
			opts = append(opts, redisengine.Lazy())
		}
		o.Engine, err = o.redis(ctx, cfg.URL, opts...)
	}
	return err
}

// majority makes one engine of several. It is asked how it is, since each of its nodes
// may be away.
func (o *opened) majority(ctx context.Context, all []engine.Engine, lazy bool) error {
	e, err := quorum.New(all)
	if err != nil {
		return err
	}
	o.Engine = e
	if lazy {
		return nil
	}
	h, err := e.Capabilities().Prober.Probe(ctx)
	if err == nil && !doctor.Examine(h).Reached() {
		err = fmt.Errorf("quorum: no node answers: %w", engine.ErrUnavailable)
	}
	return err
}

// pair makes one engine of two.
func (o *opened) pair(ctx context.Context, both []engine.Engine, log *slog.Logger) error {
	e, err := standby.New(ctx, both[0], both[1], standby.Logger(log))
	if err != nil {
		return err
	}
	o.Engine = e
	o.closes = append(o.closes, e.Close)
	return nil
}

// several opens engines of which some may be away.
func (o *opened) several(ctx context.Context, urls []string) (all []engine.Engine, err error) {
	for _, url := range urls {
		e, err := o.redis(ctx, url, redisengine.Lazy())
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func (o *opened) redis(ctx context.Context, url string, opts ...redisengine.Option) (engine.Engine, error) {
	e, err := redisengine.Open(ctx, url, opts...)
	if err != nil {
		return nil, err
	}
	o.closes = append(o.closes, e.Close)
	return e, nil
}

// withoutEngine tells whether every rule lets requests pass while the engine is away.
func withoutEngine(cfg *config.Config) bool {
	return len(cfg.Rules) > 0 && !slices.ContainsFunc(cfg.Rules, func(r config.Rule) bool {
		return r.Policy.OnDown != guard.Open && r.Policy.OnDown != guard.Local
	})
}
