package demo

import (
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// timeline converts a history into the spans of a chart, in the order of entry.
func timeline(events []history.Event) []chart.Span {
	if len(events) == 0 {
		return nil
	}
	began, ended := events[0].At, events[len(events)-1].At.Sub(events[0].At)
	asked := make(map[string]time.Duration)
	index := make(map[string]int) // of each goroutine's span
	var all []chart.Span
	for _, e := range events {
		at := e.At.Sub(began)
		switch e.Kind {
		case history.Ask:
			asked[e.Actor] = at
		case history.Enter:
			index[e.Actor] = len(all)
			// A span without a Leave lasts until the end of the history.
			all = append(all, chart.Span{Ask: asked[e.Actor], Enter: at, Leave: ended})
		case history.Leave, history.Lost:
			all[index[e.Actor]].Leave = at
		}
	}
	return all
}

// MaxHolders returns the largest number of simultaneous holders in a history. It relies
// on the order of events, not on their times.
func MaxHolders(events []history.Event) int {
	holders, peak := 0, 0
	for _, e := range events {
		switch e.Kind {
		case history.Enter:
			holders++
		case history.Leave, history.Lost:
			holders--
		}
		peak = max(peak, holders)
	}
	return peak
}

// Violations counts how often a history violates a rule.
func Violations(report history.Report, rule history.Rule) (n int) {
	for _, v := range report.Violations {
		if v.Rule == rule {
			n++
		}
	}
	return n
}
