package zookeeper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A quotaState is the units of one quota that count, the oldest first.
type quotaState struct {
	Units []unit `json:"u,omitempty"`
}

// A unit was taken by an attempt.
type unit struct {
	Attempt string `json:"a"`
	Taken   int64  `json:"t"`
	Until   int64  `json:"u"` // when it was to end; requests use their own window
}

func (s *quotaState) apply(c *command, x *effects) any {
	switch c.Do {
	case doTake:
		return s.take(c, x)
	case doReturn:
		return s.giveBack(c, x)
	case doTidy:
		s.Units = slices.DeleteFunc(s.Units, func(u unit) bool { return x.now >= u.Until })
		return tidied(s, x)
	}
	return unknownCommand(c)
}

func (s *quotaState) clone() state   { return &quotaState{slices.Clone(s.Units)} }
func (s *quotaState) vacant() bool   { return len(s.Units) == 0 }
func (s *quotaState) fences() uint64 { return 0 }

func (s *quotaState) lasts() (last int64) {
	for _, u := range s.Units {
		last = max(last, u.Until)
	}
	return last
}

// take takes a unit for c's attempt, if fewer than the limit count.
func (s *quotaState) take(c *command, x *effects) any {
	use := engine.Usage{Now: time.UnixMilli(x.now)}
	if use.Outside = outside(c, x.now); use.Outside {
		return use
	}
	s.expire(c, x)
	switch {
	case s.find(c.Attempt) >= 0:
		use.Granted = true
	case c.Attempt != "" && len(s.Units) < c.Limit:
		x.change()
		s.Units = append(s.Units, unit{c.Attempt, x.now, end(c, x.now)})
		use.Granted = true
	}
	if use.Used = len(s.Units); use.Used > 0 {
		use.Next = duration(end(c, s.Units[max(0, use.Used-c.Limit)].Taken) - x.now)
	}
	return use
}

// giveBack gives back the unit of c's attempt, and answers whether it counted.
func (s *quotaState) giveBack(c *command, x *effects) any {
	if outside(c, x.now) {
		return false
	}
	s.expire(c, x)
	i := s.find(c.Attempt)
	if i < 0 {
		return false
	}
	x.change()
	s.Units = slices.Delete(s.Units, i, i+1)
	return true
}

func (s *quotaState) find(attempt string) int {
	return slices.IndexFunc(s.Units, func(u unit) bool { return u.Attempt == attempt })
}

// expire removes the units that no longer count. After the clock was set back, no unit
// counts for longer than the window from now on.
func (s *quotaState) expire(c *command, x *effects) {
	for i := range s.Units {
		if u := &s.Units[i]; u.Taken > x.now {
			u.Taken = x.now
			x.change()
		}
	}
	s.Units = slices.DeleteFunc(s.Units, func(u unit) bool { return end(c, u.Taken) <= x.now })
}

// end returns when a unit that was taken at a time no longer counts.
func end(c *command, taken int64) int64 {
	if c.Until != 0 {
		return c.Until
	}
	return taken + c.Lease
}

// outside reports whether now is not in the window of a request.
func outside(c *command, now int64) bool { return c.Until != 0 && (now < c.From || now >= c.Until) }

// quotas implements [engine.Quotas].
type quotas struct{ *Engine }

// Take implements [engine.Quotas].
func (x quotas) Take(ctx context.Context, q engine.Quota) (engine.Usage, error) {
	if err := x.check(ctx, &q); err != nil {
		return engine.Usage{}, err
	}
	return ask[engine.Usage](ctx, x.Engine, quotasDir, q.Key, quotaCommand(doTake, &q))
}

// Return implements [engine.Quotas].
func (x quotas) Return(ctx context.Context, q engine.Quota) (bool, error) {
	if err := x.check(ctx, &q); err != nil {
		return false, err
	}
	return ask[bool](ctx, x.Engine, quotasDir, q.Key, quotaCommand(doReturn, &q))
}

func quotaCommand(do string, q *engine.Quota) command {
	c := command{Do: do, Attempt: pack(q.Attempt), Limit: q.Limit, Lease: millis(q.Window)}
	if !q.Until.IsZero() {
		c.From, c.Until = ceilMilli(q.From), ceilMilli(q.Until)
	}
	return c
}

// ceilMilli returns the first whole millisecond that is not before t, since the servers'
// clock has whole milliseconds.
func ceilMilli(t time.Time) int64 {
	ms := t.UnixMilli()
	if time.UnixMilli(ms).Before(t) {
		ms++
	}
	return ms
}

// check refuses an invalid request.
func (x quotas) check(ctx context.Context, q *engine.Quota) error {
	wrong := ""
	switch {
	case q.Limit <= 0:
		wrong = fmt.Sprintf("has a limit of %d: set its Limit to 1 or more", q.Limit)
	case q.Until.IsZero() && q.Window <= 0:
		wrong = "has no window: set its Window above zero, or From and Until"
	case !q.Until.IsZero() && !q.From.Before(q.Until):
		wrong = "ends before it begins: set its From before Until"
	}
	if wrong != "" {
		return fmt.Errorf("zookeeper: the quota %q %s", q.Key, wrong)
	}
	return x.checkKey(ctx, q.Key)
}
