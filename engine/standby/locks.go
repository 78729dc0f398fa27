package standby

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Acquire implements [engine.Engine].
func (e *Engine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	v, err := e.check(ctx, r.Lease)
	if err != nil {
		return engine.Grant{}, err
	}
	g, err := v.engine.Acquire(ctx, r)
	if err == nil && v.side == Local {
		g.Local = true
	}
	return g, err
}

// Renew implements [engine.Engine]. It asks only the active side. A lock that was granted
// on another side is lost, and its lease expires during the freeze.
func (e *Engine) Renew(ctx context.Context, rs []engine.Request) []error {
	v := e.view.Load()
	return renew(ctx, e, v, rs, func(r engine.Request) time.Duration { return r.Lease },
		func(rs []engine.Request) []error { return v.engine.Renew(ctx, rs) })
}

// renew sends the allowed requests to the active side, and returns an error for each other
// request.
func renew[T any](ctx context.Context, e *Engine, v *view, all []T, lease func(T) time.Duration, send func([]T) []error) []error {
	if err := e.checkRenewal(v, time.Now()); err != nil {
		return slices.Repeat([]error{err}, len(all))
	}
	if !slices.ContainsFunc(all, func(x T) bool { return lease(x) > v.longest }) {
		return send(all)
	}
	errs := make([]error, len(all))
	for i, x := range all {
		if _, errs[i] = e.check(ctx, lease(x)); errs[i] == nil {
			errs[i] = send([]T{x})[0]
		}
	}
	return errs
}

// checkRenewal returns why nothing is renewed, or nil. During the freeze, all locks are
// from before the switch and are lost.
func (e *Engine) checkRenewal(v *view, now time.Time) error {
	if v.blocked == nil && v.frozen(now) {
		return v.lossError()
	}
	return v.refusal(now)
}

// Release implements [engine.Engine]. It is not recorded which side has a hold, so for
// some time after a switch it tries all of them.
func (e *Engine) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	v := e.view.Load()
	return untilReleased(v.order(time.Now()), func(s *sideState) (engine.ReleaseResult, error) { return s.engine.Release(ctx, r) })
}

// Abandon implements [engine.Engine]. It abandons the attempt on all sides.
func (e *Engine) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	v := e.view.Load()
	return everywhere(v.order(time.Now()), func(s *sideState) (engine.ReleaseResult, error) { return s.engine.Abandon(ctx, r) })
}

// untilReleased tries the sides until one had the hold. If none had, the first answer
// counts.
func untilReleased(states []*sideState, release func(*sideState) (engine.ReleaseResult, error)) (res engine.ReleaseResult, err error) {
	answered := false
	for _, s := range states {
		r, sideErr := release(s)
		switch {
		case sideErr == nil && r.Outcome == engine.Released:
			return r, nil
		case sideErr == nil && !answered:
			res, answered = r, true
		case sideErr != nil:
			err = errors.Join(err, sideErr)
		}
	}
	return res, err
}

// everywhere calls all sides. It fails if one of them fails.
func everywhere(states []*sideState, abandon func(*sideState) (engine.ReleaseResult, error)) (res engine.ReleaseResult, err error) {
	for i, s := range states {
		r, sideErr := abandon(s)
		if sideErr == nil && (i == 0 || r.Outcome == engine.Released) {
			res = r
		}
		err = errors.Join(err, sideErr)
	}
	return res, err
}
