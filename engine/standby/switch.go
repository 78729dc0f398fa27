package standby

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A State is the state of the switch, as far as this process knows.
type State struct {
	Side  Side
	Epoch uint64    // number of switches
	Since time.Time // when it was switched, by the clock of the process that did; zero if never
	By    string    // the process or person that switched
	Used  bool      // a side has a switch record, so a process has used the two engines

	FrozenUntil time.Time // end of the freeze; zero without one
	Alone       bool      // this process has degraded on its own
	Closed      error     // why nothing is granted now
	Sides       map[Side]error
}

// State returns the state of the switch.
func (e *Engine) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	v, now := e.view.Load(), time.Now()
	st := State{
		Side: v.side, Epoch: e.record.Epoch, Since: e.record.Since, By: e.record.By, Alone: e.alone,
		Used: e.shared[0].version+e.shared[1].version > 0, Closed: v.refusal(now), Sides: make(map[Side]error),
	}
	if v.frozen(now) {
		st.FrozenUntil = v.opensAt
	}
	for _, s := range e.shared {
		st.Sides[s.side] = s.err
	}
	return st
}

// A Report is the result of a switch.
type Report struct {
	State      State
	Switched   bool           // the switch was made; false if nothing changed
	Already    bool           // that side was active before
	Written    []Side         // sides with the new record
	NotWritten map[Side]error // sides without the new record, and why
	Freeze     time.Duration  // nothing is granted for that long: until the longest lease requested before has expired
}

type switchOptions struct {
	force bool
	by    string
}

// A SwitchOption configures [Engine.Switch].
type SwitchOption func(*switchOptions)

// Force switches even if the record of a side cannot be written. A process that
// reaches only that side is still granted locks there, so a lock may have two
// holders. Use it when a side is down for every process.
func Force() SwitchOption { return func(s *switchOptions) { s.force = true } }

// By names the author of the switch, instead of [Name].
func By(name string) SwitchOption { return func(s *switchOptions) { s.by = name } }

// Switch makes another side active, for all processes. It writes the record on the
// active side first, which stops grants there, and then on the other one. Nothing is
// granted until every earlier lease has expired.
//
// If a record cannot be written it fails with a *[PartialSwitchError] and changes
// nothing, unless it is called with [Force]. It fails with [engine.ErrConflict] if
// another process has switched meanwhile.
func (e *Engine) Switch(ctx context.Context, to Side, opts ...SwitchOption) (Report, error) {
	if _, ok := sides[to]; !ok {
		return Report{}, fmt.Errorf("standby: cannot switch to %v: use Primary, Standby or Local", to)
	}
	options := switchOptions{by: e.name}
	for _, opt := range opts {
		opt(&options)
	}
	select {
	case <-e.switching: // one switch at a time in this process
		defer func() { e.switching <- struct{}{} }()
	case <-ctx.Done():
		return Report{}, context.Cause(ctx)
	}
	e.syncAll(ctx)
	e.mu.Lock()
	before, next, states, already := e.record, e.nextRecord(to, options.by), e.writeOrder(), e.record.Side == to && !e.alone
	e.mu.Unlock()
	if already {
		r := e.report()
		r.Already = true
		return r, nil
	}
	err := e.writeAll(ctx, before, next, states, options.force)
	r := e.report()
	r.Switched = r.State.Epoch == next.Epoch && r.State.Side == next.Side || r.State.Alone && to == Local
	return r, err
}

// writeOrder returns the sides in the order of writing: the active one first. After
// Local neither is active; then all processes begin with the same side, so that of two
// concurrent switches one finds a conflict.
func (e *Engine) writeOrder() []*sideState {
	states := e.shared[:]
	if e.record.Side == Standby {
		states = []*sideState{e.shared[1], e.shared[0]}
	}
	return slices.Clone(states)
}

// writeAll writes a record on all sides. When one side has it, sync writes it on the
// other.
func (e *Engine) writeAll(ctx context.Context, before, next switchRecord, states []*sideState, force bool) error {
	if err := e.unreachable(states, next.Side); err != nil && !force {
		return err
	}
	written := false
	for _, s := range states {
		if written {
			e.sync(ctx, s)
			continue
		}
		err := e.write(ctx, s, before, next)
		written = err == nil
		if err != nil && (!force || errors.Is(err, engine.ErrConflict)) {
			return e.writeFailed(s, next, err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !written && next.Side == Local {
		e.degradeAlone(time.Now()) // until this process can read the record
		e.stats.forced.Add(1)
		return nil
	}
	return e.partialResult(states, next, written)
}

// partialResult returns the error for sides that lack the record.
func (e *Engine) partialResult(states []*sideState, next switchRecord, written bool) error {
	for _, s := range states {
		if s.record.sameSwitch(next) {
			continue
		}
		if !written {
			return &PartialSwitchError{Side: s.side, To: next.Side, Err: s.err}
		}
		e.stats.forced.Add(1)
		if s.side == next.Side {
			return &PartialSwitchError{Side: s.side, To: next.Side, Done: true, Err: s.err}
		}
	}
	return nil
}

// unreachable returns an error if a side cannot be reached.
func (e *Engine) unreachable(states []*sideState, to Side) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range states {
		if s.err != nil {
			return &PartialSwitchError{Side: s.side, To: to, Err: s.err}
		}
	}
	return nil
}

// write writes a record on a side, unless the record on either side has changed since the
// last read.
func (e *Engine) write(ctx context.Context, s *sideState, before, w switchRecord) error {
	e.mu.Lock()
	version, readErr, changed := s.version, s.err, e.record != before && !e.record.sameSwitch(w)
	e.mu.Unlock()
	switch {
	case readErr != nil:
		return readErr
	case changed:
		return engine.ErrConflict
	}
	ctx, cancel := context.WithTimeout(ctx, e.config.view)
	defer cancel()
	err := s.caps.Notes.WriteNote(ctx, noteName, w.encode(), version)
	if errors.Is(err, engine.ErrUnknown) {
		err = s.caps.Notes.WriteNote(ctx, noteName, w.encode(), version) // a repeated write of the same text is safe
	}
	if err == nil || errors.Is(err, engine.ErrConflict) {
		e.sync(ctx, s) // read the result
	}
	return err
}

// writeFailed returns the error of a switch whose first write failed.
func (e *Engine) writeFailed(s *sideState, next switchRecord, err error) error {
	switch {
	case errors.Is(err, engine.ErrConflict):
		return fmt.Errorf("standby: nothing was switched: another process has written the record on the %v meanwhile; check the state and retry: %w", s.side, err)
	case errors.Is(err, engine.ErrUnknown):
		return fmt.Errorf("standby: the %v did not answer the switch to %v, which may have happened; check the state: %w", s.side, next.Side, err)
	}
	return &PartialSwitchError{Side: s.side, To: next.Side, Err: err}
}

// report returns the result of a switch.
func (e *Engine) report() Report {
	r := Report{NotWritten: make(map[Side]error), State: e.State()}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.shared {
		if s.err == nil && s.record.sameSwitch(e.record) {
			r.Written = append(r.Written, s.side)
		} else {
			r.NotWritten[s.side] = s.err
		}
	}
	if !r.State.FrozenUntil.IsZero() {
		r.Freeze = time.Until(r.State.FrozenUntil)
	}
	return r
}
