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
	v := e.view.Load()
	if err := e.admit(v, time.Now(), r.Lease); err != nil {
		return engine.Grant{}, err
	}
	g, err := v.engine.Acquire(ctx, r)
	if err == nil && v.side == Local {
		g.Local = true
	}
	return g, err
}

// Renew implements [engine.Engine]. Only the side that counts is asked. What was
// granted by another is lost: the quiet time is as long as its lease.
func (e *Engine) Renew(ctx context.Context, rs []engine.Request) []error {
	v := e.view.Load()
	return renew(e, v, rs, func(r engine.Request) time.Duration { return r.Lease },
		func(rs []engine.Request) []error { return v.engine.Renew(ctx, rs) })
}

// renew renews what may be, and answers for the rest.
func renew[T any](e *Engine, v *view, all []T, lease func(T) time.Duration, ask func([]T) []error) []error {
	if err := e.outdated(v, time.Now()); err != nil {
		return slices.Repeat([]error{err}, len(all))
	}
	if !slices.ContainsFunc(all, func(x T) bool { return lease(x) > e.longest }) {
		return ask(all)
	}
	errs := make([]error, len(all))
	for i, x := range all {
		if errs[i] = e.tooLong(lease(x)); errs[i] == nil {
			errs[i] = ask([]T{x})[0]
		}
	}
	return errs
}

// outdated tells why nothing is renewed, if nothing is. In the quiet time nobody
// can have anything but from before.
func (e *Engine) outdated(v *view, now time.Time) error {
	if v.why == nil && v.quietAt(now) {
		return v.gone()
	}
	return v.closed(now)
}

// Release implements [engine.Engine]. Nobody remembers on which side a hold is: for
// some time after a switch all are asked.
func (e *Engine) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	v := e.view.Load()
	return untilReleased(v.order(time.Now()), func(s *site) (engine.ReleaseResult, error) { return s.engine.Release(ctx, r) })
}

// Abandon implements [engine.Engine]. What was abandoned must not be granted on any
// side, so all are told.
func (e *Engine) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	v := e.view.Load()
	return everywhere(v.order(time.Now()), func(s *site) (engine.ReleaseResult, error) { return s.engine.Abandon(ctx, r) })
}

// untilReleased asks one site after the other until one says that it had it. If
// none does, the first answer counts.
func untilReleased(sites []*site, release func(*site) (engine.ReleaseResult, error)) (parting engine.ReleaseResult, err error) {
	answered := false
	for _, s := range sites {
		p, failed := release(s)
		switch {
		case failed == nil && p.Outcome == engine.Released:
			return p, nil
		case failed == nil && !answered:
			parting, answered = p, true
		case failed != nil:
			err = errors.Join(err, failed)
		}
	}
	return parting, err
}

// everywhere asks all sites. It fails if one does.
func everywhere(sites []*site, abandon func(*site) (engine.ReleaseResult, error)) (parting engine.ReleaseResult, err error) {
	for i, s := range sites {
		p, failed := abandon(s)
		if failed == nil && (i == 0 || p.Outcome == engine.Released) {
			parting = p
		}
		err = errors.Join(err, failed)
	}
	return parting, err
}
