// Package report formats the report of package doctor as text.
package report

import (
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/doctor"
)

// A Page sets the language, color and width of a report.
type Page struct {
	Words    i18n.Language   // the language of our own texts
	Language doctor.Language // the same language, for the findings
	Color    chart.Color
	Width    int // in columns
}

// Write returns the report as text.
func (p Page) Write(r doctor.Report) string {
	var b strings.Builder
	p.heading(&b, p.topology(r.Health))
	p.table(&b, r.Health)
	// Guarantees depend on settings that only a reachable server reveals.
	if r.Reached() {
		p.guarantees(&b, r)
	}
	p.findings(&b, r)
	return b.String()
}

// heading writes a line that structures the report.
func (p Page) heading(b *strings.Builder, text string) {
	fmt.Fprintf(b, "%s\n", p.Color.Bold(text))
}

// guarantees prints one table per engine: a standby has one for itself and one for each
// side.
func (p Page) guarantees(b *strings.Builder, r doctor.Report) {
	for _, g := range r.Guarantees {
		b.WriteByte('\n')
		p.heading(b, p.Words.Say(i18n.Guarantees)+" · "+g.Of.In(p.Language))
		for _, row := range []struct {
			name i18n.Text
			text doctor.Text
		}{
			{i18n.RowGrants, g.Grants}, {i18n.RowWorkers, g.Workers}, {i18n.RowFences, g.Fences},
			{i18n.RowFreedWithin, g.FreedWithin}, {i18n.RowSurvives, g.Survives}, {i18n.RowGuard, g.Guard},
			{i18n.NotGuaranteed, doctor.NotGuaranteed},
		} {
			p.paragraph(b, p.Words.Say(row.name), 15, row.text.In(p.Language))
		}
	}
}

// findings prints the findings, the worst first.
func (p Page) findings(b *strings.Builder, r doctor.Report) {
	b.WriteByte('\n')
	if len(r.Findings) == 0 {
		p.heading(b, p.Color.Good("✓ ")+p.Words.Say(i18n.FoundNone))
		return
	}
	p.heading(b, p.Words.Say(i18n.Found, r.Count(doctor.Fail), r.Count(doctor.Warn), r.Count(doctor.Note)))
	for _, f := range r.Findings {
		p.finding(b, f)
	}
}

// finding writes the observation, its meaning, the fix, and commands to copy. The
// commands are not wrapped.
func (p Page) finding(b *strings.Builder, f doctor.Finding) {
	mark := map[doctor.Severity]string{doctor.Fail: p.Color.Bad("✗"), doctor.Warn: p.Color.Bold("!"), doctor.Note: p.Color.Dim("·")}
	title := string(f.Code)
	if f.Node != "" {
		title += " · " + f.Node
	}
	fmt.Fprintf(b, "%s %s\n", mark[f.Severity], p.Color.Bold(title))
	p.paragraph(b, "", 0, f.Seen.In(p.Language))
	if f.Code == doctor.Notice {
		return // a notice has no consequence and no advice
	}
	p.paragraph(b, p.Words.Say(i18n.Means), 6, f.Means.In(p.Language))
	p.paragraph(b, p.Words.Say(i18n.Do), 6, f.Do.In(p.Language))
	for _, command := range f.Commands {
		fmt.Fprintf(b, "          %s\n", command)
	}
}

// paragraph writes a name and a text, wrapped to the page's width.
func (p Page) paragraph(b *strings.Builder, name string, width int, text string) {
	lines := wrap(text, p.Width-2-width) // 2: the indentation below
	for i, l := range lines {
		head := strings.Repeat(" ", width)
		if i == 0 {
			head = p.Color.Dim(i18n.Pad(name, width))
		}
		fmt.Fprintf(b, "  %s%s\n", head, l)
	}
}

// wrap breaks a text at spaces and between Chinese characters. A space at the end of a
// line has no width, and is removed.
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

// closing is the punctuation that must not begin a line.
const closing = "，。：；）、？"

// words splits a text into the parts that stay on one line. Chinese has no spaces, so
// each of its characters is a word of its own.
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
