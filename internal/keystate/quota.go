package keystate

import (
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
	Until   int64  `json:"u"` // its end by the window of the request that took it; other requests use their own
}

func (s *quotaState) Apply(c *Command, x *Effects) any {
	switch c.Do {
	case DoTake:
		return s.take(c, x)
	case DoReturn:
		return s.giveBack(c, x)
	case DoTidy:
		s.Units = slices.DeleteFunc(s.Units, func(u unit) bool { return x.Now >= u.Until })
		return tidied(s, x)
	}
	return unknownCommand(c)
}

func (s *quotaState) Clone() State   { return &quotaState{slices.Clone(s.Units)} }
func (s *quotaState) Vacant() bool   { return len(s.Units) == 0 }
func (s *quotaState) Fences() uint64 { return 0 }

func (s *quotaState) Lasts() (last int64) {
	for _, u := range s.Units {
		last = max(last, u.Until)
	}
	return last
}

// take takes a unit for c's attempt, if fewer units count than the limit allows.
func (s *quotaState) take(c *Command, x *Effects) any {
	use := engine.Usage{Now: time.UnixMilli(x.Now)}
	if use.Outside = outside(c, x.Now); use.Outside {
		return use
	}
	s.expire(c, x)
	switch {
	case s.find(c.Attempt) >= 0:
		use.Granted = true
	case c.Attempt != "" && len(s.Units) < c.Limit:
		x.change()
		s.Units = append(s.Units, unit{c.Attempt, x.Now, end(c, x.Now)})
		use.Granted = true
	}
	if use.Used = len(s.Units); use.Used > 0 {
		use.Next = Duration(end(c, s.Units[max(0, use.Used-c.Limit)].Taken) - x.Now)
	}
	return use
}

// giveBack gives back the unit of c's attempt, and answers whether it counted.
func (s *quotaState) giveBack(c *Command, x *Effects) any {
	if outside(c, x.Now) {
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
func (s *quotaState) expire(c *Command, x *Effects) {
	for i := range s.Units {
		if u := &s.Units[i]; u.Taken > x.Now {
			u.Taken = x.Now
			x.change()
		}
	}
	s.Units = slices.DeleteFunc(s.Units, func(u unit) bool { return end(c, u.Taken) <= x.Now })
}

// end returns the time from which on a unit no longer counts, if it was taken at taken.
func end(c *Command, taken int64) int64 {
	if c.Until != 0 {
		return c.Until
	}
	return taken + c.Lease
}

// outside reports whether now is not in the window of a request.
func outside(c *Command, now int64) bool { return c.Until != 0 && (now < c.From || now >= c.Until) }

// QuotaCommand returns the command for a request of a quota.
func QuotaCommand(do string, q *engine.Quota) Command {
	c := Command{Do: do, Attempt: Pack(q.Attempt), Limit: q.Limit, Lease: Millis(q.Window)}
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
