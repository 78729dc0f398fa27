package observe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A dashboard is the part of a Grafana dashboard that a picture shows.
type dashboard struct {
	UID, Title string
	Panels     []panel
}

type panel struct {
	ID          int
	Type, Title string
	GridPos     struct{ X, Y, W, H int }
	FieldConfig struct{ Defaults struct{ Unit string } }
	Options     struct{ Content string }

	queries []query
}

// draw writes one picture per dashboard, with the recorded answers in the places of its
// panels. Grafana itself is not needed.
func draw(t *testing.T, dir string, answered []query) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(deploy, "grafana/dashboards/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		for i, p := range d.Panels {
			for _, q := range answered {
				if strings.HasPrefix(q.Name, fmt.Sprintf("%s %02d ", d.UID, p.ID)) {
					d.Panels[i].queries = append(d.Panels[i].queries, q)
				}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, d.UID+".svg"), []byte(d.svg()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The size of a cell of Grafana's grid, in pixels.
const (
	cellWidth  = 48
	cellHeight = 27
	margin     = 6
)

var colors = []string{"#2f7ed8", "#e6862b", "#2a9d5c", "#d64550", "#8b5fbf", "#8a6d3b", "#d165a8", "#6b7280", "#9aa32c", "#1fa5b5"}

func (d *dashboard) svg() string {
	height := 0
	for _, p := range d.Panels {
		height = max(height, (p.GridPos.Y+p.GridPos.H)*cellHeight)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" font-family="system-ui, sans-serif" font-size="11">
<style>
.page { fill: #f4f5f7 } .panel { fill: #fff; stroke: #d9dce1 } text { fill: #3b4252 } .title { font-weight: 600; font-size: 12px } .big { font-size: 30px; font-weight: 600 } .grid { stroke: #e5e7eb } .line { fill: none; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) { .page { fill: #111217 } .panel { fill: #181b1f; stroke: #2c3038 } text { fill: #ccd0d9 } .grid { stroke: #2c3038 } }
</style>
<rect class="page" width="100%%" height="100%%"/>
<text class="title" x="%d" y="20">%s</text>
`, 24*cellWidth, height+30, margin, html.EscapeString(d.Title))
	for _, p := range d.Panels {
		x, y := p.GridPos.X*cellWidth+margin/2, p.GridPos.Y*cellHeight+30
		w, h := p.GridPos.W*cellWidth-margin, p.GridPos.H*cellHeight-margin
		fmt.Fprintf(&b, "<g transform=\"translate(%d %d)\"><rect class=\"panel\" width=\"%d\" height=\"%d\" rx=\"3\"/>\n<text class=\"title\" x=\"8\" y=\"18\">%s</text>\n",
			x, y, w, h, html.EscapeString(p.Title))
		switch p.Type {
		case "timeseries":
			p.chart(&b, w, h)
		case "stat":
			p.number(&b, w, h)
		case "table":
			p.table(&b, w)
		default:
			p.text(&b)
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// A line is one series of a panel.
type line struct {
	name   string
	times  []float64
	values []float64
}

func (l line) last() float64 { return l.values[len(l.values)-1] }

// lines returns the series of all queries of a panel.
func (p *panel) lines() (all []line) {
	label := regexp.MustCompile(`\{\{(\w+)\}\}`)
	for _, q := range p.queries {
		var answer struct{ Data matrix }
		if json.Unmarshal(q.Answer, &answer) != nil || len(answer.Data.Result) == 0 {
			_ = json.Unmarshal(q.Answer, &answer.Data)
		}
		for _, s := range answer.Data.Result {
			l := line{name: label.ReplaceAllStringFunc(q.Legend, func(x string) string { return s.Metric[strings.Trim(x, "{}")] })}
			if q.Legend == "" {
				l.name = labels(s.Metric)
			}
			for _, v := range s.Values {
				at, _ := v[0].(float64)
				text, _ := v[1].(string)
				if y, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(y) && !math.IsInf(y, 0) {
					l.times, l.values = append(l.times, at), append(l.values, y)
				}
			}
			if len(l.values) > 0 {
				all = append(all, l)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(slices.Max(b.values), slices.Max(a.values)) })
	return all
}

func labels(metric map[string]string) string {
	var pairs []string
	for name, value := range metric {
		if name != "__name__" {
			pairs = append(pairs, name+"="+value)
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " ")
}

func (p *panel) chart(b *strings.Builder, w, h int) {
	all := p.lines()
	if len(all) == 0 {
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">no data</text>\n", w/2, h/2)
		return
	}
	shown := all[:min(len(all), 6)]
	top, bottom, left, right := 28.0, float64(h)-20-13*float64((len(shown)+1)/2), 52.0, float64(w)-10
	from, to, most, least := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for _, l := range all {
		from, to = min(from, l.times[0]), max(to, l.times[len(l.times)-1])
		most, least = max(most, slices.Max(l.values)), min(least, slices.Min(l.values))
	}
	if most == least {
		most++
	}
	x := func(at float64) float64 { return left + (right-left)*(at-from)/max(to-from, 1) }
	y := func(v float64) float64 { return bottom - (bottom-top)*(v-least)/(most-least) }
	for i := range 4 {
		v := least + (most-least)*float64(i)/3
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%.0f %.1fH%.0f\"/><text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left, y(v), right, left-5, y(v)+4, p.format(v))
	}
	for i := range 4 {
		at := from + (to-from)*float64(i)/3
		anchor := []string{"start", "middle", "middle", "end"}[i]
		fmt.Fprintf(b, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">%.0f s</text>\n", x(at), bottom+14, anchor, at-from)
	}
	for i, l := range slices.Backward(all) { // the largest on top
		fmt.Fprintf(b, "<path class=\"line\" stroke=\"%s\" d=\"%s\"/>\n", colors[i%len(colors)], l.path(x, y))
	}
	for i, l := range shown {
		at, row := 12+(i%2)*(w/2), bottom+30+13*float64(i/2)
		fmt.Fprintf(b, "<rect x=\"%d\" y=\"%.0f\" width=\"10\" height=\"3\" fill=\"%s\"/><text x=\"%d\" y=\"%.0f\">%s</text>\n",
			at, row-4, colors[i%len(colors)], at+14, row, html.EscapeString(shortened(l.name, w/2/7)))
	}
}

// path returns the line, with a gap where samples are missing. Points within a horizontal
// part are left out, because most lines are flat.
func (l line) path(x, y func(float64) float64) string {
	var b strings.Builder
	row := func(i int) float64 { return math.Round(y(l.values[i])) }
	gap := func(i int) bool { return i == 0 || i == len(l.values) || l.times[i]-l.times[i-1] > 3 }
	for i := range l.values {
		switch {
		case gap(i):
			b.WriteString("M")
		case !gap(i+1) && row(i-1) == row(i) && row(i) == row(i+1):
			continue
		default:
			b.WriteString("L")
		}
		fmt.Fprintf(&b, "%.0f %.0f", x(l.times[i]), row(i))
	}
	return b.String()
}

func (p *panel) number(b *strings.Builder, w, h int) {
	text := "no data"
	if all := p.lines(); len(all) > 0 {
		text = p.format(all[0].last())
	}
	fmt.Fprintf(b, "<text class=\"big\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", w/2, h/2+18, text)
}

// table shows the last value of each series.
func (p *panel) table(b *strings.Builder, w int) {
	all := p.lines()
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(b.last(), a.last()) })
	for i, l := range all[:min(len(all), 10)] {
		y := 40 + 21*i
		fmt.Fprintf(b, "<text x=\"12\" y=\"%d\">%s</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text><path class=\"grid\" d=\"M8 %dH%d\"/>\n",
			y, html.EscapeString(shortened(l.name, w/8)), w-12, y, p.format(l.last()), y+6, w-8)
	}
}

func (p *panel) text(b *strings.Builder) {
	for i, text := range strings.Split(strings.TrimSpace(p.Options.Content), "\n") {
		fmt.Fprintf(b, "<text x=\"12\" y=\"%d\">%s</text>\n", 24+16*i, html.EscapeString(text))
	}
}

// format writes a value with the unit of the panel.
func (p *panel) format(v float64) string {
	switch p.FieldConfig.Defaults.Unit {
	case "s":
		if v == 0 {
			return "0"
		}
		d := time.Duration(v * float64(time.Second))
		switch {
		case d.Abs() >= 10*time.Second:
			return d.Round(time.Second).String()
		case d.Abs() >= 10*time.Millisecond:
			return d.Round(time.Millisecond).String()
		}
		return d.Round(time.Microsecond).String()
	case "percentunit":
		return fmt.Sprintf("%.3g %%", v*100)
	case "ops", "reqps":
		return fmt.Sprintf("%.3g/s", v)
	}
	return fmt.Sprintf("%.4g", v)
}

func shortened(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
