package cases

import (
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// A Verdict is the result of a run.
type Verdict struct {
	OK         bool      `json:"ok"`
	Headline   Bilingual `json:"headline"`
	Findings   []Finding `json:"findings"`
	Overlaps   int       `json:"overlaps"`             // forbidden overlaps
	Violations []string  `json:"violations,omitempty"` // the first few, in the words of the checker
}

// A Finding is a line of a verdict.
type Finding struct {
	Mark Mark      `json:"mark"`
	Name Bilingual `json:"name"`
	Text Bilingual `json:"text"`
}

// A Mark says whether a finding is good, bad, or only a figure.
type Mark string

// The marks.
const (
	Right  Mark = "right"
	Wrong  Mark = "wrong"
	Figure Mark = "figure"
)

// Bilingual is a text in both languages, so that the page can switch between them.
type Bilingual struct {
	English string `json:"en"`
	Chinese string `json:"zh"`
}

// Say formats a text in both languages.
func Say(t i18n.Text, args ...any) Bilingual {
	return Bilingual{i18n.English.Say(t, args...), i18n.Chinese.Say(t, args...)}
}

// maxViolations is how many violations a verdict contains.
const maxViolations = 5

// judge checks a finished run. Direct runs are compared with the result that is expected
// behind Interlock. So a direct run shows what the gateway prevents.
func judge(c Case, r *run, direct bool, e effect) Verdict {
	events := r.log.Events()
	report := history.Check(events, c.want.checks()...)
	all := r.outcomeFindings(c.want, direct)
	all = append(all, Finding{mark(e.ok), Say(e.name), Say(e.text, e.args...)})
	all = append(all, exclusion(report, events, c.want))
	if c.want.ordered {
		all = append(all, ruled(report, history.OutOfOrder, i18n.PlayOrder, Say(i18n.PlayInOrder), i18n.PlayUnordered))
	}
	// One fence proves no order, and direct requests have no fences.
	if n := fenced(events); n > 1 {
		all = append(all, ruled(report, history.FenceFell, i18n.PlayFences, Say(i18n.PlayRise, n), i18n.PlayFell))
	}
	if r.counts.ran > 1 {
		all = append(all, Finding{Figure, Say(i18n.PlayWaits), Say(i18n.PlayWaitsN, chart.Duration(report.WaitP50), chart.Duration(report.Wait))})
	}
	v := Verdict{OK: true, Headline: Say(i18n.PlayRight), Findings: all, Overlaps: demo.Violations(report, history.Overlap)}
	for _, f := range all {
		v.OK = v.OK && f.Mark != Wrong
	}
	if !v.OK {
		v.Headline = Say(i18n.PlayBroken)
	}
	for _, violation := range report.Violations[:min(maxViolations, len(report.Violations))] {
		v.Violations = append(v.Violations, violation.String())
	}
	return v
}

// mark returns the mark of a check.
func mark(ok bool) Mark {
	if ok {
		return Right
	}
	return Wrong
}

// outcomeFindings compares the outcomes with the expected ones. A direct run cannot
// refuse or replay requests, so their absence is not a failure.
func (r *run) outcomeFindings(w want, direct bool) []Finding {
	asked, want := len(r.calls), w.ran
	if want == 0 {
		want = asked
	}
	ran := Finding{Right, Say(i18n.PlayRan), Say(i18n.PlayRanOf, r.counts.ran, asked)}
	if r.counts.ran != want {
		ran = Finding{Wrong, Say(i18n.PlayRan), Say(i18n.PlayRanWant, r.counts.ran, asked, want)}
	}
	all := []Finding{ran}
	// A count of zero is not worth a line, unless it is wrong.
	count := func(got, want int, ok bool, name, text i18n.Text) {
		switch {
		case !ok && !direct:
			all = append(all, Finding{Wrong, Say(name), Say(i18n.PlayCount, got, want)})
		case got > 0:
			all = append(all, Finding{Right, Say(name), Say(text, got)})
		}
	}
	late := r.counts.replayed - w.replayed // requests that were replayed, because they arrived too late to be refused
	// Without an expected replay, any replay is a failure.
	if w.replayed == 0 {
		late = 0
	}
	count(r.counts.refused, w.refused, r.counts.refused == w.refused-late, i18n.PlayRefused, i18n.PlayRefusedN)
	count(r.counts.replayed, w.replayed, late >= 0 && r.counts.replayed == w.replayed+late, i18n.PlayReplayed, i18n.PlayReplayedN)
	if r.counts.failed > 0 {
		all = append(all, Finding{Wrong, Say(i18n.PlayFailed), Say(i18n.PlayFailedN, r.counts.failed)})
	}
	return all
}

// exclusion returns the finding about simultaneous requests. A malformed history, such as
// a leave without an enter, counts as a violation.
func exclusion(report history.Report, events []history.Event, w want) Finding {
	n, most := demo.Violations(report, history.Overlap)+demo.Violations(report, history.Malformed), demo.MaxHolders(events)
	switch {
	case n > 0:
		return Finding{Wrong, Say(i18n.PlayOverlap), Say(i18n.PlayOverlapN, n, most)}
	case w.sharedReads:
		return Finding{Right, Say(i18n.PlayOverlap), Say(i18n.PlayReaders, most)}
	}
	return Finding{Right, Say(i18n.PlayOverlap), Say(i18n.PlayAlone)}
}

// ruled returns a finding about the violations of a rule.
func ruled(report history.Report, rule history.Rule, name i18n.Text, passText Bilingual, failText i18n.Text) Finding {
	if n := demo.Violations(report, rule); n > 0 {
		return Finding{Wrong, Say(name), Say(failText, n)}
	}
	return Finding{Right, Say(name), passText}
}

// fenced counts the requests with a fence.
func fenced(events []history.Event) (n int) {
	for _, e := range events {
		if e.Kind == history.Enter && e.Fence > 0 {
			n++
		}
	}
	return n
}
