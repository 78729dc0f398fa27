package chart_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
)

const ms = time.Millisecond

// queue returns n spans that ask at once and hold for d, one after the other.
func queue(n int, d time.Duration) []chart.Span {
	var all []chart.Span
	for i := range n {
		at := time.Duration(i) * d
		all = append(all, chart.Span{Enter: at, Leave: at + d})
	}
	return all
}

func TestDraw(t *testing.T) {
	for _, c := range []struct {
		name  string
		chart chart.Chart
		spans []chart.Span
		want  string
	}{
		{"no spans draw nothing", chart.Chart{Width: 40, Rows: 24}, nil, ""},
		{"one holder at a time draws a staircase", chart.Chart{Width: 42, Rows: 24}, queue(4, 10*ms), `
1 ██████████
2 ··········██████████
3 ····················██████████
4 ······························██████████
  └─────────┴─────────┴─────────┴─────────
  0         10 ms     20 ms     30 ms
`},
		{"a hold may end in the middle of a column", chart.Chart{Width: 28, Rows: 24}, queue(10, ms), `
 1 ██▌
 2 ··▐██
 3 ·····██▌
 4 ·······▐██
 5 ··········██▌
 6 ············▐██
 7 ···············██▌
 8 ·················▐██
 9 ····················██▌
10 ······················▐██
   └───────────┴────────────
   0           5 ms
`},
		{"a row contains several spans if there are too many", chart.Chart{Width: 45, Rows: 4}, queue(10, 4*ms), `
 1–3 ████████████
 4–6 ············████████████
 7–9 ························████████████
  10 ····································████
     └─────────┴─────────┴─────────┴─────────
     0         10 ms     20 ms     30 ms
`},
		{"holders at the same time draw a block", chart.Chart{Width: 32, Rows: 24},
			[]chart.Span{{0, 0, 3 * ms}, {0, ms / 10, 3 * ms}, {0, 2 * ms / 10, 3 * ms}}, `
1 ██████████████████████████████
2 ·█████████████████████████████
3 ··████████████████████████████
  └─────────┴─────────┴─────────
  0         1 ms      2 ms
`},
		{"a hold shorter than half a column is drawn", chart.Chart{Width: 32, Rows: 24},
			[]chart.Span{{0, 0, 10 * ms}, {0, 10 * ms, 10*ms + 1}, {0, 20 * ms, 30 * ms}}, `
1 ██████████
2 ··········▌
3 ····················██████████
  └─────────┴─────────┴─────────
  0         10 ms     20 ms
`},
		{"a wait begins when the caller asks", chart.Chart{Width: 32, Rows: 24},
			[]chart.Span{{0, 0, 20 * ms}, {10 * ms, 20 * ms, 30 * ms}}, `
1 ████████████████████
2           ··········██████████
  └─────────┴─────────┴─────────
  0         10 ms     20 ms
`},
		{"a gap between holds is drawn", chart.Chart{Width: 34, Rows: 1},
			[]chart.Span{{0, 0, 10 * ms}, {0, 20 * ms, 30 * ms}}, `
1–2 ██████████··········██████████
    └─────────┴─────────┴─────────
    0         10 ms     20 ms
`},
		{"a gap smaller than half a column is not drawn", chart.Chart{Width: 24, Rows: 1},
			[]chart.Span{{0, 0, 10*ms + 100}, {0, 10*ms + 300*time.Microsecond, 20 * ms}}, `
1–2 ████████████████████
    └─────────┴─────────
    0         10 ms
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, want := c.chart.Draw(c.spans), strings.TrimPrefix(c.want, "\n"); got != want {
				t.Errorf("the chart is\n%s, want\n%s", got, want)
			}
		})
	}
}

// Holds that do not overlap are never drawn as overlapping, whatever the scale.
func TestSeparateHoldsAreDrawnSeparately(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var all []chart.Span
		at := time.Duration(0)
		for range 1 + random.IntN(60) {
			enter := at + time.Duration(random.Int64N(int64(ms)))
			at = enter + 3*ms + time.Duration(random.Int64N(int64(5*ms)))
			all = append(all, chart.Span{Enter: enter, Leave: at})
		}
		chart := chart.Chart{Width: 40 + random.IntN(80), Rows: 24}
		text := chart.Draw(all)
		taken := make(map[int]bool) // halves of columns
		for line := range strings.Lines(text) {
			for x, char := range []rune(line) {
				for half, shown := range halves(char) {
					if shown && taken[2*x+half] {
						t.Fatalf("two holds share half of column %d:\n%s", x, text)
					}
					taken[2*x+half] = taken[2*x+half] || shown
				}
			}
		}
	}
}

func halves(char rune) [2]bool {
	return [2]bool{char == '█' || char == '▌', char == '█' || char == '▐'}
}

func TestColor(t *testing.T) {
	all := queue(2, ms)
	plain := chart.Chart{Width: 40, Rows: 24}.Draw(all)
	if strings.Contains(plain, "\x1b") {
		t.Errorf("without color there are escapes in %q", plain)
	}
	for name, chart := range map[string]chart.Chart{
		"a staircase": {Width: 40, Rows: 24, Color: true},
		"an alarm":    {Width: 40, Rows: 24, Color: true, Alarm: true},
	} {
		t.Run(name+" has the same characters in color", func(t *testing.T) {
			colored := chart.Draw(all)
			if red := strings.Contains(colored, "\x1b[31m█"); red != chart.Alarm {
				t.Errorf("holds are red: %v, want %v, in %q", red, chart.Alarm, colored)
			}
			for _, code := range []string{"0", "2", "31", "38;5;39", "38;5;43"} {
				colored = strings.ReplaceAll(colored, "\x1b["+code+"m", "")
			}
			if colored != plain {
				t.Errorf("without its colors the chart is\n%q, want\n%q", colored, plain)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                         "0",
		50 * time.Microsecond:     "50 µs",
		1500 * time.Microsecond:   "1.5 ms",
		3 * ms:                    "3 ms",
		12345 * time.Microsecond:  "12.3 ms",
		312345 * time.Microsecond: "312 ms",
		1200 * ms:                 "1.2 s",
		30 * time.Second:          "30 s",
		200 * time.Second:         "200 s",
	} {
		if got := chart.Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}
