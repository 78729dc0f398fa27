package demo

import (
	"cmp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// spans turns a history into what can be drawn: all who entered, in order.
func spans(events []history.Event) []chart.Span {
	if len(events) == 0 {
		return nil
	}
	began, ended := events[0].At, events[len(events)-1].At.Sub(events[0].At)
	asked := make(map[string]time.Duration)
	place := make(map[string]int) // in all, by who
	var all []chart.Span
	for _, e := range events {
		at := e.At.Sub(began)
		switch e.Kind {
		case history.Ask:
			asked[e.Who] = at
		case history.Enter:
			place[e.Who] = len(all)
			all = append(all, chart.Span{Ask: asked[e.Who], Enter: at, Leave: ended})
		case history.Leave, history.Lost:
			all[place[e.Who]].Leave = at
		}
	}
	return all
}

// most returns how many were inside at the same time, at most.
func most(all []chart.Span) int {
	type change struct {
		at time.Duration
		by int
	}
	var changes []change
	for _, s := range all {
		changes = append(changes, change{s.Enter, 1}, change{s.Leave, -1})
	}
	slices.SortFunc(changes, func(a, b change) int { // who leaves goes before who enters
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by))
	})
	inside, peak := 0, 0
	for _, c := range changes {
		inside += c.by
		peak = max(peak, inside)
	}
	return peak
}
