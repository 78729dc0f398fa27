// Package loadtest lets many want the same thing at once, a lock or the answer to a
// request, and counts what they got.
package loadtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
)

// A Result is what became of a storm.
type Result struct {
	Figures    []Figure
	Violations []string       // what the checker of histories found wrong
	Spans      []chart.Span   // who waited and who held, if it was about a lock
	Statuses   map[int]int    // how often each came back, if it was about requests
	Problems   map[string]int // and each code of a problem
}

// A Figure is something that was counted or measured.
type Figure struct {
	Name  string
	Value float64
	Unit  time.Duration // what the value counts, if that is time
}

// Text is the figure for people.
func (f Figure) Text() string {
	if f.Unit == 0 {
		return trim(f.Value)
	}
	return chart.Duration(time.Duration(f.Value * float64(f.Unit)))
}

// Figure returns the one of that name.
func (r *Result) Figure(name string) (Figure, bool) {
	i := slices.IndexFunc(r.Figures, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		return Figure{}, false
	}
	return r.Figures[i], true
}

func count(name string, n int) Figure { return Figure{Name: name, Value: float64(n)} }

func span(name string, d time.Duration) Figure {
	return Figure{Name: name, Value: float64(d) / float64(time.Millisecond), Unit: time.Millisecond}
}

// The names of figures, for those who set thresholds before there are any.
var (
	LockFigures    = []string{"n", "executed", "refused", "lost", "max-holders", "violations", "p50", "p99", "elapsed"}
	RequestFigures = []string{"n", "executed", "replayed", "refused", "errors", "answers", "p50", "p99", "elapsed"}
)

// percentile returns the time within which that part of all were served.
func percentile(all []time.Duration, part float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.SortFunc(all, cmp.Compare)
	return all[min(len(all)-1, int(part*float64(len(all))))]
}
