package standby

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A view is what a process may do, as far as it knows. It does not change: there is
// a new one when there is news.
type view struct {
	*site            // where to go
	epoch  uint64    // how often it was switched
	others []*site   // where something of before may be, as long as it is worth looking
	ledger []*site   // where else records may be, if there was a switch
	why    error     // why nothing is granted, if nothing is
	opens  time.Time // nothing is granted before
	closes time.Time // nor from then on, unless there is news; zero if it may be
	recent time.Time // until when holds of before the switch may be on the others
}

// publish draws the view anew. The mutex is held.
func (e *Engine) publish() {
	side := e.word.Side
	if e.alone {
		side = Local
	}
	s := e.at(side)
	v := &view{site: s, epoch: e.word.Epoch, opens: s.quiet}
	switch {
	case e.closed:
		v.why = fmt.Errorf("standby: %w: it was used after Close", engine.ErrClosed)
	case e.operator:
		v.why = errors.New("standby: an operator is granted nothing: leave out the option Operator")
	case side == Local:
		e.ours = true
	case !s.known:
		v.why = unavailable("the %v has not been reached yet: %w", side, s.trouble)
	case e.blank(s):
		v.why = unavailable("the %v has no note, and the %v has not been reached yet, which would know whether there was a switch: %w",
			side, e.other(s).side, e.other(s).trouble)
	case !s.word.same(e.word):
		v.why = unavailable("the %v has yet to be told that it counts", side)
	case e.agreed(s.word) != s.word:
		v.why = unavailable("the %v has yet to be told of LongestLease(%v) and View(%v)", side, e.longest, e.config.view)
		if time.Now().Before(s.quiet) {
			v.why = nil // it is told when the quiet time is over
			v.closes = s.quiet
		}
	default:
		v.closes = s.read.Add(e.trusted())
	}
	e.surround(v)
	e.view.Store(v)
}

// surround adds the sites that do not count, if there ever was a switch.
func (e *Engine) surround(v *view) {
	if e.seen.IsZero() && e.word.Epoch == 0 {
		return
	}
	for _, s := range []*site{e.shared[0], e.shared[1], e.local} {
		if s == v.site || s == e.local && !e.ours {
			continue
		}
		v.ledger = append(v.ledger, s)
		if s.trouble == nil {
			v.others = append(v.others, s)
		}
	}
	if !e.seen.IsZero() {
		v.recent = e.seen.Add(2 * e.word.quiet())
	}
}

// quietAt reports whether whoever had something before the switch may have it still.
func (v *view) quietAt(now time.Time) bool { return now.Before(v.opens) }

// closed tells why nothing is granted, if nothing is.
func (v *view) closed(now time.Time) error {
	switch {
	case v.why != nil:
		return v.why
	case v.quietAt(now):
		return &SwitchingError{To: v.side, Epoch: v.epoch, Until: v.opens}
	case !v.closes.IsZero() && passed(now, v.closes):
		return unavailable("whether the %v still counts has not been learned in time: %w", v.side, errView)
	}
	return nil
}

var errView = errors.New("it did not answer; see View")

// passed reports whether t is over, by the monotonic or by the wall clock: the one
// stands still while a machine sleeps.
func passed(now, t time.Time) bool {
	return !now.Before(t) || !now.Round(0).Before(t.Round(0))
}

// admit tells why a lease is not to be asked for, if it is not.
func (e *Engine) admit(v *view, now time.Time, lease time.Duration) error {
	if err := v.closed(now); err != nil {
		if v.quietAt(now) {
			e.stats.refused.Add(1)
		}
		return err
	}
	return e.tooLong(lease)
}

// tooLong says that a lease is, if it is.
func (e *Engine) tooLong(lease time.Duration) error {
	if lease > e.longest {
		return fmt.Errorf("standby: a lease of %v is longer than others would wait for after a switch: ask for %v at most, or raise LongestLease",
			lease, e.longest)
	}
	return nil
}

// order returns where something that was granted may be, the likeliest first.
func (v *view) order(now time.Time) []*site {
	switch {
	case v.quietAt(now): // nothing was granted here since
		return append(append([]*site(nil), v.others...), v.site)
	case now.Before(v.recent):
		return append([]*site{v.site}, v.others...)
	}
	return []*site{v.site}
}

// gone is what who held something before a switch is told.
func (v *view) gone() error {
	return fmt.Errorf("standby: switched to %v (epoch %d): %w", v.side, v.epoch, engine.ErrSwitched)
}
