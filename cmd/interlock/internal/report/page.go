// Package report writes what a doctor has found for people.
package report

import (
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/doctor"
)

// A Page is how a report is to look.
type Page struct {
	Words    i18n.Language
	Language doctor.Language
	Paint    chart.Paint
	Width    int // in columns
}

// Write returns the report as text.
func (p Page) Write(r doctor.Report) string {
	var b strings.Builder
	p.heading(&b, p.topology(r.Health))
	p.table(&b, r.Health)
	if r.Reached() {
		p.promises(&b, r)
	}
	p.findings(&b, r)
	return b.String()
}

func (p Page) heading(b *strings.Builder, text string) {
	fmt.Fprintf(b, "%s\n", p.Paint.Bold(text))
}

func (p Page) promises(b *strings.Builder, r doctor.Report) {
	for _, promise := range r.Promises {
		b.WriteByte('\n')
		p.heading(b, p.Words.Say(i18n.Promised)+" · "+promise.Of.In(p.Language))
		for _, row := range []struct {
			name i18n.Text
			text doctor.Text
		}{
			{i18n.RowGrants, promise.Grants}, {i18n.RowBelief, promise.Belief}, {i18n.RowFences, promise.Fences},
			{i18n.RowDead, promise.Dead}, {i18n.RowSurvives, promise.Survives}, {i18n.RowGuard, promise.Guard},
			{i18n.NotPromised, doctor.Unpromised},
		} {
			p.line(b, p.Words.Say(row.name), 13, row.text.In(p.Language))
		}
	}
}

func (p Page) findings(b *strings.Builder, r doctor.Report) {
	b.WriteByte('\n')
	if len(r.Findings) == 0 {
		p.heading(b, p.Paint.Good("✓ ")+p.Words.Say(i18n.FoundNone))
		return
	}
	p.heading(b, p.Words.Say(i18n.Found, r.Count(doctor.Fail), r.Count(doctor.Warn), r.Count(doctor.Note)))
	for _, f := range r.Findings {
		p.finding(b, f)
	}
}

func (p Page) finding(b *strings.Builder, f doctor.Finding) {
	mark := map[doctor.Severity]string{doctor.Fail: p.Paint.Bad("✗"), doctor.Warn: p.Paint.Bold("!"), doctor.Note: p.Paint.Dim("·")}
	title := string(f.Code)
	if f.Node != "" {
		title += " · " + f.Node
	}
	fmt.Fprintf(b, "%s %s\n", mark[f.Severity], p.Paint.Bold(title))
	p.line(b, "", 0, f.Seen.In(p.Language))
	if f.Code == doctor.Notice {
		return // there is no more to say
	}
	p.line(b, p.Words.Say(i18n.Means), 6, f.Means.In(p.Language))
	p.line(b, p.Words.Say(i18n.Do), 6, f.Do.In(p.Language))
	for _, command := range f.Commands {
		fmt.Fprintf(b, "          %s\n", command)
	}
}

// line writes a text behind its name, as many lines as it takes.
func (p Page) line(b *strings.Builder, name string, width int, text string) {
	lines := wrap(text, p.Width-2-width)
	for i, l := range lines {
		head := strings.Repeat(" ", width)
		if i == 0 {
			head = p.Paint.Dim(i18n.Pad(name, width))
		}
		fmt.Fprintf(b, "  %s%s\n", head, l)
	}
}

// wrap breaks a text at spaces, and between Chinese characters.
func wrap(text string, width int) (lines []string) {
	line, columns := "", 0
	for _, word := range words(text) {
		n := i18n.Width(word)
		if columns+i18n.Width(strings.TrimRight(word, " ")) > width && columns > 0 {
			lines = append(lines, strings.TrimRight(line, " "))
			line, columns = "", 0
		}
		line, columns = line+word, columns+n
	}
	return append(lines, strings.TrimRight(line, " "))
}

// closing are signs that no line begins with.
const closing = "，。：；）、？"

// words are the parts of a text that stay together.
func words(text string) (all []string) {
	word := ""
	for _, r := range text {
		wide := i18n.Width(string(r)) == 2
		if wide && !strings.ContainsRune(closing, r) && word != "" {
			all, word = append(all, word), ""
		}
		word += string(r)
		if r == ' ' {
			all, word = append(all, word), ""
		}
	}
	if word != "" {
		all = append(all, word)
	}
	return all
}
