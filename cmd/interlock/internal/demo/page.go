package demo

import (
	"fmt"
	"io"
	"strings"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// intro says what is about to be shown.
func (d *Demo) intro() string {
	if d.Clicks == 1 {
		return d.say(i18n.IntroOne, chart.Duration(d.Hold))
	}
	return d.say(i18n.Intro, d.Clicks, chart.Duration(d.Hold))
}

// heading begins the next act.
func (d *Demo) heading(title string) string {
	d.act++
	return fmt.Sprintf("\n%s\n\n", d.Paint.Bold(fmt.Sprintf("%d · %s", d.act, title)))
}

// list writes findings one below the other.
func (d *Demo) list(findings []finding) string {
	width := 0
	for _, f := range findings {
		width = max(width, i18n.Width(d.say(f.name)))
	}
	var b strings.Builder
	for _, f := range findings {
		name := i18n.Pad(d.say(f.name), width)
		switch f.mark {
		case right:
			fmt.Fprintf(&b, "%s %s  %s\n", d.Paint.Good("✓"), name, f.text)
		case wrong:
			fmt.Fprintf(&b, "%s %s  %s\n", d.Paint.Bad("✗"), name, d.Paint.Bad(f.text))
		default:
			fmt.Fprintf(&b, "  %s  %s\n", name, f.text)
		}
	}
	return b.String()
}

// shown is how many violations a person will read.
const shown = 5

// conclusion is the last word on an act.
func (d *Demo) conclusion(v Verdict) string {
	if v.OK() {
		return d.Paint.Good(d.say(i18n.Passed)) + "\n"
	}
	var b strings.Builder
	b.WriteString(d.Paint.Bad(d.say(i18n.Broken)) + "\n")
	for _, violation := range v.Report.Violations[:min(shown, len(v.Report.Violations))] {
		fmt.Fprintf(&b, "  %v\n", violation)
	}
	return b.String()
}

func (d *Demo) say(t i18n.Text, args ...any) string { return d.Language.Say(t, args...) }

func (d *Demo) print(s string) error {
	_, err := io.WriteString(d.Out, s)
	return err
}
