package standby

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A State is which side counts, as far as this process knows.
type State struct {
	Side  Side
	Epoch uint64    // how often it was switched
	Since time.Time // when it was, by the clock of who did; zero if it never was
	By    string    // who did
	Used  bool      // somebody has used the two as one

	Quiet  time.Time // nothing is granted before; zero if nothing is waited for
	Alone  bool      // this process has degraded by itself: the note says otherwise, or cannot be read
	Closed error     // why nothing is granted for now
	Sides  map[Side]error
}

// State returns which side counts, and what is in the way.
func (e *Engine) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	v, now := e.view.Load(), time.Now()
	st := State{
		Side: v.side, Epoch: e.word.Epoch, Since: e.word.Since, By: e.word.By, Alone: e.alone,
		Used: e.shared[0].version+e.shared[1].version > 0, Closed: v.closed(now), Sides: make(map[Side]error),
	}
	if v.quietAt(now) {
		st.Quiet = v.opens
	}
	for _, s := range e.shared {
		st.Sides[s.side] = s.trouble
	}
	return st
}

// A Report is what came of a switch.
type Report struct {
	State   State
	Already bool           // that side counted before
	Told    []Side         // those whose note says so now
	Untold  map[Side]error // those whose note does not, and why
	Quiet   time.Duration  // for how long nothing is granted
}

type switching struct {
	force bool
	by    string
}

// A SwitchOption changes what [Engine.Switch] does.
type SwitchOption func(*switching)

// Force switches even if a side cannot be told. Whoever still reaches it, and not
// the other one, goes on to be granted locks there: then two may have one lock. Use
// it when a side is down for everybody.
func Force() SwitchOption { return func(s *switching) { s.force = true } }

// By names who switches, in place of [Name].
func By(name string) SwitchOption { return func(s *switching) { s.by = name } }

// Switch lets another side count, for all processes. It tells the side that counted
// first, so that from then on nobody is granted anything there, and then the other
// one. Nothing is granted anywhere until what was granted before is over.
//
// If a side cannot be told it fails with an *[PartialSwitchError], and nothing has
// changed, unless it was told to [Force]. It fails with [engine.ErrConflict] if
// somebody else has switched meanwhile.
func (e *Engine) Switch(ctx context.Context, to Side, opts ...SwitchOption) (Report, error) {
	if _, ok := sides[to]; !ok {
		return Report{}, fmt.Errorf("standby: there is no %v to switch to: use Primary, Standby or Local", to)
	}
	how := switching{by: e.name}
	for _, opt := range opts {
		opt(&how)
	}
	select {
	case <-e.turn: // one at a time in this process
		defer func() { e.turn <- struct{}{} }()
	case <-ctx.Done():
		return Report{}, context.Cause(ctx)
	}
	e.lookAll(ctx)
	e.mu.Lock()
	was, next, sites, already := e.word, e.nextWord(to, how.by), e.telling(), e.word.Side == to && !e.alone
	e.mu.Unlock()
	if already {
		return e.report(true), nil
	}
	err := e.tell(ctx, was, next, sites, how.force)
	return e.report(false), err
}

// telling returns the sites in the order in which they are told: the one that counts
// first, the one that is to count last. After Local neither counts, and all who switch
// begin with the same one: of two, one finds it written.
func (e *Engine) telling() []*site {
	sites := e.shared[:]
	if e.word.Side == Standby {
		sites = []*site{e.shared[1], e.shared[0]}
	}
	return slices.Clone(sites)
}

// tell writes a word on sites that takes the place of another. Once one has it, the
// others are told as if they had been found behind.
func (e *Engine) tell(ctx context.Context, was, next word, sites []*site, force bool) error {
	if err := e.untellable(sites, next.Side); err != nil && !force {
		return err
	}
	told := false
	for _, s := range sites {
		if told {
			e.look(ctx, s)
			continue
		}
		err := e.write(ctx, s, was, next)
		told = err == nil
		if err != nil && (!force || errors.Is(err, engine.ErrConflict)) {
			return e.failed(s, next, err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !told && next.Side == Local {
		e.goAlone(time.Now()) // by itself, until it can read what others say
		e.stats.forced.Add(1)
		return nil
	}
	return e.judge(sites, next, told)
}

// judge says what it means that some were not told, if so.
func (e *Engine) judge(sites []*site, next word, told bool) error {
	for _, s := range sites {
		if s.word.same(next) {
			continue
		}
		if !told {
			return &PartialSwitchError{Side: s.side, To: next.Side, Err: s.trouble}
		}
		e.stats.forced.Add(1)
		if s.side == next.Side {
			return &PartialSwitchError{Side: s.side, To: next.Side, Done: true, Err: s.trouble}
		}
	}
	return nil
}

// untellable says which site cannot be told, if one cannot.
func (e *Engine) untellable(sites []*site, to Side) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range sites {
		if s.trouble != nil {
			return &PartialSwitchError{Side: s.side, To: to, Err: s.trouble}
		}
	}
	return nil
}

// write puts a word into the note of a site, if nobody has written it since it was
// last read, nor said anything that w was made without knowledge of.
func (e *Engine) write(ctx context.Context, s *site, was, w word) error {
	e.mu.Lock()
	version, trouble, news := s.version, s.trouble, e.word != was && !e.word.same(w)
	e.mu.Unlock()
	switch {
	case trouble != nil:
		return trouble
	case news:
		return engine.ErrConflict
	}
	ctx, cancel := context.WithTimeout(ctx, e.config.view)
	defer cancel()
	err := s.caps.Notes.WriteNote(ctx, noteName, w.text(), version)
	if errors.Is(err, engine.ErrUnknown) {
		err = s.caps.Notes.WriteNote(ctx, noteName, w.text(), version) // again, it is the same one
	}
	if err == nil || errors.Is(err, engine.ErrConflict) {
		e.look(ctx, s) // what it says now
	}
	return err
}

// failed says what it means that the first site was not told.
func (e *Engine) failed(s *site, next word, err error) error {
	switch {
	case errors.Is(err, engine.ErrConflict):
		return fmt.Errorf("standby: nothing was switched: somebody else has written the note of the %v meanwhile; look at the state and try again: %w", s.side, err)
	case errors.Is(err, engine.ErrUnknown):
		return fmt.Errorf("standby: the %v was told to switch to %v and has not answered, so it may happen; look at the state: %w", s.side, next.Side, err)
	}
	return &PartialSwitchError{Side: s.side, To: next.Side, Err: err}
}

// report says what came of a switch.
func (e *Engine) report(already bool) Report {
	r := Report{Already: already, Untold: make(map[Side]error), State: e.State()}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.shared {
		if s.trouble == nil && s.word.same(e.word) {
			r.Told = append(r.Told, s.side)
		} else {
			r.Untold[s.side] = s.trouble
		}
	}
	if !r.State.Quiet.IsZero() {
		r.Quiet = time.Until(r.State.Quiet)
	}
	return r
}
