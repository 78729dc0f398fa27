package rule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// A Rate is a number of executions per window: "3/day", "100/hour" or "5/10m". With a
// duration the window slides; otherwise it is a calendar unit.
type Rate struct {
	Units int
	Per   Calendar      // "" if the window slides
	Every time.Duration // the length of a sliding window
}

// A Calendar is a calendar unit of a [Rate].
type Calendar string

// The calendar units.
const (
	Hour  Calendar = "hour"
	Day   Calendar = "day"
	Week  Calendar = "week" // begins on Monday
	Month Calendar = "month"
)

var calendars = []Calendar{Hour, Day, Week, Month}

// String returns the rate as it is written in a rule, or "".
func (r Rate) String() string {
	switch {
	case r == Rate{}:
		return ""
	case r.Per != "":
		return fmt.Sprintf("%d/%s", r.Units, r.Per)
	}
	return fmt.Sprintf("%d/%s", r.Units, formatDuration(r.Every))
}

// ParseRate parses a rate.
func ParseRate(text string) (Rate, error) {
	const hint = "write a number and a window, as in 3/day or 5/10m"
	number, window, found := strings.Cut(text, "/")
	n, err := strconv.Atoi(number)
	switch {
	case !found || err != nil:
		return Rate{}, fmt.Errorf("rate=%s is not a rate: %s", shorten(text), hint)
	case n < 1 || n > interlock.MaxQuota:
		return Rate{}, fmt.Errorf("rate=%s: the number must be from 1 to %d", shorten(text), interlock.MaxQuota)
	case slices.Contains(calendars, Calendar(window)):
		return Rate{Units: n, Per: Calendar(window)}, nil
	}
	if d, err := time.ParseDuration(window); err == nil && d >= time.Millisecond && d <= maxDuration {
		return Rate{Units: n, Every: d}, nil
	}
	names := make([]string, len(calendars))
	for i, c := range calendars {
		names[i] = string(c)
	}
	if near := nearest(strings.TrimSuffix(window, "s"), names); near != "" {
		return Rate{}, fmt.Errorf("rate=%s: did you mean %s/%s?", shorten(text), number, near)
	}
	return Rate{}, fmt.Errorf("rate=%s: the window is hour, day, week, month or a duration from 1ms to a year: %s", shorten(text), hint)
}

// QuotaWindow returns the window of a rule with the verb limit. A zone that this machine does
// not know is an error.
func (r Rule) QuotaWindow() (interlock.Window, error) {
	loc, err := time.LoadLocation(r.Zone)
	if err != nil {
		return interlock.Window{}, fmt.Errorf("rule: zone=%s is not a time zone of this machine: use a name such as Asia/Shanghai, and install the package tzdata", r.Zone)
	}
	switch r.Rate.Per {
	case Hour:
		return interlock.PerHour(loc), nil
	case Day:
		return interlock.PerDay(loc), nil
	case Week:
		return interlock.PerWeek(loc), nil
	case Month:
		return interlock.PerMonth(loc), nil
	}
	return interlock.Sliding(r.Rate.Every), nil
}

// Quota returns the quota of a key, which must include the rule's name. The window is that
// of [Rule.QuotaWindow].
func (r Rule) Quota(client *interlock.Client, key string, w interlock.Window) *interlock.Quota {
	opts := []interlock.Option{interlock.WithName(r.Name)}
	if r.Wait > 0 {
		opts = append(opts, interlock.Wait(r.Wait))
	}
	return client.Quota(key, r.Rate.Units, w, opts...)
}

func (r *Rule) checkLimit(l *list, whole bool) {
	if r.Rate == (Rate{}) {
		l.add("rate", "limit needs a rate: write rate=3/day or rate=5/10m")
	}
	if r.Zone != "" {
		if _, err := time.LoadLocation(r.Zone); err != nil || r.Zone == "Local" {
			l.add("zone", "zone=%s is not a time zone: use a name such as Asia/Shanghai", shorten(r.Zone))
		} else if r.Rate.Every > 0 {
			l.add("zone", "zone=%s has no effect on a window of %s, which slides: remove it, or use a rate such as 3/day", shorten(r.Zone), formatDuration(r.Rate.Every))
		}
	}
	pick(l, "on-error", r.OnError, guard.Free, guard.Keep)
	r.checkRefusal(l, r.refusalOption(), whole)
}
