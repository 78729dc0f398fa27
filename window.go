package interlock

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A Window is the time in which the units of a [Quota] count: a calendar unit such as
// [PerDay], or a [Sliding] window.
type Window struct {
	unit     windowUnit
	length   time.Duration  // of a sliding window
	location *time.Location // of a calendar window
}

type windowUnit uint8

const (
	sliding windowUnit = iota + 1
	hour
	day
	week
	month
)

// Sliding returns a window that begins with each execution: in no period of length d are
// there more than n executions. d is at least a millisecond.
func Sliding(d time.Duration) Window { return Window{unit: sliding, length: d} }

// PerHour returns the hours of the clock in a time zone. Nil is UTC.
func PerHour(loc *time.Location) Window { return Window{unit: hour, location: loc} }

// PerDay returns the days in a time zone: units are free again at midnight there. Nil is
// UTC.
func PerDay(loc *time.Location) Window { return Window{unit: day, location: loc} }

// PerWeek returns the weeks in a time zone, which begin on Monday. Nil is UTC.
func PerWeek(loc *time.Location) Window { return Window{unit: week, location: loc} }

// PerMonth returns the months in a time zone. Nil is UTC.
func PerMonth(loc *time.Location) Window { return Window{unit: month, location: loc} }

// String returns the window as it is written in errors, such as "per day (UTC)".
func (w Window) String() string {
	if w.unit == sliding {
		return "within " + w.length.String()
	}
	return fmt.Sprintf("per %s (%s)", w.name(), w.zone())
}

// Length returns the length of the window. That of a calendar window is its usual length: a
// day may have 23 or 25 hours, and a month counts as zero.
func (w Window) Length() time.Duration {
	return [...]time.Duration{sliding: w.length, hour: time.Hour, day: 24 * time.Hour, week: 7 * 24 * time.Hour, month: 0}[w.unit]
}

// name returns the name of a calendar unit.
func (w Window) name() string {
	return [...]string{hour: "hour", day: "day", week: "week", month: "month"}[w.unit]
}

// zone returns the time zone of a calendar window.
func (w Window) zone() *time.Location {
	if w.location == nil {
		return time.UTC
	}
	return w.location
}

// check refuses a window that no quota can have.
func (w Window) check() error {
	switch {
	case w.unit == 0:
		return errors.New("the window is missing: use PerDay or Sliding")
	case w.unit == sliding && (w.length < time.Millisecond || w.length > maxDuration):
		return fmt.Errorf("Sliding(%v): must be from 1ms to %v", w.length, maxDuration)
	}
	return nil
}

// request returns a request for the window at a time. The key contains the window: each
// window has its own units. Both ends count, because the days of two time zones may begin
// together and end apart.
func (w Window) request(key string, now time.Time) engine.Quota {
	if w.unit == sliding {
		return engine.Quota{Key: key + "@" + w.length.String(), Window: w.length}
	}
	from, until := w.bounds(now)
	return engine.Quota{Key: fmt.Sprintf("%s@%s:%d-%d", key, w.name(), from.Unix(), until.Unix()), From: from, Until: until}
}

// bounds returns the beginning and the end of the calendar window at a time.
func (w Window) bounds(now time.Time) (from, until time.Time) {
	// Where clocks are set back at midnight, a date may have two midnights, and the day
	// begins at one of them. So the neighbours are tried as well.
	for i := -1; i <= 1; i++ {
		if from, until = w.start(now, i), w.start(now, i+1); !now.Before(from) && now.Before(until) {
			break
		}
	}
	if w.unit == hour { // where clocks are set by half an hour, an hour is cut short
		begin, end := now.In(w.zone()).ZoneBounds()
		if from.Before(begin) {
			from = begin
		}
		if !end.IsZero() && until.After(end) {
			until = end
		}
	}
	return from, until
}

// start returns the beginning of the i-th window after the one whose date or hour is now's.
func (w Window) start(now time.Time, i int) time.Time {
	now = now.In(w.zone())
	year, m, d := now.Date()
	switch w.unit {
	case hour:
		past := time.Duration(now.Minute())*time.Minute + time.Duration(now.Second())*time.Second + time.Duration(now.Nanosecond())
		return now.Add(time.Duration(i)*time.Hour - past)
	case week:
		d += 7*i - (int(now.Weekday())+6)%7
	case month:
		m, d = m+time.Month(i), 1
	default:
		d += i
	}
	begin := time.Date(year, m, d, 0, 0, 0, 0, w.zone())
	// Where clocks are set forward at midnight, the day begins at that moment. For the missing
	// midnight, time.Date returns a time before it, on the previous day, or after it.
	switch before, after := begin.ZoneBounds(); {
	case begin.Hour() >= 12:
		return after
	case begin.Hour() > 0:
		return before
	}
	return begin
}
