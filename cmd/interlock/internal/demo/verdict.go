package demo

import (
	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// A finding is a line of a verdict.
type finding struct {
	mark mark
	name i18n.Text
	text string // in the user's language
}

// A mark says whether a finding is good, bad, or only a figure.
type mark int

const (
	figure mark = iota // cannot fail
	right
	wrong
)

// judged returns the mark of a check.
func judged(ok bool) mark {
	if ok {
		return right
	}
	return wrong
}

// A Verdict is the result of a storm with a lock.
type Verdict struct {
	Clicks, Counter int // expected and counted; they differ after a lost update
	Report          history.Report
	Stats           interlock.Stats
}

// Judge checks the history of a finished storm.
func Judge(s *Storm, stats interlock.Stats) Verdict {
	return Verdict{Clicks: s.Clicks, Counter: s.Counter(), Report: history.Check(s.Events()), Stats: stats}
}

// OK reports whether every goroutine acquired the lock, and no two held it at once.
func (v Verdict) OK() bool {
	return v.Report.Err() == nil && v.Report.Asks == v.Clicks && v.Report.Grants == v.Clicks &&
		v.Counter == v.Clicks && v.lost() == 0
}

// lost returns the number of lost locks. Both the holders and the client count losses. They
// may count the same loss, so the counts are not added.
func (v Verdict) lost() int { return max(v.Report.Lost, int(v.Stats.Lost)) }

// findings lists the checks of a verdict, and then figures that cannot fail.
func (v Verdict) findings(l i18n.Language) []finding {
	all := []finding{
		counted(l, v.Counter, v.Clicks),
		{judged(v.Report.Grants == v.Clicks), i18n.Held, l.Say(i18n.HeldOf, v.Report.Grants, v.Report.Asks)},
	}
	if n := v.lost(); n > 0 {
		all = append(all, finding{wrong, i18n.Lost, l.Say(i18n.LostLocks, n)})
	}
	return append(all,
		v.rule(history.Overlap, i18n.Overlaps, l.Say(i18n.OverlapsNone), i18n.OverlapsSome, l),
		v.rule(history.FenceFell, i18n.Fences, l.Say(i18n.FencesRise), i18n.FencesFell, l),
		finding{figure, i18n.Waits, l.Say(i18n.WaitsFigures, chart.Duration(v.Report.WaitP50), chart.Duration(v.Report.Wait))},
		finding{figure, i18n.Engine, l.Say(i18n.EngineAsked, v.Stats.Acquired-v.Stats.HandedOver, v.Stats.HandedOver)},
	)
}

// rule returns a finding about the violations of a rule.
func (v Verdict) rule(r history.Rule, name i18n.Text, passText string, failText i18n.Text, l i18n.Language) finding {
	if n := Violations(v.Report, r); n > 0 {
		return finding{wrong, name, l.Say(failText, n)}
	}
	return finding{right, name, passText}
}

// counted compares the counter with the clicks.
func counted(l i18n.Language, counter, clicks int) finding {
	if counter == clicks {
		return finding{right, i18n.Counter, l.Say(i18n.CounterRight, counter, clicks)}
	}
	return finding{wrong, i18n.Counter, l.Say(i18n.CounterShort, counter, clicks, clicks-counter)}
}
