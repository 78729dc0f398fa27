package main

import (
	"fmt"
	"io"
	"time"
)

// targets collects which performance targets were met.
type targets struct{ results []string }

// The targets of locks.
const (
	manyGoroutines = 256
	leastRatio     = 3.0  // Interlock's rate / redsync's, at manyGoroutines
	mostAllocs     = 8.0  // per cycle
	mostCommands   = 0.3  // sent per grant
	mostHandover   = 20.0 // µs, median
)

func (b *targets) check(met bool, format string, args ...any) {
	verdict := "met"
	if !met {
		verdict = "NOT met"
	}
	b.results = append(b.results, fmt.Sprintf("- %s: %s", verdict, fmt.Sprintf(format, args...)))
}

func (b *targets) checkUncontended(f *group, top *ceiling, g int) {
	r := f.find(plainRow)
	if r == nil || r.cycles == 0 {
		return
	}
	if g == manyGoroutines && len(r.ratio) > 0 {
		got := median(r.ratio)
		b.check(got >= leastRatio, "at %d goroutines at least %.0f× redsync's cycles: %.2f×", g, leastRatio, got)
		if top != nil {
			b.results = append(b.results, fmt.Sprintf("- for comparison: the server's ceiling for our two scripts is %.2f× redsync; Interlock reaches %.0f %% of that ceiling",
				median(top.ratio), 100*median(r.rate)/median(top.rate)))
		}
	}
	got := float64(r.mallocs) / float64(r.cycles)
	b.check(got <= mostAllocs, "at %d goroutines at most %.0f allocations per cycle: %.2f", g, mostAllocs, got)
}

func (b *targets) checkContended(f *group, n int) {
	r := f.find(plainRow)
	if r == nil || r.cycles == 0 {
		return
	}
	sent := float64(r.sent) / float64(r.cycles)
	b.check(sent <= mostCommands, "with %d waiters at most %.1f commands per grant: %.2f", n, mostCommands, sent)
	handover := float64(r.latency.at(0.5)) / float64(time.Microsecond)
	b.check(handover < mostHandover, "with %d waiters a hand-over in less than %.0f µs: %.1f µs", n, mostHandover, handover)
}

func (b *targets) print(w io.Writer) {
	if len(b.results) == 0 {
		return
	}
	fmt.Fprintf(w, "\n### Targets\n\n")
	for _, result := range b.results {
		fmt.Fprintln(w, result)
	}
}
