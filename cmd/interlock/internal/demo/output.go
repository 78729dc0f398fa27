package demo

import (
	"fmt"
	"io"
	"strings"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// intro describes the storm.
func (d *Demo) intro() string {
	if d.Clicks == 1 {
		return d.say(i18n.IntroOne, chart.Duration(d.Hold))
	}
	return d.say(i18n.Intro, d.Clicks, chart.Duration(d.Hold))
}

// heading returns a numbered heading.
func (d *Demo) heading(title string) string {
	d.section++
	return fmt.Sprintf("\n%s\n\n", d.Color.Bold(fmt.Sprintf("%d · %s", d.section, title)))
}

// list formats findings, one per line.
func (d *Demo) list(findings []finding) string {
	// Widths are in columns: a Chinese name has two per character.
	width := 0
	for _, f := range findings {
		width = max(width, i18n.Width(d.say(f.name)))
	}
	var b strings.Builder
	for _, f := range findings {
		name := i18n.Pad(d.say(f.name), width)
		switch f.mark {
		case right:
			fmt.Fprintf(&b, "%s %s  %s\n", d.Color.Good("✓"), name, f.text)
		case wrong:
			fmt.Fprintf(&b, "%s %s  %s\n", d.Color.Bad("✗"), name, d.Color.Bad(f.text))
		default:
			fmt.Fprintf(&b, "  %s  %s\n", name, f.text)
		}
	}
	return b.String()
}

// maxViolations is how many violations are printed. One broken lock causes many
// violations, and the first explain it.
const maxViolations = 5

// conclusion formats the verdict, with the first violations if it failed.
func (d *Demo) conclusion(v Verdict) string {
	if v.OK() {
		return d.Color.Good(d.say(i18n.Passed)) + "\n"
	}
	var b strings.Builder
	b.WriteString(d.Color.Bad(d.say(i18n.Broken)) + "\n")
	for _, violation := range v.Report.Violations[:min(maxViolations, len(v.Report.Violations))] {
		fmt.Fprintf(&b, "  %v\n", violation)
	}
	return b.String()
}

// say formats a text in the demo's language.
func (d *Demo) say(t i18n.Text, args ...any) string { return d.Language.Say(t, args...) }

// print writes to Out. An error, such as a full disk, ends the demo.
func (d *Demo) print(s string) error {
	_, err := io.WriteString(d.Out, s)
	return err
}
