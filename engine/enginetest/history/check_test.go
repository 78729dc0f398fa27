package history_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// tell makes a history of lines such as "enter k ann 7", a second apart.
func tell(t *testing.T, lines ...string) []history.Event {
	t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	events := make([]history.Event, len(lines))
	for i, line := range lines {
		w := append(strings.Fields(line), "", "", "")
		process, who, named := strings.Cut(w[2], "/")
		if !named {
			process, who = "", w[2]
		}
		var fence uint64
		for _, digit := range w[3] {
			fence = fence*10 + uint64(digit-'0')
		}
		events[i] = history.Event{
			Kind: history.Kind(w[0]), Key: w[1], Process: process, Who: who, Fence: fence,
			At: start.Add(time.Duration(i) * time.Second),
		}
	}
	return events
}

func TestCheckFinds(t *testing.T) {
	for _, c := range []struct {
		sentence string
		rule     history.Rule // empty if nothing is wrong
		text     string
		opts     []history.Option
		lines    []string
	}{
		{
			sentence: "nothing wrong where one follows another",
			lines:    []string{"ask k ann", "enter k ann 1", "leave k ann", "enter k bob 2", "leave k bob"},
		},
		{
			sentence: "nothing wrong where different keys are held at a time",
			lines:    []string{"enter a ann 2", "enter b bob 1", "leave a ann", "leave b bob"},
		},
		{
			sentence: "two who are inside at a time",
			rule:     history.Overlap, text: "bob entered while ann was inside",
			lines: []string{"enter k ann 1", "enter k bob 2", "leave k ann", "leave k bob"},
		},
		{
			sentence: "two of the same name in different processes",
			rule:     history.Overlap, text: "two/ann entered while one/ann was inside",
			lines: []string{"enter k one/ann 1", "enter k two/ann 2"},
		},
		{
			sentence: "nothing wrong where the first was lost",
			lines:    []string{"enter k ann 1", "lost k ann", "enter k bob 2"},
		},
		{
			sentence: "nothing wrong where the first was killed",
			lines:    []string{"ask k one/abe", "enter k one/ann 1", "lost k one/", "enter k two/bob 2"},
			opts:     []history.Option{history.Ordered(0), history.Within(time.Second)},
		},
		{
			sentence: "nothing wrong where a holder enters again",
			lines:    []string{"enter k ann 1", "enter k ann 1", "leave k ann", "leave k ann", "enter k bob 2"},
		},
		{
			sentence: "one who comes in after a holder left once of two times",
			rule:     history.Overlap, text: "bob entered while ann was inside",
			lines: []string{"enter k ann 1", "enter k ann 1", "leave k ann", "enter k bob 2"},
		},
		{
			sentence: "a fence that falls",
			rule:     history.FenceFell, text: "bob got fence 6 after ann got 7",
			lines: []string{"enter k ann 7", "leave k ann", "enter k bob 6"},
		},
		{
			sentence: "a fence that stays",
			rule:     history.FenceFell, text: "bob got fence 7 after ann got 7",
			lines: []string{"enter k ann 7", "leave k ann", "enter k bob 7"},
		},
		{
			sentence: "a fence that falls below one before the last",
			rule:     history.FenceFell, text: "ann got fence 7 after bob got 8",
			lines: []string{"enter k ann 7", "leave k ann", "enter k bob 8", "leave k bob", "enter k ann 7"},
		},
		{
			sentence: "nothing wrong where there are no fences",
			lines:    []string{"enter k ann", "leave k ann", "enter k bob"},
		},
		{
			sentence: "a later one who is served first",
			rule:     history.OutOfOrder, text: "ann, who asked 1s earlier, still waits when bob enters",
			opts:  []history.Option{history.Ordered(0)},
			lines: []string{"ask k ann", "ask k bob", "enter k bob 1", "leave k bob", "enter k ann 2"},
		},
		{
			sentence: "nothing wrong where order was not asked for",
			lines:    []string{"ask k ann", "ask k bob", "enter k bob 1"},
		},
		{
			sentence: "nothing wrong where two asked too close to tell",
			opts:     []history.Option{history.Ordered(time.Second)},
			lines:    []string{"ask k ann", "ask k bob", "enter k bob 1"},
		},
		{
			sentence: "nothing wrong where the first gave up",
			opts:     []history.Option{history.Ordered(0)},
			lines:    []string{"ask k ann", "ask k bob", "stop k ann", "enter k bob 1"},
		},
		{
			sentence: "one who was granted too late",
			rule:     history.Starved, text: "ann waited for 2s, want at most 1s",
			opts:  []history.Option{history.Within(time.Second)},
			lines: []string{"ask k ann", "enter j bob", "enter k ann"},
		},
		{
			sentence: "one who was never granted",
			rule:     history.Starved, text: "ann waited for 3s, want at most 2s",
			opts:  []history.Option{history.Within(2 * time.Second)},
			lines: []string{"ask k ann", "enter k bob", "leave k bob", "enter k bob"},
		},
		{
			sentence: "one who gave up too late",
			rule:     history.Starved, text: "ann waited for 3s, want at most 2s",
			opts:  []history.Option{history.Within(2 * time.Second)},
			lines: []string{"ask k ann", "enter k bob", "leave k bob", "stop k ann"},
		},
		{
			sentence: "one who leaves without having come",
			rule:     history.Malformed, text: "ann leaves or loses what it does not hold",
			lines: []string{"leave k ann"},
		},
		{
			sentence: "one who asks twice",
			rule:     history.Malformed, text: "ann asks twice at a time",
			lines: []string{"ask k ann", "ask k ann"},
		},
		{
			sentence: "an event of no kind",
			rule:     history.Malformed, text: `"sneeze" is no kind of event`,
			lines: []string{"sneeze k ann"},
		},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			r := history.Check(tell(t, c.lines...), c.opts...)
			if c.rule == "" {
				if r.Err() != nil {
					t.Error(r.Err())
				}
				return
			}
			if len(r.Violations) != 1 || r.Violations[0].Rule != c.rule || r.Violations[0].Text != c.text {
				t.Fatalf("found %q, want %q alone: %q", r.Violations, c.rule, c.text)
			}
			if !strings.Contains(r.String(), c.text) || !strings.Contains(r.Err().Error(), c.text) {
				t.Errorf("neither %q nor %q may leave out %q", r, r.Err(), c.text)
			}
		})
	}
}

func TestReport(t *testing.T) {
	r := history.Check(tell(t,
		"ask k one/ann", "enter k one/ann 1", "leave k one/ann",
		"ask k two/bob", "ask k two/cid", "enter k two/bob 2", "lost k two/bob",
		"ask k one/ann", "enter k one/ann 3"))
	want := history.Report{
		Asks: 4, Grants: 3, Lost: 1, Keys: 1, Who: 3, Processes: 2, Span: 8 * time.Second,
		WaitP50: time.Second, WaitP99: time.Second, Wait: 2 * time.Second,
		Jain: 9.0 / 15, // 2, 1 and 0 grants
	}
	if r.Err() != nil || r.String() != want.String() || r.Jain != want.Jain {
		t.Errorf("got\n%v\nwant\n%v", r, want)
	}
	if even := history.Check(tell(t, "enter a ann", "enter b bob")); even.Jain != 1 {
		t.Errorf("two with as many grants: Jain %v, want 1", even.Jain)
	}
}

func TestAReportStaysReadable(t *testing.T) {
	var lines []string
	for range 100 {
		lines = append(lines, "leave k ann")
	}
	s := history.Check(tell(t, lines...)).String()
	if !strings.Contains(s, "100 violations") || !strings.HasSuffix(s, "and 80 more") {
		t.Errorf("the report is\n%s", s)
	}
}
