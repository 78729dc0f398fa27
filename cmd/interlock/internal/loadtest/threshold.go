package loadtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Threshold is a condition on a figure, such as executed==1 or p99<50ms.
type Threshold struct {
	Name  string
	Op    string
	Value float64 // a count, or milliseconds
	text  string  // as written, for the report
}

// ops are the comparison operators. Longer ones come first, since <= begins with <.
var ops = []string{"==", "!=", "<=", ">=", "<", ">"}

// times are the figures with a duration as their value.
var times = []string{"p50", "p99", "elapsed"}

// ParseThresholds parses a comma-separated list of thresholds. Only the given names are
// allowed.
func ParseThresholds(text string, names []string) ([]Threshold, error) {
	var all []Threshold
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		t, err := parse(strings.TrimSpace(part), names)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// parse finds the operator that comes first in the text, because a value may contain
// others.
func parse(text string, names []string) (Threshold, error) {
	at, op := -1, ""
	for _, o := range ops {
		// A longer operator at the same position was found before, and stays. Position 0
		// has no name in front.
		if i := strings.Index(text, o); i > 0 && (at < 0 || i < at) {
			at, op = i, o
		}
	}
	if at < 0 {
		return Threshold{}, fmt.Errorf("%q has no comparison: write a figure, one of %s, and a value, such as executed==1", text, strings.Join(ops, " "))
	}
	t := Threshold{Name: strings.TrimSpace(text[:at]), Op: op, text: text}
	if !slices.Contains(names, t.Name) {
		return t, fmt.Errorf("unknown figure %q: use one of %s", t.Name, strings.Join(names, ", "))
	}
	value := strings.TrimSpace(text[at+len(op):])
	if slices.Contains(times, t.Name) {
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return t, fmt.Errorf("%q is not a duration such as 50ms", value)
		}
		t.Value = float64(d) / float64(time.Millisecond)
		return t, nil
	}
	// Counts are small, so float64 represents them exactly and == is safe.
	n, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		return t, fmt.Errorf("%q is not a whole number", value)
	}
	t.Value = float64(n)
	return t, nil
}

// String returns the threshold as the user wrote it.
func (t Threshold) String() string { return t.text }

// Met reports whether a result meets the threshold.
func (t Threshold) Met(r *Result) bool {
	f, ok := r.Figure(t.Name)
	// ParseThresholds allows known names only; an unknown one must not pass.
	if !ok {
		return false
	}
	switch t.Op {
	case "==":
		return f.Value == t.Value
	case "!=":
		return f.Value != t.Value
	case "<=":
		return f.Value <= t.Value
	case ">=":
		return f.Value >= t.Value
	case "<":
		return f.Value < t.Value
	}
	return f.Value > t.Value
}

// trim formats a number without trailing zeros.
func trim(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
