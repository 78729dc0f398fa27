// Package loadtest runs many goroutines that contend for a lock, or sends many requests
// at once, and counts the results.
package loadtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
)

// A Result is the outcome of a load test.
type Result struct {
	Figures    []Figure
	Violations []string       // found by the history checker
	Spans      []chart.Span   // waits and holds, for a lock
	Statuses   map[int]int    // responses by status, for requests
	Problems   map[string]int // responses by problem code, for requests
}

// A Figure is a count or a measured time.
type Figure struct {
	Name  string
	Value float64
	Unit  time.Duration // of a measured time; 0 for a count
}

// Text formats the value.
func (f Figure) Text() string {
	if f.Unit == 0 {
		return trim(f.Value)
	}
	return chart.Duration(time.Duration(f.Value * float64(f.Unit)))
}

// Figure returns the figure with a name.
func (r *Result) Figure(name string) (Figure, bool) {
	i := slices.IndexFunc(r.Figures, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		return Figure{}, false
	}
	return r.Figures[i], true
}

// count returns a figure without a unit.
func count(name string, n int) Figure { return Figure{Name: name, Value: float64(n)} }

// span returns a figure in milliseconds, the unit of thresholds and JSON.
func span(name string, d time.Duration) Figure {
	return Figure{Name: name, Value: float64(d) / float64(time.Millisecond), Unit: time.Millisecond}
}

// The names of all figures, to validate thresholds before a run.
var (
	LockFigures    = []string{"n", "executed", "refused", "lost", "max-holders", "violations", "p50", "p99", "elapsed"}
	RequestFigures = []string{"n", "executed", "replayed", "refused", "errors", "answers", "p50", "p99", "elapsed"}
)

// percentile returns a percentile of durations; part is between 0 and 1. It sorts its
// argument.
func percentile(all []time.Duration, part float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.SortFunc(all, cmp.Compare)
	return all[min(len(all)-1, int(part*float64(len(all))))]
}
