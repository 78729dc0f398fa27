package standby

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A view says what this process may do now. It is immutable; a change publishes a new one.
type view struct {
	*sideState                // the active side
	epoch       uint64        // number of switches
	others      []*sideState  // sides that may have earlier locks, if they can be reached
	ledger      []*sideState  // sides that may have earlier records
	longest     time.Duration // the longest lease that the record allows
	blocked     error         // why nothing is granted; nil otherwise
	opensAt     time.Time     // nothing is granted before that
	staleAt     time.Time     // nothing is granted after that, unless the record is read again; zero for no limit
	searchUntil time.Time     // until then, holds from before the switch may exist
}

// publish makes a new view. The caller holds the mutex.
func (e *Engine) publish() {
	side := e.record.Side
	if e.alone {
		side = Local
	}
	s := e.at(side)
	v := &view{sideState: s, epoch: e.record.Epoch, opensAt: s.frozenUntil, longest: time.Duration(s.record.Longest)}
	switch {
	case e.closed:
		v.blocked = fmt.Errorf("standby: %w: used after Close", engine.ErrClosed)
	case e.operator:
		v.blocked = errors.New("standby: an operator is granted nothing: omit the option Operator")
	case side == Local:
		e.usedLocal, v.longest = true, e.longest // local leases need no record
	case !s.known:
		v.blocked = unavailable("the %v has not been reached yet: %w", side, s.err)
	case e.unverified(s):
		v.blocked = unavailable("the %v has no switch record, and the %v has not been reached yet: %w",
			side, e.other(s).side, e.other(s).err)
	case !s.record.sameSwitch(e.record):
		v.blocked = unavailable("the %v has not received the switch record yet", side)
	case s.record.atLeast(0, e.config.view) != s.record:
		v.blocked = unavailable("the record on the %v lacks MaxRecordAge(%v) of this process", side, e.config.view)
		if time.Now().Before(s.frozenUntil) {
			v.blocked = nil // this MaxRecordAge is written when the freeze has passed
			v.staleAt = s.frozenUntil
		}
	default:
		v.staleAt = s.readAt.Add(e.trustFor())
	}
	e.addOthers(v)
	e.view.Store(v)
}

// addOthers adds the inactive sides, if there ever was a switch.
func (e *Engine) addOthers(v *view) {
	if e.switchedAt.IsZero() && e.record.Epoch == 0 {
		return
	}
	for _, s := range []*sideState{e.shared[0], e.shared[1], e.local} {
		if s == v.sideState || s == e.local && !e.usedLocal {
			continue
		}
		v.ledger = append(v.ledger, s)
		if s.err == nil {
			v.others = append(v.others, s)
		}
	}
	if !e.switchedAt.IsZero() {
		v.searchUntil = e.switchedAt.Add(2 * e.record.freeze())
	}
}

// frozen reports whether leases from before the switch may still be valid.
func (v *view) frozen(now time.Time) bool { return now.Before(v.opensAt) }

// refusal returns why nothing is granted, or nil.
func (v *view) refusal(now time.Time) error {
	switch {
	case v.blocked != nil:
		return v.blocked
	case v.frozen(now):
		return &SwitchingError{To: v.side, Epoch: v.epoch, Until: v.opensAt}
	case !v.staleAt.IsZero() && reached(now, v.staleAt):
		return unavailable("the switch record on the %v was not read in time: %w", v.side, errStale)
	}
	return nil
}

var errStale = errors.New("the side did not answer within MaxRecordAge")

// reached reports whether t has passed by the monotonic or the wall clock: the former
// stops while the machine sleeps.
func reached(now, t time.Time) bool {
	return !now.Before(t) || !now.Round(0).Before(t.Round(0))
}

// check returns the current view, or an error if the lease may not be requested now.
func (e *Engine) check(ctx context.Context, lease time.Duration) (*view, error) {
	v, now := e.view.Load(), time.Now()
	if err := v.refusal(now); err != nil {
		if v.frozen(now) {
			e.stats.refused.Add(1)
		}
		return v, err
	}
	if err := e.checkLease(lease); err != nil {
		return v, err
	}
	if err := ctx.Err(); err != nil {
		return v, err
	}
	if e.recordLease(lease); lease > v.longest {
		return e.raise(ctx, lease)
	}
	return v, nil
}

// recordLease raises requested to a lease that is to be requested.
func (e *Engine) recordLease(lease time.Duration) {
	for {
		longest := e.requested.Load()
		if int64(lease) <= longest || e.requested.CompareAndSwap(longest, int64(lease)) {
			return
		}
	}
}

// raise writes a lease that the record does not allow yet into the record of the active
// side. A switch freezes for the longest lease in the record, so the lease must be written
// before it is requested. raise also writes it on the other side, if it can be reached: a
// forced switch may read only that side.
func (e *Engine) raise(ctx context.Context, lease time.Duration) (*view, error) {
	select {
	case <-e.raising: // one caller at a time: the first also writes the leases of the others
		defer func() { e.raising <- struct{}{} }()
	case <-ctx.Done():
		return e.view.Load(), ctx.Err()
	}
	v := e.view.Load()
	if lease > v.longest && v.side != Local {
		ctx := context.WithoutCancel(ctx) // a caller that gives up must not make the side look down
		e.sync(ctx, v.sideState)
		if other := e.other(v.sideState); e.isBehind(other) {
			e.sync(ctx, other)
		}
		v = e.view.Load()
	}
	if err := v.refusal(time.Now()); err != nil {
		return v, err
	}
	if lease > v.longest {
		return v, unavailable("the record on the %v could not be changed to allow a lease of %v", v.side, lease)
	}
	return v, nil
}

// checkLease refuses a lease that is too long.
func (e *Engine) checkLease(lease time.Duration) error {
	if lease > e.longest {
		return fmt.Errorf("standby: a lease of %v is longer than the limit of %v: shorten it, or raise LongestLease",
			lease, e.longest)
	}
	return nil
}

// order returns the sides that may have a lock, the most likely one first.
func (v *view) order(now time.Time) []*sideState {
	switch {
	case v.frozen(now): // nothing was granted here yet
		return append(append([]*sideState(nil), v.others...), v.sideState)
	case now.Before(v.searchUntil):
		return append([]*sideState{v.sideState}, v.others...)
	}
	return []*sideState{v.sideState}
}

// lossError returns the error for renewing a lock from before the switch.
func (v *view) lossError() error {
	return fmt.Errorf("standby: switched to %v (epoch %d): %w", v.side, v.epoch, engine.ErrSwitched)
}
