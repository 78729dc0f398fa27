package cases

import (
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// A Verdict is what became of a run.
type Verdict struct {
	OK         bool      `json:"ok"`
	Headline   Both      `json:"headline"`
	Findings   []Finding `json:"findings"`
	Overlaps   int       `json:"overlaps"`             // how often two were inside who should not have been
	Violations []string  `json:"violations,omitempty"` // the first few, as the checker says it
}

// A Finding is one line of a verdict.
type Finding struct {
	Mark Mark `json:"mark"`
	Name Both `json:"name"`
	Text Both `json:"text"`
}

// A Mark says what a finding means.
type Mark string

// The marks.
const (
	Right  Mark = "right"
	Wrong  Mark = "wrong"
	Figure Mark = "figure" // nothing that could be wrong
)

// Both is a text in both languages, so that a page can switch between them.
type Both struct {
	English string `json:"en"`
	Chinese string `json:"zh"`
}

// Say puts arguments into a text, in both languages.
func Say(t i18n.Text, args ...any) Both {
	return Both{i18n.English.Say(t, args...), i18n.Chinese.Say(t, args...)}
}

// shown is how many violations a person will read.
const shown = 5

// judge looks at a run that is over. Both ways are measured by what should come of
// it behind Interlock.
func judge(c Case, r *run, direct bool, e effect) Verdict {
	events := r.log.Events()
	report := history.Check(events, c.want.demands()...)
	all := r.counts(c.want, direct)
	all = append(all, Finding{mark(e.ok), Say(e.name), Say(e.text, e.args...)})
	all = append(all, exclusion(report, events, c.want))
	if c.want.ordered {
		all = append(all, ruled(report, history.OutOfOrder, i18n.PlayOrder, Say(i18n.PlayInOrder), i18n.PlayUnordered))
	}
	if n := fenced(events); n > 1 {
		all = append(all, ruled(report, history.FenceFell, i18n.PlayFences, Say(i18n.PlayRise, n), i18n.PlayFell))
	}
	if r.tally.ran > 1 {
		all = append(all, Finding{Figure, Say(i18n.PlayWaits), Say(i18n.PlayWaitsN, chart.Duration(report.WaitP50), chart.Duration(report.Wait))})
	}
	v := Verdict{OK: true, Headline: Say(i18n.PlayRight), Findings: all, Overlaps: broken(report, history.Overlap)}
	for _, f := range all {
		v.OK = v.OK && f.Mark != Wrong
	}
	if !v.OK {
		v.Headline = Say(i18n.PlayBroken)
	}
	for _, violation := range report.Violations[:min(shown, len(report.Violations))] {
		v.Violations = append(v.Violations, violation.String())
	}
	return v
}

func mark(ok bool) Mark {
	if ok {
		return Right
	}
	return Wrong
}

// counts compares what became of the requests with what should have. Directly
// nobody is there to refuse or replay anything, and that is no fault of its own.
func (r *run) counts(w want, direct bool) []Finding {
	asked, want := len(r.shots), w.ran
	if want == 0 {
		want = asked
	}
	ran := Finding{Right, Say(i18n.PlayRan), Say(i18n.PlayRanOf, r.tally.ran, asked)}
	if r.tally.ran != want {
		ran = Finding{Wrong, Say(i18n.PlayRan), Say(i18n.PlayRanWant, r.tally.ran, asked, want)}
	}
	all := []Finding{ran}
	count := func(got, want int, ok bool, name, text i18n.Text) {
		switch {
		case !ok && !direct:
			all = append(all, Finding{Wrong, Say(name), Say(i18n.PlayCount, got, want)})
		case got > 0:
			all = append(all, Finding{Right, Say(name), Say(text, got)})
		}
	}
	late := r.tally.replayed - w.replayed // they could have been refused, had they come sooner
	if w.replayed == 0 {
		late = 0
	}
	count(r.tally.refused, w.refused, r.tally.refused == w.refused-late, i18n.PlayRefused, i18n.PlayRefusedN)
	count(r.tally.replayed, w.replayed, late >= 0 && r.tally.replayed == w.replayed+late, i18n.PlayReplayed, i18n.PlayReplayedN)
	if r.tally.failed > 0 {
		all = append(all, Finding{Wrong, Say(i18n.PlayFailed), Say(i18n.PlayFailedN, r.tally.failed)})
	}
	return all
}

// exclusion tells who was inside beside whom.
func exclusion(report history.Report, events []history.Event, w want) Finding {
	n, most := broken(report, history.Overlap)+broken(report, history.Malformed), crowd(events)
	switch {
	case n > 0:
		return Finding{Wrong, Say(i18n.PlayOverlap), Say(i18n.PlayOverlapN, n, most)}
	case w.crowd:
		return Finding{Right, Say(i18n.PlayOverlap), Say(i18n.PlayCrowd, most)}
	}
	return Finding{Right, Say(i18n.PlayOverlap), Say(i18n.PlayAlone)}
}

// ruled tells how often a rule of the checker was violated.
func ruled(report history.Report, rule history.Rule, name i18n.Text, fine Both, some i18n.Text) Finding {
	if n := broken(report, rule); n > 0 {
		return Finding{Wrong, Say(name), Say(some, n)}
	}
	return Finding{Right, Say(name), fine}
}

func broken(report history.Report, rule history.Rule) (n int) {
	for _, v := range report.Violations {
		if v.Rule == rule {
			n++
		}
	}
	return n
}

// fenced counts the entries that had a fence.
func fenced(events []history.Event) (n int) {
	for _, e := range events {
		if e.Kind == history.Enter && e.Fence > 0 {
			n++
		}
	}
	return n
}

// crowd returns how many were inside at the same time, at most.
func crowd(events []history.Event) (most int) {
	inside := 0
	for _, e := range events {
		switch e.Kind {
		case history.Enter:
			inside++
		case history.Leave, history.Lost:
			inside--
		}
		most = max(most, inside)
	}
	return most
}
