package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A table is printed as Markdown.
type table struct {
	title   string
	columns []string
	rows    [][]string
	remark  string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n", t.title)
	fmt.Fprintf(w, "| %s |\n", strings.Join(t.columns, " | "))
	fmt.Fprintf(w, "|-%s\n", strings.Repeat("|-", len(t.columns)-1)+"|")
	for _, cells := range t.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	if t.remark != "" {
		fmt.Fprintf(w, "\n%s\n", t.remark)
	}
}

// median returns the middle of values, or 0 if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// span formats the smallest and the largest value as a range.
func span(values []float64, format string) string {
	if len(values) == 0 {
		return "–"
	}
	return fmt.Sprintf(format+"–"+format, slices.Min(values), slices.Max(values))
}

// thousands formats a rate in thousands.
func thousands(perSecond float64) string { return fmt.Sprintf("%.1f k", perSecond/1000) }

// micros formats a duration in microseconds.
func micros(d time.Duration) string {
	us := float64(d) / float64(time.Microsecond)
	if us < 10 {
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.0f", us)
}

// per formats v divided by n.
func per(v float64, n int) string {
	if n == 0 {
		return "–"
	}
	switch v /= float64(n); {
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

func microsPer(d time.Duration, n int) string { return per(float64(d)/float64(time.Microsecond), n) }
