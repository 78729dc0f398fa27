package main

import (
	"fmt"
	"io"
	"time"
)

// A bar is what Interlock set out to reach, and whether it did.
type bar struct{ lines []string }

// The bars to reach.
const (
	manyGoroutines = 256
	leastRatio     = 3.0  // × redsync, with many goroutines
	mostAllocs     = 8.0  // in a cycle
	mostCommands   = 0.3  // sent for a grant
	mostHandover   = 20.0 // µs, median
)

func (b *bar) line(met bool, format string, args ...any) {
	verdict := "met"
	if !met {
		verdict = "NOT met"
	}
	b.lines = append(b.lines, fmt.Sprintf("- %s: %s", verdict, fmt.Sprintf(format, args...)))
}

func (b *bar) cycled(f *field, top *ceiling, g int) {
	r := f.find(plainRow)
	if r == nil || r.cycles == 0 {
		return
	}
	if g == manyGoroutines && len(r.ratio) > 0 {
		got := median(r.ratio)
		b.line(got >= leastRatio, "at %d goroutines at least %.0f× redsync's cycles: %.2f×", g, leastRatio, got)
		if top != nil {
			b.lines = append(b.lines, fmt.Sprintf("- for comparison: the server's ceiling for our two scripts is %.2f× redsync; Interlock is at %.0f %% of it",
				median(top.ratio), 100*median(r.rate)/median(top.rate)))
		}
	}
	got := float64(r.mallocs) / float64(r.cycles)
	b.line(got <= mostAllocs, "at %d goroutines at most %.0f allocations in a cycle: %.2f", g, mostAllocs, got)
}

func (b *bar) scrambled(f *field, n int) {
	r := f.find(plainRow)
	if r == nil || r.cycles == 0 {
		return
	}
	sent := float64(r.sent) / float64(r.cycles)
	b.line(sent <= mostCommands, "with %d waiters at most %.1f commands for a grant: %.2f", n, mostCommands, sent)
	handover := float64(r.latency.at(0.5)) / float64(time.Microsecond)
	b.line(handover < mostHandover, "with %d waiters a hand-over in less than %.0f µs: %.1f µs", n, mostHandover, handover)
}

func (b *bar) print(w io.Writer) {
	if len(b.lines) == 0 {
		return
	}
	fmt.Fprintf(w, "\n### The bar\n\n")
	for _, line := range b.lines {
		fmt.Fprintln(w, line)
	}
}
