package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Rule is a rule that a history can violate.
type Rule string

// The rules.
const (
	Overlap    Rule = "two holds overlap"
	FenceFell  Rule = "a fence did not rise"
	OutOfOrder Rule = "a later request was served first"
	Starved    Rule = "a caller waited too long"
	Malformed  Rule = "the history makes no sense"
)

// A Violation is a violation of a rule.
type Violation struct {
	Rule Rule
	Line int // the number of the event that violates the rule, from 1
	Key  string
	Text string // a sentence
}

// String returns the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s: event %d, key %q: %s", v.Rule, v.Line, v.Key, v.Text)
}

// A Report is the result of a check, with figures.
type Report struct {
	Violations []Violation

	Asks, Grants, Lost     int
	Keys, Who, Processes   int
	Span                   time.Duration // from the first event to the last
	WaitP50, WaitP99, Wait time.Duration // from Ask to Enter; Wait is the longest
	Starved                int           // waits longer than [Within] allows
	Gap                    time.Duration // the longest time for which a lock was free although a caller waited

	// Jain says how evenly the grants are spread over the actors: 1 if all got the
	// same number, 1/n if one of n got all.
	Jain float64
}

// Err returns the violations as an error, or nil.
func (r Report) Err() error {
	var errs []error
	for _, v := range r.Violations {
		errs = append(errs, errors.New("history: "+v.String()))
	}
	return errors.Join(errs...)
}

// String returns the report as text.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d asks, %d grants, %d lost; %d keys, %d actors, %d processes, %v\n",
		r.Asks, r.Grants, r.Lost, r.Keys, r.Who, r.Processes, r.Span.Round(time.Millisecond))
	fmt.Fprintf(&b, "waits: half within %v, 99 %% within %v, the longest %v; gaps up to %v; Jain %.3f; %d starved\n",
		r.WaitP50, r.WaitP99, r.Wait, r.Gap, r.Jain, r.Starved)
	if len(r.Violations) == 0 {
		b.WriteString("verdict: nothing violated")
		return b.String()
	}
	fmt.Fprintf(&b, "verdict: %d violations", len(r.Violations))
	for i, v := range r.Violations {
		if i == shown {
			fmt.Fprintf(&b, "\n  and %d more", len(r.Violations)-shown)
			break
		}
		fmt.Fprintf(&b, "\n  %v", v)
	}
	return b.String()
}

// shown is how many violations are printed.
const shown = 20

// close checks the remaining waiters, and computes the figures.
func (j *judge) close(events []Event) Report {
	r := &j.report
	if len(events) > 0 {
		first, last := events[0].At, events[len(events)-1].At
		r.Span = last.Sub(first)
		for _, k := range j.keys {
			j.gap(k, last)
			for _, ask := range k.asking {
				j.waited(ask, last)
			}
		}
	}
	slices.SortStableFunc(r.Violations, func(a, b Violation) int { return cmp.Compare(a.Line, b.Line) })
	r.Keys, r.Who, r.Processes, r.Jain = len(j.keys), len(j.grants), len(j.processes), jain(j.grants)
	if n := len(j.waits); n > 0 {
		slices.Sort(j.waits)
		r.WaitP50, r.WaitP99, r.Wait = j.waits[(n-1)/2], j.waits[(n-1)*99/100], j.waits[n-1]
	}
	return *r
}

// jain is (Σx)² / (n·Σx²); R. Jain, DEC TR-301, 1984.
func jain(grants map[string]int) float64 {
	var sum, squares float64
	for _, n := range grants {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(grants)) * squares)
}
